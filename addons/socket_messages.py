"""The messages of one WebSocket: each that the client sends is decided and recorded as a call of its own before it is
forwarded, and each that the server sends is inspected where policies look at answers.

``proxy.websocket`` moves the bytes; this decides. Every way to ``Admitted`` is the one of ordinary calls.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from addons.identify import subject_of
from addons.metrics import ALLOWED, ANSWERS_INSPECTED, APPROVED
from addons.shown_answer import ShownAnswer
from headgate.agents.own_limits import own_quota
from headgate.connections.echoes import EchoMask
from headgate.gate.admit_call import CallGate
from headgate.gate.admitted import Admitted
from headgate.gate.caller import Caller
from headgate.gate.candidate import BoundCandidate, Candidate, ReadAction, Submission, candidate_for
from headgate.gate.finish_execution import ExecutionEnds, ExecutionOutcome
from headgate.gate.held_call import HeldCall
from headgate.gate.inspect_answer import INSPECTION_FAILED, answer_judge
from headgate.gate.judged_answer import Answer
from headgate.gate.organization_state import OrganizationState
from headgate.gate.refusals import ClientGoneError, withheld_error
from headgate.kernel.clock import Clock
from headgate.kernel.errors import AmbiguousRequestError
from headgate.nlp_policies.evaluate import Evaluator
from headgate.protocols.answer_head import AnswerHead, parse_answer_head
from headgate.protocols.draft import ReadCall
from headgate.protocols.http_call import HttpCall
from headgate.protocols.websocket import message_draft
from headgate.ratelimits.classes import RateClass
from headgate.ratelimits.headers import require_allowed
from headgate.ratelimits.local import LocalLimiter

MESSAGE_BYTES_MAX: Final = 1 << 20
_SWITCHING_PROTOCOLS: Final = 101
_NOT_SENT: Final = "not forwarded: the connection ended before the message was sent"
_HEADS: Final = {
    True: parse_answer_head(200, [(b"content-type", b"text/plain; charset=utf-8")], method="GET"),
    False: parse_answer_head(200, [(b"content-type", b"application/octet-stream")], method="GET"),
}

type Bind = Callable[[OrganizationState, Candidate], BoundCandidate]
"""The enforcement point's own rules, as for the handshake."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """A message is small enough to be kept while it waits."""

    candidate: Candidate

    async def read(self) -> Candidate:
        return self.candidate

    def drop(self) -> None:
        """Nothing is dropped."""

    async def read_with_body(self, call: HttpCall, body: bytes) -> Candidate:
        """Messages are not masked, but held."""
        raise AmbiguousRequestError("a message of a WebSocket cannot be masked")

    def charge_masked(self, size: int) -> None:
        """There is no masked copy."""


class SocketMessages:
    """``handshake``: the call that opened the socket; ``action``: as it was decided; ``action_id``: as it is recorded.
    ``echoes``: of the credential that the handshake carried."""

    def __init__(
        self,
        *,
        gate: CallGate,
        ends: ExecutionEnds,
        evaluator: Evaluator,
        limiter: LocalLimiter | None,
        clock: Clock,
        caller: Caller,
        address: str,
        handshake: ReadCall,
        action: ReadAction,
        action_id: str,
        bind: Bind,
        shown: ShownAnswer | None,
    ) -> None:
        self._gate = gate
        self._ends = ends
        self._evaluator = evaluator
        self._limiter = limiter
        self._clock = clock
        self._caller = caller
        self._submission = Submission(address=address)
        self._handshake = handshake
        self._action = action
        self._action_id = action_id
        self._bind = bind
        self._shown = shown
        self.echoes: EchoMask | None = None
        self._waiting: set[HeldCall] = set()
        self.connected = True
        if shown is not None:
            shown.begin(_HEADS[True])

    def leave(self) -> None:
        """The client has gone: nobody waits any more."""
        self.connected = False
        for held in self._waiting:
            held.waiter.wake()

    async def decide(self, content: bytes, *, is_text: bool) -> Admitted:
        """Raises HeadgateError."""
        identity = self._caller.identity
        if self._limiter is not None:
            require_allowed(self._limiter.check(RateClass.PROXY, subject_of(self._caller), own_quota(identity)))
        draft = message_draft(self._handshake, content, is_text=is_text)
        reading = _Reading(candidate_for(identity, draft, self._submission))
        held = HeldCall(self)
        self._waiting.add(held)
        try:
            admitted = await self._gate.admit(self._caller, reading, held, self._bind)
        finally:
            self._waiting.discard(held)
        (ALLOWED if admitted.approval_id is None else APPROVED).inc()
        if held.approval_id is not None and not self.connected:
            self.not_sent(admitted)
            raise ClientGoneError("the client has gone")
        return admitted

    def sent(self, admitted: Admitted, size_bytes: int) -> None:
        self._ends.finish(admitted, ExecutionOutcome(True, self._clock(), result={"size_bytes": size_bytes}))

    def not_sent(self, admitted: Admitted) -> None:
        self._ends.finish(admitted, ExecutionOutcome(False, self._clock(), error=_NOT_SENT, nothing_sent=True))

    def received(self, content: bytes) -> bytes:
        """What the client may see of a message of the server; the memory of what its agent was shown reads along."""
        if self.echoes is not None:
            content = self.echoes.mask(content)
        if self._shown is not None:
            self._shown.feed(content + b"\n")
        return content

    @property
    def inspects(self) -> bool:
        """Whether policies look at what the server sends, as of now."""
        state = self._state
        return state is None or answer_judge(self._evaluator, state, self._action) is not None

    async def inspect(self, content: bytes, *, is_text: bool) -> None:
        """Raises ResponseWithheldError, and what ends the inspection otherwise."""
        state = self._state
        judge = None if state is None else answer_judge(self._evaluator, state, self._action)
        if judge is None:
            if state is None:
                raise withheld_error(
                    INSPECTION_FAILED, action_id=self._action_id, status=_SWITCHING_PROTOCOLS, policies=[]
                )
            return
        head: AnswerHead = _HEADS[is_text]
        verdicts = await judge.of_answer(Answer(head, content), max_bytes=MESSAGE_BYTES_MAX)
        ANSWERS_INSPECTED.labels("forwarded" if verdicts.withheld is None else "withheld").inc()
        if verdicts.withheld is not None:
            raise withheld_error(
                verdicts.withheld,
                action_id=self._action_id,
                status=_SWITCHING_PROTOCOLS,
                policies=verdicts.details(),
            )

    @property
    def _state(self) -> OrganizationState | None:
        return self._gate.callers.states.current(self._caller.identity.org_id)
