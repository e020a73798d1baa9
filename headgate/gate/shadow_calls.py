"""Evaluates shadow policies for calls that are decided and recorded.

A recorded call enters a queue if its organization has a shadow policy. One thread evaluates, and results are written
twice a second; no request waits. A full queue drops and counts calls. A killed process loses up to a second of results.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

import structlog

from headgate.audit.model import SYSTEM, payload_text
from headgate.db.database import Database
from headgate.gate.organization_state import OrganizationStates
from headgate.gate.pipeline import Decided
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import HeadgateError, UnavailableError
from headgate.policies.model import Decision
from headgate.policies.shadow import ShadowSet, ShadowVerdict
from headgate.policies.shadow_store import ShadowCount, ShadowEvent, record_shadow

_log = structlog.get_logger(__name__)

_QUEUED_MAX: Final = 5_000
_QUEUED_MAX_BYTES: Final = 32 << 20
_ASKED_AT_ONCE: Final = 64
_EVENTS_MAX: Final = 5_000
_WRITE_SECONDS: Final = 0.5

NOTHING: Final = "none"

type ShadowObserver = Callable[[str, str], None]
"""Receives each shadow verdict with the decision; ``dropped`` twice for a dropped call."""


class _Call(NamedTuple):
    shadows: ShadowSet
    org_id: str
    action_id: str
    agent_id: str
    rego_input: bytes
    key: tuple[str, str, str | None, str | None]
    decision: Decision
    at: datetime


class ShadowCalls:
    """The queue of one process."""

    def __init__(
        self,
        states: OrganizationStates,
        database: Database,
        *,
        observe: ShadowObserver = lambda said, decided: None,
    ) -> None:
        self._states = states
        self._database = database
        self._observe = observe
        self._queue: deque[_Call] = deque()
        self._queued_bytes = 0
        self._wake = asyncio.Event()
        self._counts: dict[tuple[str, str, int, str, str, str], tuple[int, datetime]] = {}
        self._events: list[ShadowEvent] = []

    def recorded(self, decided: Decided, action_id: str, at: datetime) -> None:
        """After the record of a decision. Without shadow policies: one look-up, and nothing else."""
        candidate = decided.candidate
        state = self._states.current(decided.identity.org_id)
        if state is None or state.shadows is None:
            return
        size = len(candidate.rego_input)
        if len(self._queue) >= _QUEUED_MAX or self._queued_bytes + size > _QUEUED_MAX_BYTES:
            self._observe("dropped", "dropped")
            return
        self._queued_bytes += size
        draft = candidate.draft
        http = (None, None) if draft.call is None else (draft.call.host, draft.call.method)
        self._queue.append(
            _Call(
                state.shadows,
                decided.identity.org_id,
                action_id,
                candidate.agent_id,
                candidate.rego_input,
                (draft.tool, draft.operation, *http),
                decided.decision,
                at,
            )
        )
        self._wake.set()

    async def keep_asking(self) -> None:
        """For ever: ask about what is queued, and write what was said."""
        loop = asyncio.get_running_loop()
        write_at = loop.time() + _WRITE_SECONDS
        while True:
            try:
                async with asyncio.timeout_at(write_at):
                    await self._wake.wait()
                await self._ask_some()
            except TimeoutError:
                pass
            if loop.time() >= write_at:
                await self._write()
                write_at = loop.time() + _WRITE_SECONDS

    async def close(self) -> None:
        """Ask about what is queued and write it, if the database lets us."""
        while self._queue:
            await self._ask_some()
        await self._write()

    async def _ask_some(self) -> None:
        calls = [self._queue.popleft() for _ in range(min(_ASKED_AT_ONCE, len(self._queue)))]
        if not self._queue:
            self._wake.clear()
        self._queued_bytes -= sum(len(call.rego_input) for call in calls)
        for call, verdicts in await asyncio.to_thread(_ask, calls):
            self._keep(call, verdicts)

    def _keep(self, call: _Call, verdicts: list[ShadowVerdict]) -> None:
        decided = call.decision.verdict.value
        policies: list[JsonValue] = []
        for verdict in verdicts:
            said = NOTHING if verdict.said is None or verdict.said.verdict is None else verdict.said.verdict.value
            key = (call.org_id, verdict.policy_id, verdict.version, said, decided, verdict.would.value)
            calls, first_at = self._counts.get(key, (0, call.at))
            self._counts[key] = (calls + 1, first_at)
            self._observe(said, decided)
            if verdict.said is not None:
                policies.append({**verdict.said.record(), "would": verdict.would.value})
        if policies and len(self._events) < _EVENTS_MAX:
            data: JsonObject = {"decision": decided, "policies": policies}
            payload = payload_text(SYSTEM, data)
            self._events.append(ShadowEvent(call.org_id, call.action_id, call.agent_id, call.at, payload))

    async def _write(self) -> None:
        if not self._counts and not self._events:
            return
        counts = [ShadowCount(*key, calls, at) for key, (calls, at) in self._counts.items()]
        events, written = list(self._events), dict(self._counts)
        try:
            async with self._database.across_organizations() as connection:
                await record_shadow(connection, counts, events)
        except UnavailableError:
            _log.warning("shadow_verdicts_not_written", counts=len(counts), events=len(events))
            return  # kept for the next time, up to a bound
        except HeadgateError as error:
            # Writing the same again would fail again, and for ever.
            _log.error("shadow_verdicts_lost", counts=len(counts), events=len(events), error=error.message)
        del self._events[: len(events)]
        for key, (calls, _) in written.items():
            left, at = self._counts[key]
            if left == calls:
                del self._counts[key]
            else:
                self._counts[key] = (left - calls, at)


def _ask(calls: list[_Call]) -> list[tuple[_Call, list[ShadowVerdict]]]:
    """In the one thread that asks: the engine lets go of the interpreter's lock."""
    answers = []
    for call in calls:
        tool, operation, host, method = call.key
        answers.append(
            (
                call,
                call.shadows.ask(
                    call.decision,
                    call.rego_input,
                    tool=tool,
                    operation=operation,
                    host=host,
                    method=method,
                ),
            )
        )
    return answers
