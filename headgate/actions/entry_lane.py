"""Which entries of the journal a process has written, so that a missing one is seen.

A lane writes one batch after the other. Each of its entries says how many entries of the lane were durable for the
organization before its batch, and a digest of their codes. The applier counts: a smaller count means that a row was
deleted between the commit and the applier. Another digest means that an entry which the database refused, and which has
a valid code too, stands in for one that was deleted. What a lane wrote last is attested within a second, by an entry
that says nothing else, and again each hour for a day. A code (``EntryCodes``) covers the organization, the prefix and
the entry: the owner of the database cannot write, change or renumber one.

The result of a batch whose answer was lost is unknown. The lane then goes on under a new name, and attests under the
old one what is known of it. It also takes a new name each day, so that the counts of old names can be deleted.
"""

import hashlib
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from time import time
from typing import Final, NamedTuple

from msgspec import Struct, field

from headgate.actions.recorded_entry import (
    ATTESTATION,
    Recorded,
    UnreadableEntryError,
    decompressed_bytes,
    entry_end,
    is_events_entry,
    read_entry,
)
from headgate.kernel.entry_codes import CODE_BYTES, MARK_BYTES, Checker, EntryCodes, Signer

WRITER_BYTES: Final = 16
DIGEST_BYTES: Final = 16
_PLACE: Final = struct.Struct(f">{WRITER_BYTES}sQ{DIGEST_BYTES}sI")
_CODE: Final = struct.Struct(f">{MARK_BYTES}s{CODE_BYTES}s")
_PREFIX_BYTES: Final = _PLACE.size + _CODE.size
_NAME_SECONDS: Final = 24 * 3600.0


class Written(NamedTuple):
    """The entries of a writer for one organization: how many, and a digest of their codes in their order."""

    number: int = 0
    digest: bytes = bytes(DIGEST_BYTES)

    def and_one(self, code: bytes) -> "Written":
        """With the entry of this code behind them."""
        return Written(self.number + 1, hashlib.sha256(self.digest + code).digest()[:DIGEST_BYTES])


_NOTHING: Final = Written()


class Attestation(NamedTuple):
    """``durable``: the entries of the writer that are, for the organization."""

    org_id: str
    writer: bytes
    durable: Written


class SignedEntry(NamedTuple):
    """An entry as it was found in the journal, unread: only an authentic one should be decompressed. ``position``:
    within its batch. ``raw``: the prefix and the entry."""

    writer: bytes
    before: Written
    position: int
    mark: bytes
    code: bytes
    raw: bytes

    @property
    def is_attestation(self) -> bool:
        return self.raw[_PREFIX_BYTES:] == ATTESTATION

    @property
    def is_events(self) -> bool:
        return is_events_entry(self.raw[_PREFIX_BYTES:])

    def read(self) -> Recorded | None:
        """None: an attestation. Raises UnreadableEntryError."""
        return read_entry(self.raw[_PREFIX_BYTES:])

    def is_authentic(self, checker: Checker, org_id: str) -> bool:
        """Whether a process with the master keys wrote it so, for this organization."""
        message = _message(org_id, self.raw[: _PLACE.size], self.raw[_PREFIX_BYTES:])
        return checker.is_valid(message, self.mark, self.code)


class _Name(Struct):
    writer: bytes = field(default_factory=lambda: os.urandom(WRITER_BYTES))
    since: float = field(default_factory=time)
    durable: dict[str, Written] = field(default_factory=dict)
    attested: dict[str, int] = field(default_factory=dict)

    def is_old(self) -> bool:
        """By the time of day: a machine that was suspended is older than its monotonic clock says."""
        return not 0 <= time() - self.since <= _NAME_SECONDS

    def unattested(self) -> Iterator[Attestation]:
        for org_id, durable in self.durable.items():
            if durable.number > self.attested.get(org_id, 0):
                yield Attestation(org_id, self.writer, durable)


class EntryLane:
    """One batch at a time: ``sign``, then ``committed`` if it was."""

    def __init__(self, codes: EntryCodes) -> None:
        self._codes = codes
        self._name = _Name()
        self._earlier: dict[bytes, _Name] = {}
        self._sent: list[tuple[str, Written, bytes]] | None = None

    def sign(self, entries: Sequence[tuple[str, bytes]]) -> list[bytes]:
        """The (organization, entry) of a batch, each with its prefix. Raises UnavailableError."""
        signer = self._codes.signer()
        if self._sent is not None or self._name.is_old():
            self._rename()
        durable = self._name.durable
        self._sent, signed = [], []
        for position, (org_id, entry) in enumerate(entries):
            before = durable.get(org_id, _NOTHING)
            code, raw = _signed(signer, org_id, self._name.writer, before, position, entry)
            self._sent.append((org_id, before, code))
            signed.append(raw)
        return signed

    def committed(self, kept: Sequence[bool]) -> None:
        """Which entries of the batch that was signed last are durable now. Raises ValueError for another number of
        them: then the batch counts as one without an answer."""
        answered = list(zip(self._sent or [], kept, strict=True))
        self._sent = None
        for (org_id, before, code), is_kept in answered:
            if is_kept:
                self._name.durable[org_id] = self._name.durable.get(org_id, _NOTHING).and_one(code)
                self._name.attested[org_id] = before.number

    def unattested(self) -> list[Attestation]:
        """What no later entry has said yet."""
        names = [*self._earlier.values(), self._name]
        return [attestation for name in names for attestation in name.unattested()]

    def standing(self) -> list[Attestation]:
        """All counts of the lane under its current name: an attestation can be deleted, too. Nothing is written under a
        name that is over a day old, and its counts may be deleted: it has none here."""
        if self._name.is_old():
            return []
        return [Attestation(org_id, self._name.writer, count) for org_id, count in self._name.durable.items()]

    def attested(self, attestation: Attestation) -> None:
        """It is durable."""
        name = self._earlier.get(attestation.writer, self._name)
        if name.writer != attestation.writer:
            return
        attested = name.attested.get(attestation.org_id, 0)
        name.attested[attestation.org_id] = max(attested, attestation.durable.number)
        if name is not self._name and not any(name.unattested()):
            del self._earlier[name.writer]

    def _rename(self) -> None:
        if any(self._name.unattested()):
            self._earlier[self._name.writer] = self._name
        self._name = _Name()
        self._sent = None


def signed_attestation(signer: Signer, one: Attestation) -> bytes:
    """As an entry of the journal."""
    return _signed(signer, one.org_id, one.writer, one.durable, 0, ATTESTATION)[1]


def read_entries(entries: bytes) -> Iterator[SignedEntry]:
    """Raises UnreadableEntryError where the bytes stop being entries."""
    at = 0
    while at < len(entries):
        try:
            writer, number, digest, position = _PLACE.unpack_from(entries, at)
            mark, code = _CODE.unpack_from(entries, at + _PLACE.size)
            end = entry_end(entries, at + _PREFIX_BYTES)
        except struct.error as error:
            raise UnreadableEntryError(entries[at:]) from error
        yield SignedEntry(writer, Written(number, digest), position, mark, code, entries[at:end])
        at = end


def total_decompressed_bytes(entries: bytes) -> int:
    """The size of all fields after decompression, as the entries state it, up to the first unreadable entry.
    Decompresses nothing."""
    total = 0
    with suppress(UnreadableEntryError):
        for one in read_entries(entries):
            total += decompressed_bytes(one.raw[_PREFIX_BYTES:])
    return total


def _signed(
    signer: Signer, org_id: str, writer: bytes, before: Written, position: int, entry: bytes
) -> tuple[bytes, bytes]:
    """The code, and the entry behind its prefix."""
    place = _PLACE.pack(writer, *before, position)
    code = signer.code(_message(org_id, place, entry))
    return code, place + _CODE.pack(signer.mark, code) + entry


def _message(org_id: str, place: bytes, entry: bytes) -> bytes:
    # An organization's identifier has no NUL, so the parts cannot be read otherwise.
    return b"".join((org_id.encode(), b"\0", place, entry))
