"""One connection that does one thing: call one prepared function, again and again, at the price of libpq.

Used where a statement is in the path of every request. One call at a time; the event loop reads the socket;
no thread, no pool, no parameter adaptation (measured: the usual way keeps a third of the
throughput). A call that misses its deadline costs the connection, which is made anew in the background;
until then calls fail at once, so that requests are refused quickly instead of queueing before a dead server.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

import psycopg
import structlog
from psycopg import pq
from psycopg.abc import PQGen

from headgate.db.arrays import Column
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.kernel.tasks import TaskSet

_log = structlog.get_logger(__name__)

_STATEMENT = b"call"
_FIRST_RETRY_SECONDS, _LAST_RETRY_SECONDS = 0.05, 1.0
_PREPARE_SECONDS = 10.0


# Classes of SQLSTATE (PostgreSQL, Appendix A) that say something of the server and its moment, not of the rows:
# connection, rollback after a deadlock, resources (a full disk), object in use, operator intervention, input/output.
_OF_THE_SERVER = (b"08", b"40", b"53", b"55", b"57", b"58")


class StatementRefusedError(UnavailableError):
    """The server answered with an error that is of these rows: they will not be taken the next time either."""


type Answered = Callable[[pq.abc.PGresult | UnavailableError], None]
"""Told the rows, StatementRefusedError, or UnavailableError (outcome unknown). A function and not a future: each
future costs a round of the event loop, in the path of every request."""


class PreparedCall:
    """``SELECT function($1, …)`` with binary parameters and binary results."""

    def __init__(self, dsn: Secret, sql: str, parameter_types: Sequence[int], *, deadline_seconds: float) -> None:
        self._dsn = dsn
        self._sql = sql.encode()
        self._parameter_types = list(parameter_types)
        self._formats = [pq.Format.BINARY] * len(parameter_types)
        self._deadline_seconds = deadline_seconds
        self._connection: psycopg.AsyncConnection[tuple[object, ...]] | None = None
        self._socket = -1
        self._answered: Answered | None = None
        self._result: pq.abc.PGresult | None = None
        self._due = 0.0
        self._look: asyncio.TimerHandle | None = None
        self._writing = False
        self._tasks = TaskSet(self._reconnecting_failed)
        self._closed = False
        self.opened = False
        """Whether ``open`` has ended once, or nobody waits for it any more. A call that is rarely made is opened when
        it is needed (``group_commit``): an idle connection takes 1.5 MB of the server."""

    @property
    def connected(self) -> bool:
        return self._connection is not None

    async def open(self) -> None:
        """Connect and prepare. Raises UnavailableError. If it fails or the caller is cancelled, connecting goes on
        meanwhile."""
        try:
            await self._connect()
        except BaseException:
            self._reconnect()
            raise
        finally:
            self.opened = True

    async def close(self) -> None:
        self._closed = True
        await self._tasks.close()
        self._drop(UnavailableError("the process is stopping"))
        if self._look is not None:
            self._look.cancel()

    def call(self, parameters: Sequence[bytes], answered: Answered) -> None:
        """Send; ``answered`` is called once, never before this returns.

        At most one call is under way; calling before it has answered is a mistake of the caller.
        """
        loop = asyncio.get_running_loop()
        if self._connection is None:
            error = UnavailableError(
                "the record cannot be written now: the database is out of reach; nothing was forwarded",
                retry_after_seconds=1,
            )
            loop.call_soon(answered, error)
            return
        if self._answered is not None:
            raise RuntimeError("one call at a time")
        self._answered = answered
        self._due = loop.time() + self._deadline_seconds
        if self._look is None:
            self._look = loop.call_at(self._due, self._look_at_deadline)
        try:
            self._connection.pgconn.send_query_prepared(_STATEMENT, parameters, self._formats, pq.Format.BINARY)
            self._write()
        except psycopg.Error as error:
            self._lost(error)

    def _write(self) -> None:
        """Push what libpq could not hand to the socket in one go; large batches need the socket twice."""
        if self._connection is None:
            return
        loop = asyncio.get_running_loop()
        try:
            unsent = self._connection.pgconn.flush()
        except psycopg.Error as error:
            self._lost(error)
            return
        if unsent:
            loop.add_writer(self._socket, self._write)
            self._writing = True
        elif self._writing:
            loop.remove_writer(self._socket)
            self._writing = False

    def _read(self) -> None:
        if self._connection is None:
            return
        pgconn = self._connection.pgconn
        try:
            pgconn.consume_input()
            if self._answered is None or not self._has_ended(pgconn):
                return
        except psycopg.Error as error:
            self._lost(error)
            return
        result, self._result = self._result, None
        if result is not None and result.status != pq.ExecStatus.TUPLES_OK and _is_of_the_server(result):
            self._lost(psycopg.OperationalError(result.error_message.decode(errors="replace").strip()))
            return
        if result is None:
            self._lost(psycopg.OperationalError("the server answered nothing"))
        elif result.status == pq.ExecStatus.TUPLES_OK:
            self._answer(result)
        else:
            message = result.error_message.decode(errors="replace").strip()
            _log.error("record_statement_refused", error=message)
            self._answer(StatementRefusedError("the database refused to write the record"))

    def _has_ended(self, pgconn: pq.abc.PGconn) -> bool:
        """Whether the transaction has. The rows are sent before the commit, and after them what kept it from being one:
        PostgreSQL commits at the Sync that follows the Execute (its manual, 54.2.3)."""
        while not pgconn.is_busy():
            result = pgconn.get_result()
            if result is None:
                return True
            if self._result is None or result.status != pq.ExecStatus.TUPLES_OK:
                self._result = result
        return False

    def _answer(self, answer: pq.abc.PGresult | UnavailableError) -> None:
        answered, self._answered = self._answered, None
        if answered is not None:
            answered(answer)

    def _look_at_deadline(self) -> None:
        """One timer for many calls: it is set again for the call that is under way when it fires. A timer for each,
        cancelled with its answer, stays in the event loop's heap and is sorted with the others."""
        self._look = None
        if self._answered is None:
            return
        loop = asyncio.get_running_loop()
        if loop.time() < self._due:
            self._look = loop.call_at(self._due, self._look_at_deadline)
            return
        _log.error("record_deadline_missed", deadline_seconds=self._deadline_seconds)
        self._lost(TimeoutError())

    def _lost(self, cause: BaseException) -> None:
        error = UnavailableError(
            "the record could not be written in time: nothing was forwarded", retry_after_seconds=1
        )
        error.__cause__ = cause
        _log.warning("record_connection_lost", error=str(cause).strip() or type(cause).__name__)
        self._drop(error)
        if not self._closed:
            self._reconnect()

    def _drop(self, error: UnavailableError) -> None:
        connection, self._connection = self._connection, None
        self._result = None
        if connection is not None:
            self._stop_watching()
            connection.pgconn.finish()
        if self._answered is not None:
            answered, self._answered = self._answered, None
            asyncio.get_running_loop().call_soon(answered, error)

    def _stop_watching(self) -> None:
        """By the number kept: libpq has closed the socket of a connection that broke, and tells it no more. One left
        behind in the loop would be the next connection's, an agent's perhaps, which then is never heard."""
        loop = asyncio.get_running_loop()
        with suppress(OSError):  # a closed socket cannot be changed, which forgets it too
            loop.remove_writer(self._socket)
        self._writing = False
        loop.remove_reader(self._socket)

    async def _connect(self) -> None:
        try:
            connection = await psycopg.AsyncConnection.connect(self._dsn.reveal(), autocommit=True, connect_timeout=2)
        except psycopg.Error as error:
            raise UnavailableError("the database is out of reach") from error
        try:
            async with asyncio.timeout(_PREPARE_SECONDS):
                await connection.wait(self._prepare(connection.pgconn))
        except TimeoutError as error:
            connection.pgconn.finish()
            raise UnavailableError("the database does not answer") from error
        except psycopg.Error as error:
            await connection.close()
            raise UnavailableError(f"the database is not ready for this version: {str(error).strip()}") from error
        except BaseException:
            connection.pgconn.finish()  # the process stops while this connects
            raise
        if self._closed:
            connection.pgconn.finish()
            raise UnavailableError("the process is stopping")
        self._socket = connection.pgconn.socket
        asyncio.get_running_loop().add_reader(self._socket, self._read)
        self._connection = connection

    def _prepare(self, pgconn: pq.abc.PGconn) -> PQGen[None]:
        from psycopg.generators import execute  # noqa: PLC0415 - its import picks the C or Python implementation

        pgconn.send_prepare(_STATEMENT, self._sql, self._parameter_types)
        results = yield from execute(pgconn)
        if results[-1].status != pq.ExecStatus.COMMAND_OK:
            raise psycopg.OperationalError(results[-1].error_message.decode(errors="replace"))

    def _reconnect(self) -> None:
        if not self._closed:
            self._tasks.start(self._reconnect_until_connected(), name="record.reconnect")

    async def _reconnect_until_connected(self) -> None:
        pause = _FIRST_RETRY_SECONDS
        while self._connection is None and not self._closed:
            try:
                await self._connect()
                _log.info("record_connection_restored")
            except UnavailableError:
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LAST_RETRY_SECONDS)

    @staticmethod
    def _reconnecting_failed(name: str, error: BaseException) -> None:
        _log.error("record_reconnect_failed", task=name, error=repr(error))


def batch_call(dsn: Secret, function: str, columns: Sequence[Column], *, deadline_seconds: float) -> PreparedCall:
    """A call of a function that takes an array for each column."""
    parameters = ", ".join(f"${position}" for position in range(1, len(columns) + 1))
    types = [column.array_type for column in columns]
    return PreparedCall(dsn, f"SELECT {function}({parameters})", types, deadline_seconds=deadline_seconds)


def _is_of_the_server(result: pq.abc.PGresult) -> bool:
    """Whether the same rows may be taken later: the call counts as lost, and the connection is made anew."""
    return (result.error_field(pq.DiagnosticField.SQLSTATE) or b"")[:2] in _OF_THE_SERVER
