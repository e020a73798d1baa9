"""The messages that a client sends after its call was allowed: each is decided and recorded as a call of its own before
it is forwarded. ``Admitted`` comes from the gate of ordinary calls only.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from addons.identify import subject_of
from addons.metrics import ALLOWED, APPROVED
from headgate.agents.own_limits import own_quota
from headgate.connections.errors import NoConnectionError
from headgate.connections.model import Connection
from headgate.gate.admit_call import CallGate, Reading
from headgate.gate.admitted import Admitted
from headgate.gate.caller import Caller
from headgate.gate.candidate import BoundCandidate, Candidate
from headgate.gate.finish_execution import ExecutionEnds, ExecutionOutcome
from headgate.gate.held_call import HeldCall
from headgate.gate.organization_state import OrganizationState
from headgate.gate.refusals import ClientGoneError
from headgate.kernel.clock import Clock
from headgate.nlp_policies.message_window import MessageWindow
from headgate.ratelimits.classes import RateClass
from headgate.ratelimits.headers import require_allowed
from headgate.ratelimits.local import LocalLimiter

_NOT_SENT: Final = "not forwarded: the connection ended before the message was sent"

type Bind = Callable[[OrganizationState, Candidate], BoundCandidate]
"""The enforcement point's own rules, as for the call."""


class MessageGate(Struct, frozen=True):
    """What decides and records the messages of one call."""

    gate: CallGate
    ends: ExecutionEnds
    limiter: LocalLimiter | None
    clock: Clock
    caller: Caller
    bind: Bind


class AdmittedMessage(Struct, frozen=True):
    """``content``: what is sent; not what the client sent, where a policy masks."""

    admitted: Admitted
    content: bytes


class ClientMessages:
    """The later messages of one call, until its client leaves. Each held one has this as its client. ``connection``:
    whose credential the head of the call carries; each message needs the same one. ``window``: what the client has sent
    so far."""

    def __init__(self, message_gate: MessageGate, connection: Connection | None, window: MessageWindow) -> None:
        self._message_gate = message_gate
        self._covered = _covered(connection)
        self._window = window
        self._waiting: set[HeldCall] = set()
        self.connected = True

    @property
    def caller(self) -> Caller:
        return self._message_gate.caller

    def leave(self) -> None:
        """The client has gone: nobody waits any more."""
        self.connected = False
        for held in self._waiting:
            held.waiter.wake()

    def count_as_call(self) -> None:
        """Counts a message against the agent's quota. Raises RateLimitedError."""
        limiter = self._message_gate.limiter
        if limiter is not None:
            quota = own_quota(self.caller.identity)
            require_allowed(limiter.check(RateClass.PROXY, subject_of(self.caller), quota))

    async def admit(self, reading: Reading, held: HeldCall, content: bytes) -> AdmittedMessage:
        """``content``: as the client sent it. Raises HeadgateError."""
        message_gate = self._message_gate
        self._waiting.add(held)
        try:
            admitted = await message_gate.gate.admit(message_gate.caller, reading, held, message_gate.bind)
        finally:
            self._waiting.discard(held)
        (ALLOWED if admitted.approval_id is None else APPROVED).inc()
        if held.approval_id is not None and not self.connected:
            self.not_sent(admitted)
            raise ClientGoneError("the client has gone")
        if _covered(held.connection) != self._covered:
            self.not_sent(admitted)
            raise NoConnectionError("the connection of this call has changed: begin a new call or WebSocket")
        return AdmittedMessage(admitted, held.masking.sent(content))

    def sent(self, admitted: Admitted, size_bytes: int) -> None:
        self._finish(admitted, ExecutionOutcome(True, self._message_gate.clock(), result={"size_bytes": size_bytes}))

    def not_sent(self, admitted: Admitted) -> None:
        now = self._message_gate.clock()
        self._finish(admitted, ExecutionOutcome(False, now, error=_NOT_SENT, nothing_sent=True))

    def _finish(self, admitted: Admitted, outcome: ExecutionOutcome) -> None:
        self._message_gate.ends.finish(admitted, outcome)


def _covered(connection: Connection | None) -> str | None:
    return None if connection is None else connection.covered
