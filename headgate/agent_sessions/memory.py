"""The sessions of the agents of one process, told to the others as they grow."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from headgate.agent_sessions.model import PAUSE_SECONDS, Session, SessionCall, empty_summary
from headgate.kernel.canonical_json import JsonObject, JsonValue

STREAM: Final = "headgate.sessions"
SESSIONS_MAX: Final = 10_000


class SessionMemory:
    """``share`` is told each call, as a row that ``absorb`` of another process takes. ``clock``: seconds since the
    epoch."""

    def __init__(
        self, *, share: Callable[[JsonValue], None] = lambda row: None, clock: Callable[[], float] = time.time
    ) -> None:
        self._share = share
        self._clock = clock
        self._sessions: dict[str, OrderedDict[str, Session]] = {}
        self._count = 0

    def note(self, org_id: str, agent_id: str, call: SessionCall) -> None:
        """A call has been decided here."""
        self._add(org_id, agent_id, call)
        detectors: list[JsonValue] = list(call.detectors)
        what: list[JsonValue] = [call.tool, call.operation, call.effect, call.host, call.decision, call.bytes_out]
        self._share([org_id, agent_id, call.at, *what, detectors])

    def absorb(self, row: Any) -> None:
        """A call that another process has told. Raises ValueError, TypeError."""
        org_id, agent_id, at, tool, operation, effect, host, decision, bytes_out, detectors = row
        call = SessionCall(float(at), tool, operation, effect, host, decision, int(bytes_out), tuple(detectors))
        self._add(org_id, agent_id, call)

    def summary(self, org_id: str, agent_id: str, host: str | None) -> JsonObject:
        """``input.session`` of the next call, to ``host``."""
        now, sessions = self._clock(), self._sessions.get(org_id)
        session = None if sessions is None else sessions.get(agent_id)
        if session is None or now - session.last_at > PAUSE_SECONDS:
            return empty_summary(now, host)
        return session.summary(now, host)

    def _add(self, org_id: str, agent_id: str, call: SessionCall) -> None:
        sessions = self._sessions.setdefault(org_id, OrderedDict())
        session = sessions.get(agent_id)
        self._count += session is None
        if session is None or call.at - session.last_at > PAUSE_SECONDS:
            sessions[agent_id] = session = Session(call.at)
        sessions.move_to_end(agent_id)
        session.add(call)
        if self._count > SESSIONS_MAX:
            # No organization can make this process forget the sessions of a smaller one.
            largest = max(self._sessions, key=lambda one: len(self._sessions[one]))
            self._sessions[largest].popitem(last=False)
            self._count -= 1
            if not self._sessions[largest]:  # it would be the first of its equals, and lose its next session at once
                del self._sessions[largest]
