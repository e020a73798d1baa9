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
        self._sessions: OrderedDict[tuple[str, str], Session] = OrderedDict()

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
        now, session = self._clock(), self._sessions.get((org_id, agent_id))
        if session is None or now - session.last_at > PAUSE_SECONDS:
            return empty_summary(now, host)
        return session.summary(now, host)

    def _add(self, org_id: str, agent_id: str, call: SessionCall) -> None:
        key = (org_id, agent_id)
        session = self._sessions.get(key)
        if session is None or call.at - session.last_at > PAUSE_SECONDS:
            self._sessions[key] = session = Session(call.at)
        self._sessions.move_to_end(key)
        session.add(call)
        if len(self._sessions) > SESSIONS_MAX:
            self._sessions.popitem(last=False)
