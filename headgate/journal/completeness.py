"""Counts the entries of each writer: one that was written and never reached the applier is missed. Pure.

``headgate.actions.entry_lane`` has the rules that writers follow.
"""

from dataclasses import dataclass
from typing import Final

from headgate.actions.entry_lane import SignedEntry

_NOWHERE: Final = (-1, -1)


class ReplayedEntryError(ValueError):
    """The entry, or a later one of its writer, was applied before."""


@dataclass(frozen=True, slots=True)
class Missed:
    """Entries of a writer that an entry says were written. ``applied``: how many were."""

    writer: bytes
    written: int
    applied: int


@dataclass(slots=True)
class WriterCount:
    """Of one writer: how many entries were applied (those that were missed count as well), and the last one's place."""

    applied: int = 0
    place: tuple[int, int] = _NOWHERE
    missing: int = 0


def count(counts: dict[bytes, WriterCount], signed: SignedEntry) -> Missed | None:
    """Counts one entry. Raises ReplayedEntryError."""
    one = counts.setdefault(signed.writer, WriterCount())
    place = signed.before, signed.position
    if signed.entry is not None and place <= one.place:
        raise ReplayedEntryError("the entry, or a later one of the same process, was applied before")
    missed = None
    if signed.before > one.applied:
        missed = Missed(signed.writer, signed.before, one.applied)
        one.missing += signed.before - one.applied
        one.applied = signed.before
    if signed.entry is not None:
        one.applied += 1
        one.place = place
    return missed
