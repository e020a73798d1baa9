"""Signed notes and verifier keys (C2SP signed-note; the keys' text is that of Go's ``sumdb/note``)."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from msgspec import Struct

from headgate.kernel.errors import ValidationError

_MAX_SIGNATURES: Final = 64
_PUBLIC_KEY_BYTES: Final = 32
_KEY_ID_BYTES: Final = 4
_NAME: Final = re.compile(r"[^\s+\x00-\x1f\x7f]{1,255}")
_SIGNATURE_LINE: Final = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})")
_VERIFIER_KEY: Final = re.compile(r"([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})")


class KeyKind(IntEnum):
    """Signature types that are assigned by the specification and used here."""

    ED25519 = 0x01
    COSIGNATURE = 0x04


class VerifierKey(Struct, frozen=True):
    """A public key under its name; ``text`` is how it is handed to others."""

    name: str
    public_key: bytes
    kind: KeyKind = KeyKind.ED25519

    @property
    def key_id(self) -> bytes:
        material = self.name.encode() + b"\n" + bytes([self.kind]) + self.public_key
        return hashlib.sha256(material).digest()[:_KEY_ID_BYTES]

    @property
    def text(self) -> str:
        material = base64.b64encode(bytes([self.kind]) + self.public_key).decode()
        return f"{self.name}+{self.key_id.hex()}+{material}"

    def verifies(self, signature: bytes, message: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(self.public_key).verify(signature, message)
        except InvalidSignature:
            return False
        return True


class NoteSignature(Struct, frozen=True):
    name: str
    key_id: bytes
    signature: bytes

    @property
    def line(self) -> str:
        return f"— {self.name} {base64.b64encode(self.key_id + self.signature).decode()}\n"


class SignedNote(Struct, frozen=True):
    """``text`` ends with a line end, and is what is signed."""

    text: str
    signatures: tuple[NoteSignature, ...]

    def render(self) -> str:
        return self.text + "\n" + "".join(one.line for one in self.signatures)

    def signature_of(self, key: VerifierKey) -> NoteSignature | None:
        wanted = (key.name, key.key_id)
        return next((one for one in self.signatures if (one.name, one.key_id) == wanted), None)


def parse_verifier_key(text: str) -> VerifierKey:
    """Raises ValidationError."""
    match = _VERIFIER_KEY.fullmatch(text.strip())
    if match is None:
        raise ValidationError("not a verifier key: NAME+ID+KEY is expected, as headgate audit key prints it")
    material = _decode(match[3])
    if len(material) != 1 + _PUBLIC_KEY_BYTES or material[0] not in tuple(KeyKind):
        raise ValidationError("not a verifier key of a kind that is known here (Ed25519 note or co-signature)")
    key = VerifierKey(match[1], material[1:], KeyKind(material[0]))
    if key.key_id.hex() != match[2]:
        raise ValidationError(f"the key's identifier is {key.key_id.hex()}, the text says {match[2]}")
    return key


def check_key_name(name: str) -> str:
    """``name``, where a key may be called that. Raises ValidationError."""
    if _NAME.fullmatch(name) is None:
        raise ValidationError("a key's name has 1 to 255 characters, none of them a space or a plus sign")
    return name


def parse_note(text: str) -> SignedNote:
    """Raises ValidationError."""
    body, separator, tail = text.rpartition("\n\n")
    if not separator or not tail.endswith("\n") or any(sign < " " and sign != "\n" for sign in text):
        raise ValidationError("not a signed note: text, an empty line and signatures are expected")
    lines = tail[:-1].split("\n")
    if len(lines) > _MAX_SIGNATURES:
        raise ValidationError(f"a note with {len(lines)} signatures: at most {_MAX_SIGNATURES} are read")
    return SignedNote(body + "\n", tuple(parse_signature_line(line) for line in lines))


def parse_signature_line(line: str) -> NoteSignature:
    """Raises ValidationError."""
    match = _SIGNATURE_LINE.fullmatch(line)
    if match is None:
        raise ValidationError("not a signature line of a note")
    raw = _decode(match[2])
    if len(raw) <= _KEY_ID_BYTES or base64.b64encode(raw).decode() != match[2]:
        raise ValidationError("not a signature line of a note")
    return NoteSignature(match[1], raw[:_KEY_ID_BYTES], raw[_KEY_ID_BYTES:])


def verify_note(note: SignedNote, keys: Iterable[VerifierKey]) -> list[VerifierKey]:
    """Which of these keys signed. A known key's signature that does not verify rejects the whole note, as does none.

    Raises ValidationError.
    """
    signers: list[VerifierKey] = []
    for key in keys:
        found = note.signature_of(key)
        if found is None or key.kind is not KeyKind.ED25519:
            continue
        if not key.verifies(found.signature, note.text.encode()):
            raise ValidationError(f"the signature of {key.name} (key {key.key_id.hex()}) is not valid")
        signers.append(key)
    if not signers:
        names = ", ".join(f"{one.name} {one.key_id.hex()}" for one in note.signatures)
        raise ValidationError(f"no trusted key signed this note; its signatures are of: {names}")
    return signers


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValidationError("not base64 (RFC 4648, section 4)") from error
