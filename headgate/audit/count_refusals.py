"""Calls with an identity that were refused before they were actions: one event a minute, agent and cause.

A looping agent must not be able to fill the record (semantics.md, "Recording"): the event counts all, and names the
first few calls. What was refused without an identity is a metric and a log line only.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

import structlog

from headgate.audit.model import Actor, ActorType, payload_text
from headgate.audit.store import record_refusals
from headgate.db.database import Database
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnavailableError

_log = structlog.get_logger(__name__)

CERTIFICATE_REFUSED: Final = "CERTIFICATE_REFUSED"
"""Stands in place of an error code: the client refused the gate's certificate, and the gate sent no answer."""

_PERIOD_SECONDS: Final = 60.0
_MOST_CAUSES: Final = 10_000
CALLS_MAX: Final = 20
"""Named in the events of one agent and minute."""
LOOKED_AT_MAX: Final = 50
"""Refused calls of one agent and minute that are looked at: the same one again costs as much as another."""
ALL_CALLS_MAX: Final = 2_000
"""Named in the events of one minute, of all agents of this process."""


class RefusedRequest(NamedTuple):
    """What is counted together: nothing of the request itself, which could make each one a cause of its own."""

    org_id: str
    agent_id: str
    agent_name: str | None
    code: str


class RefusedCall(NamedTuple):
    """One call, short and masked. ``path`` None: the request was for a tunnel. ``query``: the names in it."""

    method: str
    host: str
    port: int
    path: str | None
    query: tuple[str, ...]
    reason: str

    def shown(self) -> JsonObject:
        query: list[JsonValue] = list(self.query)
        call: JsonObject = {"method": self.method, "host": self.host, "port": self.port, "reason": self.reason}
        if self.path is not None:
            call["path"] = self.path
        if query:
            call["query"] = query
        return call


class RefusalCounts:
    """The refusals of this process since they were last written."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._counts: Counter[RefusedRequest] = Counter()
        self._calls: dict[RefusedRequest, dict[RefusedCall, None]] = {}
        self._looked_at: Counter[tuple[str, str]] = Counter()
        self._named: Counter[tuple[str, str]] = Counter()
        self._all_named = 0

    def add(self, refused: RefusedRequest, call: Callable[[], RefusedCall]) -> None:
        """``call`` is asked only where the call may be named."""
        if refused not in self._counts and len(self._counts) >= _MOST_CAUSES:
            return
        self._counts[refused] += 1
        agent = (refused.org_id, refused.agent_id)
        if (
            self._looked_at[agent] >= LOOKED_AT_MAX
            or self._named[agent] >= CALLS_MAX
            or self._all_named >= ALL_CALLS_MAX
        ):
            return
        self._looked_at[agent] += 1
        calls, found = self._calls.setdefault(refused, {}), call()
        if found not in calls:
            calls[found] = None
            self._named[agent] += 1
            self._all_named += 1

    async def write(self) -> None:
        """Write what was counted; kept and added to where the database is away. Raises UnavailableError."""
        counts, self._counts = self._counts, Counter()
        calls, self._calls = self._calls, {}
        looked_at, self._looked_at = self._looked_at, Counter()
        named, self._named, self._all_named = self._named, Counter(), 0
        if not counts:
            return
        refusals = [
            (
                refused.org_id,
                refused.agent_id,
                payload_text(
                    Actor(ActorType.AGENT, refused.agent_id, refused.agent_name),
                    _data(refused, count, calls.get(refused, {})),
                ),
            )
            for refused, count in counts.items()
        ]
        try:
            async with self._database.across_organizations() as connection:
                await record_refusals(connection, refusals, self._clock())
        except UnavailableError:
            self._counts.update(counts)
            for refused, found in self._calls.items():
                calls.setdefault(refused, {}).update(found)
            self._calls = calls
            self._looked_at.update(looked_at)
            self._named.update(named)
            self._all_named = self._named.total()
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


def _data(refused: RefusedRequest, count: int, calls: dict[RefusedCall, None]) -> JsonObject:
    named: list[JsonValue] = [call.shown() for call in calls]
    return {"code": refused.code, "count": count, "seconds": int(_PERIOD_SECONDS), "calls": named}
