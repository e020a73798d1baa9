"""A witness (C2SP tlog-witness): co-signs a log's checkpoint where it continues the last one that it co-signed.

For another team to run, on another machine: it keeps one file for each log, and holds nobody's record.
"""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from msgspec import Struct

from headgate.evidence.checkpoint import (
    Checkpoint,
    cosignature,
    cosignature_message,
    parse_checkpoint,
    parse_hashes,
    parse_size,
)
from headgate.evidence.merkle import EMPTY_ROOT, ProofError, verify_consistency
from headgate.evidence.note import KeyKind, SignedNote, VerifierKey, parse_note, verify_note
from headgate.evidence.signing_keys import Signer
from headgate.kernel.atomic_file import replace_file
from headgate.kernel.errors import ValidationError

SIZE_TYPE: Final = "text/x.tlog.size"
MAX_REQUEST_BYTES: Final = 64 * 1024


class WitnessAnswer(Struct, frozen=True):
    """A status of HTTP, as the specification assigns them, and the body."""

    status: int
    body: str
    content_type: str = "text/plain; charset=utf-8"


@dataclass(slots=True)
class Witness:
    """``logs``: keys that are trusted for the log of their name, and for logs whose names continue it after a slash.

    ``now`` is POSIX seconds. One process at a time has ``folder``.
    """

    name: str
    signer: Signer
    logs: Sequence[VerifierKey]
    folder: Path
    now: Callable[[], int]
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @property
    def key(self) -> VerifierKey:
        return VerifierKey(self.name, self.signer.public_key, KeyKind.COSIGNATURE)

    async def add_checkpoint(self, request: bytes) -> WitnessAnswer:
        """The answer to POST add-checkpoint."""
        try:
            old_size, path, note, checkpoint = _parse_request(request)
        except (ValidationError, UnicodeDecodeError):
            return WitnessAnswer(400, "malformed request\n")
        keys = [one for key in self.logs if (one := _key_for(key, checkpoint.origin)) is not None]
        if not keys:
            return WitnessAnswer(404, "unknown log\n")
        try:
            verify_note(note, keys)
        except ValidationError:
            return WitnessAnswer(403, "no trusted key signed this\n")
        if old_size > checkpoint.size:
            return WitnessAnswer(400, "the old size is larger than the checkpoint's\n")
        async with self._lock:
            return await self._cosign(old_size, path, note, checkpoint)

    async def _cosign(
        self, old_size: int, path: tuple[bytes, ...], note: SignedNote, checkpoint: Checkpoint
    ) -> WitnessAnswer:
        known = self._recall(checkpoint.origin)
        if old_size != known.size:
            return WitnessAnswer(409, f"{known.size}\n", SIZE_TYPE)
        if known.size == checkpoint.size and known.root != checkpoint.root:
            return WitnessAnswer(409, f"{known.size}\n", SIZE_TYPE)
        try:
            verify_consistency(
                old_size=known.size, old_root=known.root, new_size=checkpoint.size, new_root=checkpoint.root, path=path
            )
        except ProofError as error:
            return WitnessAnswer(422, f"{error}\n")
        timestamp = self.now()
        signature = await self.signer.sign(cosignature_message(note.text, timestamp))
        self._file(checkpoint.origin).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self._file(checkpoint.origin), note.render().encode(), mode=0o600)  # before it is told
        return WitnessAnswer(200, cosignature(self.key, timestamp, signature).line)

    def _recall(self, origin: str) -> Checkpoint:
        path = self._file(origin)
        if not path.exists():
            return Checkpoint(origin, 0, EMPTY_ROOT)
        return parse_checkpoint(parse_note(path.read_text("utf-8")))

    def _file(self, origin: str) -> Path:
        return self.folder / "logs" / f"{hashlib.sha256(origin.encode()).hexdigest()}.checkpoint"


def _key_for(key: VerifierKey, origin: str) -> VerifierKey | None:
    if key.name == origin:
        return key
    return VerifierKey(origin, key.public_key, key.kind) if origin.startswith(f"{key.name}/") else None


def _parse_request(request: bytes) -> tuple[int, tuple[bytes, ...], SignedNote, Checkpoint]:
    head, separator, tail = request.decode().partition("\n\n")
    lines = head.split("\n")
    if not separator or not lines[0].startswith("old "):
        raise ValidationError("not an add-checkpoint request")
    note = parse_note(tail)
    return parse_size(lines[0].removeprefix("old ")), parse_hashes(lines[1:]), note, parse_checkpoint(note)
