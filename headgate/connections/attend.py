"""By the clock: credentials are replaced before they expire, and connections are looked at whether they work."""

import asyncio
from typing import Final

import structlog

from headgate.connections.check import CheckConnection
from headgate.connections.flow_store import forget_flows
from headgate.connections.refresh import RefreshConnection, is_due
from headgate.connections.store import connections_due, get_connection
from headgate.db import database
from headgate.kernel.clock import Clock
from headgate.kernel.errors import HeadgateError

_log = structlog.get_logger(__name__)

_AT_ONCE: Final = 8
_A_ROUND: Final = 64


class AttendConnections:
    """Of one worker. Any number may run: a credential is replaced by one, and looking twice harms nobody."""

    def __init__(
        self, db: database.Database, refreshes: RefreshConnection, checks: CheckConnection, clock: Clock
    ) -> None:
        self._database = db
        self._refreshes = refreshes
        self._checks = checks
        self._clock = clock
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def run(self) -> int:
        """How many were attended to. One platform that hangs takes one place, for its deadline."""
        async with self._database.single_statement() as db:
            due = await connections_due(db, self._clock(), _A_ROUND)
        await asyncio.gather(*(self._attend(org_id, connection_id) for org_id, connection_id in due))
        return len(due)

    async def forget(self) -> int:
        async with self._database.across_organizations() as db:
            return await forget_flows(db, self._clock())

    async def _attend(self, org_id: str, connection_id: str) -> None:
        async with self._places:
            try:
                async with self._database.transaction(org_id) as db:
                    connection = await get_connection(db, org_id, connection_id)
                now = self._clock()
                if is_due(connection.refresh_at, now):
                    seen = connection.secret_version
                    await self._refreshes.refresh(org_id, connection_id, seen_version=seen)
                elif is_due(connection.check_at, now):
                    await self._checks.check(org_id, connection_id)
            except HeadgateError as error:
                _log.warning("connection_not_attended", connection_id=connection_id, error=error.message)
