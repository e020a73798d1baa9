"""Which entries of the journal a process has written, so that a missing one is seen.

A lane writes one batch after the other. Each of its entries says how many entries of the lane were durable for the
organization before it; the applier counts, and a smaller count means that a row was deleted between the commit and the
applier. What a lane wrote last is attested within a second by an entry that says nothing else, and again each hour. A
code (``EntryCodes``) covers the organization, the prefix and the entry: the owner of the database cannot write, change
or renumber one.

The result of a batch whose answer was lost is unknown. The lane then goes on under a new name, and attests under the
old one what is known of it. It also takes a new name each day, so that the counts of old names can be deleted.
"""

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Final, NamedTuple

from headgate.actions.recorded_entry import (
    ATTESTATION,
    ActionEntry,
    OutcomeEntry,
    UnreadableEntryError,
    read_entry,
)
from headgate.kernel.entry_codes import CODE_BYTES, MARK_BYTES, Checker, EntryCodes, Signer

WRITER_BYTES: Final = 16
_PLACE: Final = struct.Struct(f">{WRITER_BYTES}sQI")
_CODE: Final = struct.Struct(f">{MARK_BYTES}s{CODE_BYTES}s")
_PREFIX_BYTES: Final = _PLACE.size + _CODE.size
_NAME_SECONDS: Final = 24 * 3600.0


class Attestation(NamedTuple):
    """``durable``: how many entries of the writer are, for the organization."""

    org_id: str
    writer: bytes
    durable: int


class SignedEntry(NamedTuple):
    """An entry as it was found in the journal. ``entry`` None: an attestation. ``position``: within its batch."""

    writer: bytes
    before: int
    position: int
    entry: ActionEntry | OutcomeEntry | None
    mark: bytes
    code: bytes
    raw: bytes

    def is_authentic(self, checker: Checker, org_id: str) -> bool:
        """Whether a process with the master keys wrote it so, for this organization."""
        message = _message(org_id, self.raw[: _PLACE.size], self.raw[_PREFIX_BYTES:])
        return checker.is_valid(message, self.mark, self.code)


@dataclass(slots=True)
class _Name:
    writer: bytes = field(default_factory=lambda: os.urandom(WRITER_BYTES))
    since: float = field(default_factory=monotonic)
    durable: dict[str, int] = field(default_factory=dict)
    attested: dict[str, int] = field(default_factory=dict)

    def unattested(self) -> Iterator[Attestation]:
        for org_id, durable in self.durable.items():
            if durable > self.attested.get(org_id, 0):
                yield Attestation(org_id, self.writer, durable)


class EntryLane:
    """One batch at a time: ``sign``, then ``committed`` if it was."""

    def __init__(self, codes: EntryCodes) -> None:
        self._codes = codes
        self._name = _Name()
        self._earlier: dict[bytes, _Name] = {}
        self._sent: list[tuple[str, int]] | None = None

    def sign(self, entries: Sequence[tuple[str, bytes]]) -> list[bytes]:
        """The (organization, entry) of a batch, each with its prefix. Raises UnavailableError."""
        signer = self._codes.signer()
        if self._sent is not None or monotonic() - self._name.since > _NAME_SECONDS:
            self._rename()
        durable = self._name.durable
        self._sent = [(org_id, durable.get(org_id, 0)) for org_id, _ in entries]
        return [
            _signed(signer, org_id, self._name.writer, before, position, entry)
            for position, ((_, before), (org_id, entry)) in enumerate(zip(self._sent, entries, strict=True))
        ]

    def committed(self, kept: Sequence[bool]) -> None:
        """Which entries of the batch that was signed last are durable now."""
        sent, self._sent = self._sent or [], None
        for (org_id, before), is_kept in zip(sent, kept, strict=True):
            if is_kept:
                self._name.durable[org_id] = self._name.durable.get(org_id, 0) + 1
                self._name.attested[org_id] = before

    def unattested(self) -> list[Attestation]:
        """What no later entry has said yet."""
        names = [*self._earlier.values(), self._name]
        return [attestation for name in names for attestation in name.unattested()]

    def standing(self) -> list[Attestation]:
        """All counts of the lane under its name of now: an attestation can be deleted, too."""
        return [Attestation(org_id, self._name.writer, count) for org_id, count in self._name.durable.items()]

    def attested(self, attestation: Attestation) -> None:
        """It is durable."""
        name = self._earlier.get(attestation.writer, self._name)
        if name.writer != attestation.writer:
            return
        attested = name.attested.get(attestation.org_id, 0)
        name.attested[attestation.org_id] = max(attested, attestation.durable)
        if name is not self._name and not any(name.unattested()):
            del self._earlier[name.writer]

    def _rename(self) -> None:
        if any(self._name.unattested()):
            self._earlier[self._name.writer] = self._name
        self._name = _Name()
        self._sent = None


def signed_attestation(codes: EntryCodes, one: Attestation) -> bytes:
    """As an entry of the journal. Raises UnavailableError."""
    return _signed(codes.signer(), one.org_id, one.writer, one.durable, 0, ATTESTATION)


def read_entries(entries: bytes) -> Iterator[SignedEntry]:
    """Raises UnreadableEntryError where the bytes stop being entries."""
    at = 0
    while at < len(entries):
        try:
            writer, before, position = _PLACE.unpack_from(entries, at)
            mark, code = _CODE.unpack_from(entries, at + _PLACE.size)
            entry, end = read_entry(entries, at + _PREFIX_BYTES)
        except (struct.error, UnreadableEntryError) as error:
            raise UnreadableEntryError(entries[at:]) from error
        yield SignedEntry(writer, before, position, entry, mark, code, entries[at:end])
        at = end


def _signed(signer: Signer, org_id: str, writer: bytes, before: int, position: int, entry: bytes) -> bytes:
    place = _PLACE.pack(writer, before, position)
    return place + _CODE.pack(signer.mark, signer.code(_message(org_id, place, entry))) + entry


def _message(org_id: str, place: bytes, entry: bytes) -> bytes:
    # An organization's identifier has no NUL, so the parts cannot be read otherwise.
    return b"".join((org_id.encode(), b"\0", place, entry))
