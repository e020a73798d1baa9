"""Identifies the writers of a round's entries, and checks that all of their entries and events have arrived."""

from collections.abc import Collection
from contextlib import suppress

import structlog

from headgate.actions.entry_lane import SignedEntry
from headgate.actions.recorded_entry import EventsEntry, UnreadableEntryError
from headgate.audit.written_events import AttestedEvent, digest_of
from headgate.db.arrays import element
from headgate.db.database import Connection
from headgate.journal.applied_events import find_applied, keep_applied
from headgate.journal.completeness import Missed, MissedEvents, WriterCount, count, missed_of
from headgate.journal.round import Entry, EventEntry, missed_event
from headgate.journal.store import read_counts, write_counts
from headgate.kernel.clock import system_clock
from headgate.kernel.entry_codes import Checker, EntryCodes
from headgate.kernel.errors import UnavailableError
from headgate.vault.store import has_writers

_log = structlog.get_logger(__name__)

type Found = EventEntry | SignedEntry
"""What a row of the journal holds."""


class UnauthenticEntryError(ValueError):
    """No process with the installation's master keys wrote the entry so."""

    def __init__(self) -> None:
        super().__init__(
            "the entry's code fits none of the master keys: it was changed in the database, or another machine wrote it"
            " with other master keys (HEADGATE_MASTER_KEYS_FILE)"
        )


class Writers:
    """Of one round of one organization."""

    def __init__(
        self,
        org_id: str,
        codes: EntryCodes,
        checker: Checker,
        counts: dict[bytes, WriterCount],
        new_events: Collection[bytes],
        earlier_events: Collection[bytes],
    ) -> None:
        """``new_events``: digests of the events in this round. ``earlier_events``: of those that were applied before,
        as far as entries of this round ask for them."""
        self._org_id = org_id
        self._codes = codes
        self._checker = checker
        self._counts = counts
        self._new_events = new_events
        self._applied_events = {*new_events, *earlier_events}
        self._missed: list[Missed | MissedEvents] = []

    def entries_of(self, found: SignedEntry) -> list[Entry]:
        """Counts the entry. Returns what is to be applied: before it, an event for those that are missing. Raises
        UnauthenticEntryError, ReplayedEntryError and UnreadableEntryError. What is not authentic is not read: whoever
        can write to the journal could fill the memory with a short row."""
        if not found.is_authentic(self._checker, self._org_id):
            raise UnauthenticEntryError
        missed: list[Missed | MissedEvents | None] = [count(self._counts, found)]
        entries: list[Entry] = []
        entry = found.read()
        if isinstance(entry, EventsEntry):
            missed.append(missed_of(self._counts, found, entry, self._applied_events))
        elif entry is not None:
            entries.append(entry)
        known = [one for one in missed if one is not None]
        self._missed += known
        return [*(missed_event(one, system_clock()) for one in known), *entries]

    async def store(self, connection: Connection) -> None:
        """Keeps the counts, in the transaction that applies the entries."""
        for one in self._missed:
            _log.error(
                "journal_entry_missed",
                org_id=self._org_id,
                writer=one.writer.hex(),
                written=one.written,
                applied=one.applied,
            )
        signer = self._codes.signer()
        await write_counts(connection, self._org_id, self._counts, signer)
        await keep_applied(connection, self._org_id, self._new_events, signer)


async def open_writers(
    connection: Connection, org_id: str, found: Collection[Found], codes: EntryCodes | None
) -> Writers | None:
    """None: nothing is signed, and no process signs; whoever wrote the events then attests none. Raises
    UnavailableError: the master keys cannot be read."""
    signed = [one for one in found if isinstance(one, SignedEntry)]
    if codes is None:
        if signed:
            raise UnavailableError("the journal's entries cannot be checked without the master keys")
        return None
    try:
        checker = codes.checker()
    except UnavailableError:
        # An event that is applied without its code would be missed: a process that has read the keys attests it.
        if signed or await has_writers(connection):
            raise
        return None
    new = {element(digest_of(*one)) for one in found if isinstance(one, EventEntry)}
    asked = {event.digest for one in signed for event in _attested_by(one, checker, org_id)}
    counts = await read_counts(connection, org_id, {one.writer for one in signed}, checker)
    return Writers(org_id, codes, checker, counts, new, await find_applied(connection, org_id, asked - new, checker))


def _attested_by(one: SignedEntry, checker: Checker, org_id: str) -> tuple[AttestedEvent, ...]:
    """What is not authentic, or cannot be read, is refused when it is applied."""
    if not (one.is_events and one.is_authentic(checker, org_id)):
        return ()
    with suppress(UnreadableEntryError):
        if isinstance(entry := one.read(), EventsEntry):
            return entry.events
    return ()
