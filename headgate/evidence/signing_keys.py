"""The keys that sign checkpoints: outside the database, which could otherwise sign its own rewriting.

A text of one line a key: ``PRIVATE+KEY+name+id+material`` signs, the first of them being the current one; what is a
plain verifier key has been retired, and still verifies what it signed. (The forms are those of Go's
``sumdb/note``.) All lines have one name: the log's, which origins begin with. The text is a file of mode 0600
(HEADGATE_SIGNING_KEYS_FILE; else in the data directory) or a variable (HEADGATE_SIGNING_KEYS). A key that never
leaves its device is a line ``SIGNER+…`` (``signer_lines``), and signs like the others.
"""

import base64
import binascii
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Struct

from headgate.evidence.checkpoint import Checkpoint
from headgate.evidence.note import KeyKind, NoteSignature, SignedNote, VerifierKey, check_key_name, parse_verifier_key
from headgate.evidence.signer_lines import PREFIX as REMOTE
from headgate.evidence.signer_lines import parse_remote
from headgate.kernel.atomic_file import create_file, replace_file
from headgate.kernel.errors import ConflictError, NotFoundError, UnavailableError, ValidationError
from headgate.kernel.secret_file import require_secret
from headgate.kernel.secrets import Secret
from headgate.kms.key_services import KeyServices

_PREFIX: Final = "PRIVATE+KEY+"
_PRIVATE: Final = re.compile(r"PRIVATE\+KEY\+([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})")
_SIGNING: Final = (_PREFIX, REMOTE)
_SEED_BYTES: Final = 32


class Signer(Protocol):
    """Signs with one Ed25519 key (RFC 8032), wherever that is kept. Raises UnavailableError where it cannot."""

    @property
    def public_key(self) -> bytes: ...

    async def sign(self, message: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True, repr=False)
class LocalSigner:
    """A key in this process' memory."""

    private_key: Ed25519PrivateKey

    @property
    def public_key(self) -> bytes:
        return self.private_key.public_key().public_bytes_raw()

    async def sign(self, message: bytes) -> bytes:
        return self.private_key.sign(message)

    def line(self, name: str) -> str:
        """As it is kept: a secret."""
        key_id = VerifierKey(name, self.public_key).key_id.hex()
        material = base64.b64encode(bytes([KeyKind.ED25519]) + self.private_key.private_bytes_raw()).decode()
        return f"{_PREFIX}{name}+{key_id}+{material}"


@dataclass(frozen=True, slots=True, repr=False)
class SigningKeys:
    """``signers``: the current one first; those behind it co-sign until they are retired. Who only verifies (the API)
    needs none of them."""

    log_name: str
    signers: tuple[Signer, ...]
    retired: tuple[bytes, ...] = ()

    def verifier_keys(self, origin: str) -> list[VerifierKey]:
        """Everything that ever signed this log, as its readers know it: a log's key has the name of the log."""
        return [VerifierKey(origin, key) for key in (*(one.public_key for one in self.signers), *self.retired)]

    async def sign(self, checkpoint: Checkpoint) -> SignedNote:
        """Signed by each key that is not retired, so that a reader who knows only the older one can go on."""
        text = checkpoint.body()
        signatures: list[NoteSignature] = []
        for signer in self.signers:
            key = VerifierKey(checkpoint.origin, signer.public_key)
            signatures.append(NoteSignature(key.name, key.key_id, await signer.sign(text.encode())))
        return SignedNote(text, tuple(signatures))


def parse_signing_keys(text: str, services: KeyServices | None = None) -> SigningKeys:
    """``services``: sign with keys in a key management service; None: such keys only verify. Raises ValidationError,
    which shows no part of the text."""
    names: set[str] = set()
    signers: list[Signer] = []
    retired: list[bytes] = []
    for line in text.split():
        if line.startswith(_SIGNING):
            name, signer = _parse_signer(line, services)
            signers.append(signer)
        else:
            key = parse_verifier_key(line)
            name = key.name
            retired.append(key.public_key)
        names.add(name)
    if len(names) != 1:
        raise ValidationError("signing keys: at least one key is needed, and all must have the same name")
    return SigningKeys(names.pop(), tuple(signers), tuple(retired))


def _parse_signer(line: str, services: KeyServices | None = None) -> tuple[str, Signer]:
    return parse_remote(line, services) if line.startswith(REMOTE) else _parse_private(line)


def _parse_private(line: str) -> tuple[str, LocalSigner]:
    match = _PRIVATE.fullmatch(line)
    try:
        material = b"" if match is None else base64.b64decode(match[3], validate=True)
    except binascii.Error:
        material = b""
    if match is None or len(material) != 1 + _SEED_BYTES or material[0] != KeyKind.ED25519:
        raise ValidationError("a signing key is malformed: PRIVATE+KEY+name+id+material is expected")
    signer = LocalSigner(Ed25519PrivateKey.from_private_bytes(material[1:]))
    if VerifierKey(match[1], signer.public_key).key_id.hex() != match[2]:
        raise ValidationError(f"a signing key does not have the identifier {match[2]} that its line says")
    return match[1], signer


class SigningKeySource(Struct, frozen=True):
    """Where the keys are: ``text`` wins over the file. ``services``: as of ``parse_signing_keys``."""

    file: Path
    text: Secret | None = None
    services: KeyServices | None = None

    def load(self) -> SigningKeys:
        """Raises UnavailableError: missing, open to others, malformed."""
        if self.text is not None:
            return self._parsed(self.text.reveal(), "HEADGATE_SIGNING_KEYS")
        try:
            require_secret(self.file)
            return self._parsed(self.file.read_text("utf-8"), str(self.file))
        except PermissionError as error:
            raise UnavailableError(f"the signing keys cannot be read: {error}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise UnavailableError(
                f"the signing keys cannot be read from {self.file}: {type(error).__name__}"
            ) from error

    @property
    def is_missing(self) -> bool:
        return self.text is None and not self.file.exists()

    def create(self, log_name: str | None = None) -> SigningKeys:
        """The first key, where there is none; of two that do so at once, one wins whole. Raises UnavailableError."""
        name = check_key_name(log_name or f"headgate/{os.urandom(8).hex()}")
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            create_file(self.file, (_generate().line(name) + "\n").encode(), mode=0o600)
        except OSError as error:
            raise UnavailableError(f"no signing key can be made in {self.file}: {error.strerror}") from error
        return self.load()

    def rotate(self, signer: str | None = None) -> SigningKeys:
        """A new current key: made here, or the one that the line ``signer`` (``SIGNER+…``) leads to. The old ones go on
        co-signing until they are retired. Raises UnavailableError, ValidationError."""
        keys = self._load_own()
        if signer is not None and parse_remote(signer)[0] != keys.log_name:
            raise ValidationError(f"the signer's key must be named as the log: {keys.log_name}")
        return self._store([signer or _generate().line(keys.log_name), *self._lines()])

    def retire(self, named: str) -> SigningKeys:
        """This key signs no more, and its private part is forgotten. ``named``: its verifier key, of whichever log, or
        its identifier in the file. Raises NotFoundError, ConflictError, ValidationError."""
        keys = self._load_own()
        lines = self._lines()
        wanted = parse_verifier_key(named).public_key if "+" in named else None
        found = [at for at, line in enumerate(lines) if line.startswith(_SIGNING) and _is_named(line, named, wanted)]
        if not found:
            raise NotFoundError(f"no key {named} signs here")
        if len(keys.signers) == 1:
            raise ConflictError("this is the only key that signs: rotate first")
        name, signer = _parse_signer(lines[found[0]])
        kept = [line for at, line in enumerate(lines) if at != found[0]]
        return self._store([*kept, VerifierKey(name, signer.public_key).text])

    def _load_own(self) -> SigningKeys:
        if self.text is not None:
            raise ConflictError("the keys come from HEADGATE_SIGNING_KEYS: change them where that is set")
        return self.load()

    def _parsed(self, text: str, where: str) -> SigningKeys:
        try:
            return parse_signing_keys(text, self.services)
        except ValidationError as error:
            raise UnavailableError(f"{where}: {error.message}") from error

    def _lines(self) -> list[str]:
        return self.file.read_text("utf-8").split()

    def _store(self, lines: list[str]) -> SigningKeys:
        try:
            replace_file(self.file, ("\n".join(lines) + "\n").encode(), mode=0o600)
        except OSError as error:
            raise UnavailableError(f"the signing keys cannot be written to {self.file}: {error.strerror}") from error
        return self.load()


def _is_named(line: str, key_id: str, public_key: bytes | None) -> bool:
    name, signer = _parse_signer(line)
    if public_key is not None:
        return signer.public_key == public_key
    return VerifierKey(name, signer.public_key).key_id.hex() == key_id


def _generate() -> LocalSigner:
    return LocalSigner(Ed25519PrivateKey.generate())
