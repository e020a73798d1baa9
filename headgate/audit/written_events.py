"""Which events of their own a process's transactions have written, so that a deleted one is missed.

An event that a transaction appends beside its rows has no lane (``headgate.actions.entry_lane``): transactions overlap,
and may be rolled back. So the process notes each event with its transaction and, once that is committed, keeps the
event's digest here. It attests the digests within a second, in an entry of a lane. The applier compares them with what
it has applied.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from time import time
from typing import Final, NamedTuple

import structlog

from headgate.db.arrays import INSTANTS, NULL, element
from headgate.db.database import Connection, note_for_commit

_log = structlog.get_logger(__name__)

DIGEST_BYTES: Final = 32
ATTESTED_AT_ONCE_MAX: Final = 1_000
"""Of one organization, in one entry of the journal."""

_KEPT_SECONDS: Final = 12 * 3600.0
"""The applier keeps what it has applied for twice as long. A later attestation would call a sealed event missing."""

_KEPT_MAX: Final = 100_000
"""About 30 MB of an entry's memory, if the database takes no attestation for hours but goes on committing."""


class WrittenEvent(NamedTuple):
    """One event as its transaction appends it."""

    event_type: str
    action_id: str | None
    agent_id: str | None
    created_at: datetime
    payload: str


class AttestedEvent(NamedTuple):
    """One event in an attestation: what was written, and what a person who misses it is told. Encoded as elements of
    PostgreSQL's binary arrays."""

    digest: bytes
    event_type: bytes
    action_id: bytes
    created_at: bytes


class _Note(NamedTuple):
    org_id: str
    events: tuple[AttestedEvent, ...]


def digest_of(event_type: bytes, action_id: bytes, agent_id: bytes, created_at: bytes, payload: bytes) -> bytes:
    """SHA-256 of an event's columns, as elements of binary arrays: each begins with its length."""
    return hashlib.sha256(b"".join((event_type, action_id, agent_id, created_at, payload))).digest()


def note_events(connection: Connection, org_id: str, events: Iterable[WrittenEvent]) -> None:
    """Of a statement that has appended exactly these. Nothing is attested of a transaction that does not commit."""
    note_for_commit(connection, _Note(org_id, tuple(map(_attested, events))))


class WrittenEvents:
    """Of one process: what is committed and not attested yet, by organization."""

    def __init__(self) -> None:
        self._kept: list[tuple[float, str, AttestedEvent]] = []

    def committed(self, notes: Sequence[object]) -> None:
        """Takes the notes of a transaction (``Database.commit_listeners``)."""
        for note in notes:
            if isinstance(note, _Note):
                self._keep(note.org_id, note.events)

    def add(self, org_id: str, events: Iterable[WrittenEvent]) -> None:
        """Of a statement that was a transaction by itself."""
        self._keep(org_id, map(_attested, events))

    def due(self) -> list[tuple[str, tuple[AttestedEvent, ...]]]:
        """Everything, in pieces for one entry each. It stays until ``attested``."""
        self._forget_old()
        by_organization: dict[str, list[AttestedEvent]] = {}
        for _, org_id, event in self._kept:
            by_organization.setdefault(org_id, []).append(event)
        return [(org_id, piece) for org_id, events in by_organization.items() for piece in _pieces(events)]

    def attested(self, count: int) -> None:
        """The oldest ``count`` are, durably."""
        del self._kept[:count]

    def _keep(self, org_id: str, events: Iterable[AttestedEvent]) -> None:
        now = time()
        self._kept += ((now, org_id, event) for event in events)

    def _forget_old(self) -> None:
        now = time()
        old = sum(not 0 <= now - at <= _KEPT_SECONDS for at, _, _ in self._kept)
        too_many = len(self._kept) - _KEPT_MAX
        if old or too_many > 0:
            _log.error("events_not_attested", old=old, too_many=max(too_many, 0))
            fresh = [one for one in self._kept if 0 <= now - one[0] <= _KEPT_SECONDS]
            self._kept = fresh[-_KEPT_MAX:]


def _pieces(events: Sequence[AttestedEvent]) -> Iterator[tuple[AttestedEvent, ...]]:
    for start in range(0, len(events), ATTESTED_AT_ONCE_MAX):
        yield tuple(events[start : start + ATTESTED_AT_ONCE_MAX])


def _attested(event: WrittenEvent) -> AttestedEvent:
    event_type, action_id = element(event.event_type), _or_null(event.action_id)
    created_at = INSTANTS.element(event.created_at)
    digest = digest_of(event_type, action_id, _or_null(event.agent_id), created_at, element(event.payload))
    return AttestedEvent(element(digest), event_type, action_id, created_at)


def _or_null(value: str | None) -> bytes:
    return NULL if value is None else element(value)
