"""Calls with an identity that were refused before they were actions: one event a minute, agent and cause.

A looping agent must not be able to fill the record (semantics.md, "Recording"); what was refused without an
identity is a metric and a log line only.
"""

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Final, NamedTuple

import structlog

from headgate.audit.model import Actor, ActorType, payload_text
from headgate.audit.store import record_refusals
from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnavailableError

_log = structlog.get_logger(__name__)

_PERIOD_SECONDS: Final = 60.0
_MOST_CAUSES: Final = 10_000


class RefusedRequest(NamedTuple):
    """What is counted together: nothing of the request itself, which could make each one a cause of its own."""

    org_id: str
    agent_id: str
    agent_name: str | None
    code: str


class RefusalCounts:
    """The refusals of this process since they were last written."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._counts: Counter[RefusedRequest] = Counter()

    def add(self, refused: RefusedRequest) -> None:
        if refused in self._counts or len(self._counts) < _MOST_CAUSES:
            self._counts[refused] += 1

    async def write(self) -> None:
        """Write what was counted; kept and added to where the database is away. Raises UnavailableError."""
        counts, self._counts = self._counts, Counter()
        if not counts:
            return
        refusals = [
            (
                refused.org_id,
                refused.agent_id,
                payload_text(
                    Actor(ActorType.AGENT, refused.agent_id, refused.agent_name),
                    {"code": refused.code, "count": count, "seconds": int(_PERIOD_SECONDS)},
                ),
            )
            for refused, count in counts.items()
        ]
        try:
            async with self._database.across_organizations() as connection:
                await record_refusals(connection, refusals, self._clock())
        except UnavailableError:
            self._counts.update(counts)
            raise

    async def keep_writing(self) -> None:
        """Once a minute, for ever."""
        while True:
            await asyncio.sleep(_PERIOD_SECONDS)
            try:
                await self.write()
            except UnavailableError:
                _log.warning("refusals_not_written", causes=len(self._counts))

    async def close(self) -> None:
        """What was counted since the last minute."""
        with suppress(UnavailableError):
            await self.write()
