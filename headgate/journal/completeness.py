"""Counts the entries of each writer, and reports those that never reached the applier. Pure.

``headgate.actions.entry_lane`` has the rules that writers follow.
"""

from collections.abc import Collection
from typing import Final

from msgspec import Struct, field

from headgate.actions.entry_lane import SignedEntry, Written
from headgate.actions.recorded_entry import EventsEntry
from headgate.audit.written_events import AttestedEvent

_NOWHERE: Final = (-1, -1)


class ReplayedEntryError(ValueError):
    """The entry, or a later one of its writer, was applied before."""


class Missed(Struct, frozen=True):
    """Entries of a writer that an entry says were written. ``applied``: how many of them were, at most."""

    writer: bytes
    written: int
    applied: int


class MissedEvents(Struct, frozen=True):
    """Events that a process has attested, and that no row of the journal held. ``written``: how many it attests in the
    same entry."""

    writer: bytes
    written: int
    events: tuple[AttestedEvent, ...]

    @property
    def applied(self) -> int:
        return self.written - len(self.events)


class WriterCount(Struct):
    """Of one writer: which entries were applied (those that were missed count as well), and the last one's place."""

    applied: Written = field(default_factory=Written)
    place: tuple[int, int] = _NOWHERE
    missing: int = 0


def count(counts: dict[bytes, WriterCount], signed: SignedEntry) -> Missed | None:
    """Counts one entry. Raises ReplayedEntryError."""
    one = counts.setdefault(signed.writer, WriterCount())
    place = signed.before.number, -1 if signed.is_attestation else signed.position
    if not signed.is_attestation and place <= one.place:
        raise ReplayedEntryError("the entry, or a later one of the same process, was applied before")
    missed = None
    if not _is_complete(one, signed.before):
        # At the same count or a smaller one, entries that the database had refused were added: one is missing at least.
        applied = min(one.applied.number, signed.before.number - 1)
        missed = Missed(signed.writer, signed.before.number, applied)
        one.missing += signed.before.number - applied
        one.applied = signed.before
    if not signed.is_attestation:
        one.applied = one.applied.and_one(signed.code)
    one.place = max(one.place, place)
    return missed


def missed_of(
    counts: dict[bytes, WriterCount], signed: SignedEntry, entry: EventsEntry, applied: Collection[bytes]
) -> MissedEvents | None:
    """Of an entry that was counted. ``applied``: digests of events that were applied, as elements."""
    missing = tuple(event for event in entry.events if event.digest not in applied)
    if not missing:
        return None
    counts[signed.writer].missing += len(missing)
    return MissedEvents(signed.writer, len(entry.events), missing)


def _is_complete(one: WriterCount, before: Written) -> bool:
    """Whether the entries that were written before are those that were applied."""
    if before.number == one.applied.number:
        return before.digest == one.applied.digest
    # More were applied: entries of the batch that follows, of which this is one, or which overtook this attestation.
    return before.number < one.applied.number and one.place[0] >= before.number
