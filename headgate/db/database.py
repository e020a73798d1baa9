"""Connections and transactions. Every transaction belongs to one organization, or says that it belongs to none.

Third-party exceptions end here: what a caller sees is UnavailableError (the server is out of reach, too slow,
or refuses) or what it asked for itself. Constraint violations pass through as ConstraintError for stores to name; a
database that changes nothing (a standby, an inspected record) answers with ConflictError.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import Final

import psycopg
from msgspec import Struct
from psycopg.abc import PQGen
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from headgate.db.connection_shares import NO_ORGANIZATION, ConnectionShares
from headgate.db.thread_wait import wait_in_thread
from headgate.kernel.entry_codes import EntryCodes
from headgate.kernel.errors import ConflictError, HeadgateError, UnavailableError
from headgate.kernel.secrets import Secret

type Connection = psycopg.AsyncConnection[DictRow]

_CHECK_SECONDS: Final = 2.0
_IDLE_SECONDS: Final = 60.0
"""Then a connection beyond the first is closed: each is a process of the server, of 1 to 8 MB."""

# A command sets up no logging, and the standard library then prints a library's warnings on stderr as they are ("Python
# logging HOWTO", "What happens if no configuration is provided"): why a connection failed is said once, by the command.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class ConstraintError(ConflictError):
    """A row breaks a constraint; ``details.constraint`` names it."""


class _TimedConnection(psycopg.AsyncConnection[DictRow]):
    """Whose every wait for the server ends. A server that stands still, or a network that swallows packets, breaks no
    connection, and the limits that the server keeps (statement_timeout) are then kept by nobody."""

    answer_seconds: float | None = None
    waits_in_thread: bool = False
    notes: list[object]
    """Of the transaction that runs: what ``note_for_commit`` was given and no rollback has taken back."""

    @asynccontextmanager
    async def transaction(
        self, savepoint_name: str | None = None, force_rollback: bool = False
    ) -> AsyncIterator[psycopg.AsyncTransaction]:
        """As psycopg's, and the notes of what is rolled back are dropped: of a savepoint, too."""
        before, is_kept, is_done = len(self.notes), False, False
        try:
            async with super().transaction(savepoint_name, force_rollback) as transaction:
                yield transaction
                is_done = True  # psycopg.Rollback leaves the block, and no exception
            is_kept = is_done and not force_rollback
        finally:
            if not is_kept:
                del self.notes[before:]

    async def wait[RV](self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        if timeout is not None:
            return await super().wait(gen, interval, timeout)
        try:
            if self.waits_in_thread:
                return await wait_in_thread(self, gen, interval, self.answer_seconds)
            return await super().wait(gen, interval, self.answer_seconds)
        except psycopg.errors._WaitTimeout as error:
            self.pgconn.finish()  # what the server makes of the statement is unknown: nobody uses this one again
            raise psycopg.OperationalError(f"no answer within {self.answer_seconds} s") from error


@contextmanager
def awaited_in_thread(connection: Connection) -> Iterator[None]:
    """For statements with large answers."""
    if not isinstance(connection, _TimedConnection):
        raise TypeError("not a connection of a Database")
    connection.waits_in_thread = True
    try:
        yield
    finally:
        connection.waits_in_thread = False


def note_for_commit(connection: Connection, note: object) -> None:
    """Keeps a note for the listeners of ``Database.commit_listeners``, who get it if the transaction commits."""
    if isinstance(connection, _TimedConnection):  # a bare connection of the database's owner has no listeners
        connection.notes.append(note)


class PoolFigures(Struct, frozen=True):
    """Connections of this process. ``waiting``: callers that have none yet; the last two only rise."""

    size: int
    idle: int
    most: int
    waiting: int
    requests: int
    errors: int


class Database:
    """A pool of connections, each logged in as this part's own role.

    ``max_connections`` bounds what this process takes from the server; ``timeout_seconds`` is how long a
    caller waits for a connection, and a statement may take, before UnavailableError; a server that does not even
    say that is waited for twice as long. ``connect_seconds`` is the wait for a connection, where a statement may take
    longer than anybody should wait for one. Without ``checked`` a connection that died while it was idle costs one
    UnavailableError, and a transaction one question less: for work that is tried again anyway. ``shares``: which
    organization may have how many of the connections, where several use them at once. ``entry_codes`` checks
    entries of the journal, in a process that may apply them.
    """

    def __init__(
        self,
        dsn: Secret,
        *,
        max_connections: int = 8,
        timeout_seconds: float = 5.0,
        connect_seconds: float | None = None,
        checked: bool = True,
        shares: ConnectionShares | None = None,
        entry_codes: EntryCodes | None = None,
    ) -> None:
        connect_seconds = timeout_seconds if connect_seconds is None else connect_seconds
        self._timeout_seconds = timeout_seconds
        self._shares = shares
        self.entry_codes = entry_codes
        # Caches of this process: each is called with an organization whose generation a change has raised.
        self.generation_listeners: list[Callable[[str], None]] = []
        # Each is called with the notes of a transaction once it is committed, and raises nothing. A transaction whose
        # commit has no answer has none: what became of it is unknown.
        self.commit_listeners: list[Callable[[Sequence[object]], None]] = []
        self._pool: AsyncConnectionPool[_TimedConnection] = AsyncConnectionPool(
            dsn.reveal(),
            connection_class=_TimedConnection,
            configure=self._configure,
            min_size=1,
            max_size=max_connections,
            max_idle=_IDLE_SECONDS,
            timeout=connect_seconds,
            open=False,
            kwargs={
                "row_factory": dict_row,
                "connect_timeout": max(2, int(connect_seconds)),
                "autocommit": True,  # every transaction is begun by name
            },
            # A connection that died while it was idle is replaced before a caller gets it.
            check=self._check if checked else None,
        )

    async def open(self) -> None:
        """Start connecting; does not wait for the server (the health routes tell whether it is there)."""
        await self._pool.open(wait=False)

    async def close(self) -> None:
        await self._pool.close()

    async def _configure(self, connection: _TimedConnection) -> None:
        connection.answer_seconds = 2 * self._timeout_seconds
        connection.notes = []

    async def _check(self, connection: _TimedConnection) -> None:
        """Soon enough for a caller to get another one in its time."""
        connection.answer_seconds = min(_CHECK_SECONDS, self._timeout_seconds / 2)
        await AsyncConnectionPool.check_connection(connection)
        await self._configure(connection)

    def pool_figures(self) -> PoolFigures:
        """Of this moment; nothing is asked of the server."""
        figures = self._pool.get_stats()
        return PoolFigures(
            size=figures.get("pool_size", 0),
            idle=figures.get("pool_available", 0),
            most=figures.get("pool_max", 0),
            waiting=figures.get("requests_waiting", 0) + (0 if self._shares is None else self._shares.waiting),
            requests=figures.get("requests_num", 0),
            errors=figures.get("requests_errors", 0),
        )

    @asynccontextmanager
    async def transaction(self, org_id: str) -> AsyncIterator[Connection]:
        """A transaction that sees this organization's rows only (row-level security); commits at the end."""
        async with self._connection(org_id) as connection:
            # Both settings last as long as the transaction, so that a transaction pooler carries nothing over.
            await connection.execute(
                "SELECT set_config('app.org_id', %s, true), set_config('statement_timeout', %s, true)",
                [org_id, str(int(self._timeout_seconds * 1000))],
            )
            yield connection

    @asynccontextmanager
    async def across_organizations(self) -> AsyncIterator[Connection]:
        """A transaction for the definer functions, which alone reach across; tables look empty in it."""
        async with self._connection(NO_ORGANIZATION) as connection:
            yield connection

    @asynccontextmanager
    async def single_statement(self) -> AsyncIterator[Connection]:
        """As ``across_organizations``, for one statement, which the server commits by itself: it saves two round
        trips. Notes of a commit are not passed on."""
        async with self._pooled(NO_ORGANIZATION) as connection:
            yield connection

    @asynccontextmanager
    async def _connection(self, party: str) -> AsyncIterator[Connection]:
        async with self._pooled(party) as connection:
            connection.notes = []
            async with connection.transaction():
                yield connection
            if connection.notes:
                for listener in self.commit_listeners:
                    listener(connection.notes)

    @asynccontextmanager
    async def _pooled(self, party: str) -> AsyncIterator[_TimedConnection]:
        place = nullcontext() if self._shares is None else self._shares.place(party)
        with _failures():
            async with place, self._pool.connection() as connection:
                yield connection


@contextmanager
def _failures() -> Iterator[None]:
    """Raises UnavailableError, ConflictError and ConstraintError for what psycopg raises."""
    try:
        yield
    except HeadgateError:
        raise
    except psycopg.errors.ReadOnlySqlTransaction as error:
        raise ConflictError(f"nothing can be changed here: {error.diag.message_primary}") from error
    except psycopg.errors.IntegrityError as error:
        constraint = error.diag.constraint_name or "unknown"
        raise ConstraintError(f"a row breaks {constraint}", details={"constraint": constraint}) from error
    except psycopg.errors.DiskFull as error:
        raise UnavailableError(
            "the database's disk is full: nothing was changed; make room on the disk that holds its data",
            retry_after_seconds=1,
        ) from error
    except (psycopg.Error, PoolTimeout) as error:
        raise UnavailableError(
            "the database is out of reach or too slow: nothing was changed; try again", retry_after_seconds=1
        ) from error
