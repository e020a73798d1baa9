"""Checkpoints (C2SP tlog-checkpoint), their co-signatures (tlog-cosignature) and proofs (tlog-proof) as texts."""

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from headgate.evidence.merkle import HASH_BYTES
from headgate.evidence.note import KeyKind, NoteSignature, SignedNote, VerifierKey, check_key_name
from headgate.kernel.errors import ValidationError

_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,18}")
_BODY_LINES: Final = 3
_TIMESTAMP_BYTES: Final = 8
_PROOF_HEADER: Final = "c2sp.org/tlog-proof@v1"
MAX_PROOF_HASHES: Final = 63


class Checkpoint(Struct, frozen=True):
    """A tree head: which log, how many leaves, which root. We write no extension lines, and refuse them."""

    origin: str
    size: int
    root: bytes

    def body(self) -> str:
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


class InclusionProof(Struct, frozen=True):
    """A tlog-proof: where an entry is, the way to the root, and the signed checkpoint (as text)."""

    index: int
    path: tuple[bytes, ...]
    checkpoint: str

    def render(self) -> str:
        hashes = "".join(base64.b64encode(one).decode() + "\n" for one in self.path)
        return f"{_PROOF_HEADER}\nindex {self.index}\n{hashes}\n{self.checkpoint}"


def origin_of(log_name: str, org_id: str) -> str:
    """The log of one organization: every organization has a tree of its own."""
    return check_key_name(f"{log_name}/{org_id}")


def parse_checkpoint(note: SignedNote) -> Checkpoint:
    """Raises ValidationError."""
    lines = note.text.split("\n")[:-1]
    if len(lines) != _BODY_LINES or not lines[0]:
        raise ValidationError("not a checkpoint: origin, size and root are expected, and no extension lines")
    return Checkpoint(lines[0], parse_size(lines[1]), parse_hash(lines[2]))


def parse_size(text: str) -> int:
    """Raises ValidationError."""
    if _SIZE.fullmatch(text) is None:
        raise ValidationError("not the size of a tree: a decimal without leading zeroes is expected")
    return int(text)


def parse_hash(text: str) -> bytes:
    """Raises ValidationError."""
    try:
        digest = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValidationError("not a hash in base64") from error
    if len(digest) != HASH_BYTES or base64.b64encode(digest).decode() != text:
        raise ValidationError("not a SHA-256 hash in base64")
    return digest


def parse_hashes(lines: Sequence[str]) -> tuple[bytes, ...]:
    """Raises ValidationError."""
    if len(lines) > MAX_PROOF_HASHES:
        raise ValidationError(f"a proof has at most {MAX_PROOF_HASHES} hashes")
    return tuple(parse_hash(line) for line in lines)


def cosignature_message(body: str, timestamp: int) -> bytes:
    return f"cosignature/v1\ntime {timestamp}\n{body}".encode()


def cosignature(key: VerifierKey, timestamp: int, signature: bytes) -> NoteSignature:
    return NoteSignature(key.name, key.key_id, timestamp.to_bytes(_TIMESTAMP_BYTES, "big") + signature)


def cosigned_at(note: SignedNote, key: VerifierKey) -> int | None:
    """When this witness co-signed (POSIX seconds); None: it did not. Raises ValidationError for a false signature."""
    found = note.signature_of(key)
    if found is None or key.kind is not KeyKind.COSIGNATURE:
        return None
    timestamp = int.from_bytes(found.signature[:_TIMESTAMP_BYTES], "big")
    if not key.verifies(found.signature[_TIMESTAMP_BYTES:], cosignature_message(note.text, timestamp)):
        raise ValidationError(f"the co-signature of {key.name} (key {key.key_id.hex()}) is not valid")
    return timestamp
