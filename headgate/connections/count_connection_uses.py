"""How often each connection was used, by which agent: counted in memory, written every few seconds.

That a call used it is in the record of that call already, before it was sent; this is for people who look at numbers.
"""

import asyncio
from contextlib import suppress
from typing import Final, NamedTuple

import structlog
from msgspec import Struct

from headgate.connections.model import Connection
from headgate.connections.use_store import UseCount, count_uses
from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnavailableError

_log = structlog.get_logger(__name__)

_PERIOD_SECONDS: Final = 2.0
_MOST: Final = 10_000


class _Subject(NamedTuple):
    org_id: str
    connection_id: str
    agent_id: str


class _Count(Struct):
    uses: int = 0
    rejected: int = 0


class ConnectionUses:
    """Of this process since they were last written."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._counts: dict[_Subject, _Count] = {}

    def used(self, connection: Connection, agent_id: str) -> None:
        if (count := self._count(connection, agent_id)) is not None:
            count.uses += 1

    def rejected(self, connection: Connection, agent_id: str) -> None:
        """The platform answered 401 (RFC 9110, section 15.5.2): the worker looks whether the connection works."""
        if (count := self._count(connection, agent_id)) is not None:
            count.rejected += 1

    def _count(self, connection: Connection, agent_id: str) -> _Count | None:
        subject = _Subject(connection.org_id, connection.connection_id, agent_id)
        count = self._counts.get(subject)
        if count is None and len(self._counts) < _MOST:
            count = self._counts[subject] = _Count()
        return count

    async def write(self) -> None:
        """Kept and added to where the database is away. Raises UnavailableError."""
        counts, self._counts = self._counts, {}
        if not counts:
            return
        rows = [UseCount(*subject, count.uses, count.rejected) for subject, count in counts.items()]
        try:
            async with self._database.across_organizations() as connection:
                await count_uses(connection, rows, self._clock())
        except UnavailableError:
            for subject, count in counts.items():
                into = self._counts.setdefault(subject, _Count())
                into.uses += count.uses
                into.rejected += count.rejected
            raise

    async def keep_writing(self) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(_PERIOD_SECONDS)
            try:
                await self.write()
            except UnavailableError:
                _log.warning("connection_uses_not_written", connections=len(self._counts))

    async def close(self) -> None:
        with suppress(UnavailableError):
            await self.write()
