"""The applier: reads an organization's journal in order, and writes actions, executions and the hash chain.

The worker runs it for all organizations. The API runs it for one before it reads what must be current. One transaction
writes the results of a round and deletes the round from the journal, under the lock of the organization's chain. If a
round is refused, the applier tries fewer rows, down to one, then single entries. It sets aside the entry that fails,
with an error in the log, and applies everything else.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

import psycopg
import structlog

from headgate.actions.entry_lane import SignedEntry, read_entries
from headgate.actions.recorded_entry import UnreadableEntryError
from headgate.actions.tag_store import note_tags
from headgate.db.database import Connection, Database
from headgate.journal import store
from headgate.journal.found_tags import tags_of
from headgate.journal.round import Entry, EventEntry, Round, outcomes_of_earlier_rounds, plan_round
from headgate.journal.set_aside_store import set_aside
from headgate.journal.store import JournalRow
from headgate.journal.used_models import uses_of
from headgate.journal.writers import Found, Writers, open_writers
from headgate.kernel.entry_codes import EntryCodes
from headgate.kernel.errors import UnavailableError
from headgate.llm_usage.store import add_usage

_log = structlog.get_logger(__name__)

_ROUND_ROWS: Final = 500
_ROUNDS_OF_ONE_TURN: Final = 8
"""Of one organization, before the others have theirs."""
_ROUNDS_BEFORE_READING: Final = 20

# The content of a round is at fault. Anything else (a trigger, a damaged index, missing rights) can be mended, and
# nothing is set aside for it.
_OF_CONTENT: Final = (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded, ValueError)

# A server that is gone, busy or full: fewer rows do not help. Other errors concern some rows only, or too many at once.
_OF_THE_SERVER: Final = (psycopg.OperationalError, psycopg.InterfaceError)


class Applied(NamedTuple):
    """What one round has done: rows of the journal that it applied, and whether there may be more."""

    rows: int
    is_more: bool


type _Apply = Callable[[Connection, str, Sequence[JournalRow], EntryCodes | None], Awaitable[None]]


class RoundRefusedError(UnavailableError):
    """The round cannot be applied as it is. ``is_of_content``: it never can be."""

    def __init__(self, cause: Exception) -> None:
        self.cause = str(cause).strip() or type(cause).__name__
        super().__init__(f"the journal cannot be applied: {self.cause}")
        self.is_of_content = isinstance(cause, _OF_CONTENT)


async def apply_due(database: Database) -> int:
    """Applies what all organizations have in the journal; returns how many of its rows.

    An organization whose journal cannot be applied now does not delay the others. Raises UnavailableError if none
    could be.
    """
    async with database.single_statement() as connection:
        due = await store.organizations_due(connection)
    applied, failed = 0, 0
    for org_id in due:
        try:
            for _ in range(_ROUNDS_OF_ONE_TURN):
                rows, is_more = await _apply_some(database, org_id, wait=False)
                applied += rows
                if not is_more:
                    break
        except UnavailableError as error:
            failed += 1
            cause = str(error.__cause__ or error)
            _log.error("journal_not_applied", org_id=org_id, error=error.message, cause=cause)
    if failed and failed == len(due):
        raise UnavailableError("no organization's journal could be applied")
    return applied


async def require_applied(database: Database, org_id: str) -> None:
    """Applies what is in the journal, so that a reader finds what was recorded before it asked.

    Raises UnavailableError if another process applies for longer than two seconds, or if the backlog is longer than a
    reader should wait for.
    """
    for _ in range(_ROUNDS_BEFORE_READING):
        if not (await _apply_some(database, org_id, wait=True)).is_more:
            return
    raise UnavailableError("the record has a backlog; try again", retry_after_seconds=1)


async def apply_before_reading(database: Database, org_id: str) -> None:
    """As ``require_applied``, for readers of many events: if it cannot be done, they get what is sealed."""
    try:
        await require_applied(database, org_id)
    except UnavailableError as error:
        cause = str(error.__cause__ or error)
        _log.warning("journal_not_applied_before_reading", org_id=org_id, error=error.message, cause=cause)


async def apply_if_free(database: Database, org_id: str) -> None:
    """Applies one round, unless another process applies this organization's journal now. Raises UnavailableError."""
    await _apply_some(database, org_id, wait=False)


async def _apply_some(database: Database, org_id: str, *, wait: bool) -> Applied:
    """One round, as large as the database takes it; raises RoundRefusedError."""
    limit = _ROUND_ROWS
    while True:
        try:
            return await _round(database, org_id, limit, _apply, wait=wait)
        except RoundRefusedError as error:
            if limit == 1 and not error.is_of_content:
                raise
            if limit == 1:
                break
            _log.warning("journal_round_refused", org_id=org_id, rows=limit, cause=str(error))
            limit = max(limit // 8, 1)
    return await _round(database, org_id, 1, _apply_by_entry, wait=wait)


async def _round(database: Database, org_id: str, limit: int, apply: _Apply, *, wait: bool) -> Applied:
    async with database.transaction(org_id) as connection:
        if not await store.has_journal(connection, org_id):
            return Applied(0, is_more=False)
        if wait:
            await store.lock_chain_for_reader(connection, org_id)
        elif not await store.lock_chain_if_free(connection, org_id):
            return Applied(0, is_more=False)
        rows, is_more = await store.read_journal(connection, org_id, limit)
        if rows:
            await apply(connection, org_id, rows, database.entry_codes)
    return Applied(len(rows), is_more)


async def _apply(connection: Connection, org_id: str, rows: Sequence[JournalRow], codes: EntryCodes | None) -> None:
    """Raises RoundRefusedError."""
    with refusals():
        found = [one for row in rows for one in _found_in(row)]
        writers = await open_writers(connection, org_id, found, codes)
        entries = [entry for one in found for entry in _entries_of(one, writers)]
        await write_entries(connection, org_id, [row.journal_id for row in rows], entries)
        if writers is not None:
            await writers.store(connection)


async def _apply_by_entry(
    connection: Connection, org_id: str, rows: Sequence[JournalRow], codes: EntryCodes | None
) -> None:
    """One row that was refused, each of its entries by itself."""
    (row,) = rows
    found, rest = _readable_in(row)
    writers = await open_writers(connection, org_id, found, codes)
    for position, one in enumerate(found):
        try:
            with refusals():
                # Each by itself: that entries are missing is recorded, too, where the entry that reveals it is refused.
                for entry in _entries_of(one, writers):
                    async with connection.transaction():
                        await write_entries(connection, org_id, [], [entry])
        except RoundRefusedError as error:
            if not error.is_of_content:
                raise
            raw = one.raw if isinstance(one, SignedEntry) else b"".join(one)
            is_event = isinstance(one, EventEntry)
            await _set_aside(connection, org_id, row, position, raw, str(error), is_event=is_event)
    if rest is not None:
        await _set_aside(connection, org_id, row, len(found), rest.rest, str(rest), is_event=False)
    await store.apply_round(connection, org_id, [row.journal_id], Round())
    if writers is not None:
        await writers.store(connection)


async def _set_aside(
    connection: Connection, org_id: str, row: JournalRow, position: int, entry: bytes, failure: str, *, is_event: bool
) -> None:
    await set_aside(connection, org_id, row.journal_id, position, entry, failure, is_event=is_event)
    _log.error("journal_entry_set_aside", org_id=org_id, journal_id=row.journal_id, position=position, cause=failure)


async def write_entries(
    connection: Connection, org_id: str, journal_ids: Sequence[int], entries: Sequence[Entry]
) -> Round:
    """Writes what the entries come to, which it returns. The caller holds the chain's lock."""
    ended = await store.end_executions(connection, org_id, outcomes_of_earlier_rounds(entries))
    planned = plan_round(entries, ended)
    await store.apply_round(connection, org_id, journal_ids, planned)
    await add_usage(connection, org_id, uses_of(planned.ended))
    await note_tags(connection, org_id, tags_of(planned.events))
    return planned


def _entries_of(found: Found, writers: Writers | None) -> list[Entry]:
    if isinstance(found, EventEntry):
        return [found]
    return [] if writers is None else writers.entries_of(found)


def _found_in(row: JournalRow) -> Iterable[Found]:
    """Raises UnreadableEntryError."""
    return [row.event] if row.entries is None else read_entries(row.entries)


def _readable_in(row: JournalRow) -> tuple[list[Found], UnreadableEntryError | None]:
    found: list[Found] = []
    try:
        found.extend(_found_in(row))
    except UnreadableEntryError as error:
        return found, error
    return found, None


@contextmanager
def refusals() -> Iterator[None]:
    """Raises RoundRefusedError for what PostgreSQL or the sealing refuses because of its content."""
    try:
        yield
    except _OF_CONTENT as error:
        raise RoundRefusedError(error) from error
    except psycopg.errors.QueryCanceled as error:  # too many at once for the statement's time
        raise RoundRefusedError(error) from error
    except psycopg.Error as error:
        # PANIC and FATAL end the server or the session, whatever their code says.
        if isinstance(error, _OF_THE_SERVER) or error.diag.severity_nonlocalized != "ERROR":
            raise
        raise RoundRefusedError(error) from error
