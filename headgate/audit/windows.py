"""Reads the record window by window, and requests the next one as soon as an answer has arrived.

An answer is read from the server whole. Python then makes rows of it while the server works on the next one, on the
same connection.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, cast

import psycopg
from psycopg.rows import TupleRow

from headgate.audit.chain_store import ask_window
from headgate.audit.window_check import WindowRow
from headgate.db.database import Connection

_ROWS_AT_ONCE: Final = 250
"""Made at a time: whoever takes the next answer from the server needs the interpreter in between."""


@dataclass(slots=True)
class Windows:
    connection: Connection
    org_id: str
    _asked: "asyncio.Future[psycopg.AsyncCursor[TupleRow]] | None" = field(default=None, init=False)

    def ask(self, first_seq: int, last_seq: int) -> None:
        """Once, before the first is taken."""
        self._asked = asyncio.ensure_future(ask_window(self.connection, self.org_id, first_seq, last_seq))

    async def take(self, following: tuple[int, int] | None) -> list[WindowRow]:
        """What was asked for; ``following`` is asked for next. Raises psycopg.Error."""
        asked, self._asked = self._asked, None
        if asked is None:
            return []
        cursor = await asked
        if following is not None:
            self.ask(*following)
        rows: list[WindowRow] = []
        async with cursor:
            while some := await cursor.fetchmany(_ROWS_AT_ONCE):
                rows += cast("list[WindowRow]", some)
                await asyncio.sleep(0)
        return rows

    async def end(self) -> None:
        """The connection is somebody else's again. Raises psycopg.Error."""
        if self._asked is not None:
            await (await self._asked).close()

    async def abandon(self) -> None:
        """The same where nobody uses the transaction any more: the server's work on it is cancelled."""
        asked = self._asked
        if asked is None:
            return
        asked.cancel()
        while not asked.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([asked])
        if not asked.cancelled():
            asked.exception()


@asynccontextmanager
async def windows(connection: Connection, org_id: str) -> AsyncIterator[Windows]:
    """Nothing is under way on the connection afterwards, whatever happens."""
    made = Windows(connection, org_id)
    try:
        yield made
    except BaseException:
        await made.abandon()
        raise
    await made.end()
