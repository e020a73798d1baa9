"""Who wrote the entries of a round, and whether all of their entries are here."""

from collections.abc import Collection

import structlog

from headgate.actions.entry_lane import SignedEntry
from headgate.db.database import Connection
from headgate.journal.completeness import Missed, WriterCount, count
from headgate.journal.round import Entry, EventEntry, missed_event
from headgate.journal.store import read_counts, write_counts
from headgate.kernel.clock import system_clock
from headgate.kernel.entry_codes import Checker, EntryCodes
from headgate.kernel.errors import UnavailableError

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

    def __init__(self, org_id: str, codes: EntryCodes, checker: Checker, counts: dict[bytes, WriterCount]) -> None:
        self._org_id = org_id
        self._codes = codes
        self._checker = checker
        self._counts = counts
        self._missed: list[Missed] = []

    def entries_of(self, found: SignedEntry) -> list[Entry]:
        """Counts the entry. Returns what is to be applied: before it, an event for those that are missing. Raises
        UnauthenticEntryError and ReplayedEntryError."""
        if not found.is_authentic(self._checker, self._org_id):
            raise UnauthenticEntryError
        missed = count(self._counts, found)
        entries: list[Entry] = [] if found.entry is None else [found.entry]
        if missed is None:
            return entries
        self._missed.append(missed)
        return [missed_event(missed, system_clock()), *entries]

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
        await write_counts(connection, self._org_id, self._counts, self._codes.signer())


async def open_writers(
    connection: Connection, org_id: str, found: Collection[Found], codes: EntryCodes | None
) -> Writers | None:
    """None: the round has single events only, which no lane wrote. Raises UnavailableError: the master keys cannot be
    read."""
    writers = {one.writer for one in found if isinstance(one, SignedEntry)}
    if not writers:
        return None
    if codes is None:
        raise UnavailableError("the journal's entries cannot be checked without the master keys")
    checker = codes.checker()
    return Writers(org_id, codes, checker, await read_counts(connection, org_id, writers, checker))
