"""The messages of one WebSocket: each that the client sends is decided and recorded as a call of its own before it is
forwarded, and each that the server sends is inspected where policies look at answers.

``proxy.websocket`` moves the bytes; this decides.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from addons.client_messages import AdmittedMessage, ClientMessages, MessageGate
from addons.metrics import ANSWERS_INSPECTED
from addons.shown_answer import ShownAnswer
from headgate.connections.echoes import EchoMask
from headgate.connections.model import Connection
from headgate.gate.candidate import Candidate, ReadAction, Submission, candidate_for
from headgate.gate.held_call import HeldCall
from headgate.gate.inspect_answer import INSPECTION_FAILED, answer_judge
from headgate.gate.judged_answer import Answer
from headgate.gate.masked_call import Charge
from headgate.gate.organization_state import OrganizationState
from headgate.gate.refusals import withheld_error
from headgate.kernel.errors import AmbiguousRequestError
from headgate.nlp_policies.evaluate import Evaluator
from headgate.nlp_policies.message_window import ArrivedMessages, MessageWindow
from headgate.protocols.answer_head import parse_answer_head
from headgate.protocols.draft import ReadCall
from headgate.protocols.http_call import HttpCall
from headgate.protocols.websocket import message_draft

MESSAGE_BYTES_MAX: Final = 1 << 20
_SWITCHING_PROTOCOLS: Final = 101
_HEADS: Final = {
    True: parse_answer_head(200, [(b"content-type", b"text/plain; charset=utf-8")], method="GET"),
    False: parse_answer_head(200, [(b"content-type", b"application/octet-stream")], method="GET"),
}


class _Reading(Struct, frozen=True):
    """A message is small enough to be kept while it waits; its masked copy is not kept."""

    candidate: Candidate
    is_text: bool
    read_text: Callable[[bytes], Candidate]
    charge_masked: Charge

    async def read(self) -> Candidate:
        return self.candidate

    def drop(self) -> None:
        self.charge_masked(0)

    async def read_with_body(self, call: HttpCall, body: bytes) -> Candidate:
        """Texts only: a binary message may hold the lengths of what is replaced elsewhere."""
        if not self.is_text:
            raise AmbiguousRequestError("a binary message of a WebSocket cannot be masked")
        return self.read_text(body)


class SocketMessages(ClientMessages):
    """``handshake``: the call that opened the socket; ``action``: as it was decided; ``action_id``: as it is recorded.
    ``echoes``: of the credential that the handshake carried."""

    def __init__(
        self,
        message_gate: MessageGate,
        *,
        connection: Connection | None,
        evaluator: Evaluator,
        address: str,
        handshake: ReadCall,
        action: ReadAction,
        action_id: str,
        shown: ShownAnswer | None,
    ) -> None:
        super().__init__(message_gate, connection, MessageWindow())
        self._received = MessageWindow()
        self._evaluator = evaluator
        self._submission = Submission(address=address)
        self._handshake = handshake
        self._action = action
        self._action_id = action_id
        self._shown = shown
        self.echoes: EchoMask | None = None
        if shown is not None:
            shown.begin(_HEADS[True])

    def arrived(self, *, from_client: bool) -> ArrivedMessages:
        """A message's place among the others of its side: to be called when its last byte comes. Decisions wait for
        their turn, and may begin in another order."""
        return (self._window if from_client else self._received).arrived()

    async def decide(
        self, content: bytes, *, is_text: bool, charge: Charge, arrived: ArrivedMessages
    ) -> AdmittedMessage:
        """Raises HeadgateError."""
        self.count_as_call()

        def read(sent: bytes) -> Candidate:
            draft = message_draft(self._handshake, sent, is_text=is_text)
            return candidate_for(self.caller.identity, draft, self._submission, arrived)

        return await self.admit(_Reading(read(content), is_text, read, charge), HeldCall(self), content)

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

    async def inspect(self, content: bytes, *, is_text: bool, arrived: ArrivedMessages) -> bytes:
        """What the client gets: ``content``, or the masked text. Raises ResponseWithheldError, and what ends the
        inspection otherwise."""
        state = self._state
        judge = None if state is None else answer_judge(self._evaluator, state, self._action)
        if judge is None:
            if state is None:
                raise withheld_error(
                    INSPECTION_FAILED, action_id=self._action_id, status=_SWITCHING_PROTOCOLS, policies=[]
                )
            return content
        answer = Answer(_HEADS[is_text], content)
        inspecting = judge.of_answer_or_masked if is_text else judge.of_answer
        verdicts = await inspecting(answer, max_bytes=MESSAGE_BYTES_MAX, arrived=arrived)
        ANSWERS_INSPECTED.labels("forwarded" if verdicts.withheld is None else "withheld").inc()
        if verdicts.withheld is not None:
            raise withheld_error(
                verdicts.withheld,
                action_id=self._action_id,
                status=_SWITCHING_PROTOCOLS,
                policies=verdicts.details(),
            )
        return content if verdicts.masked is None else verdicts.masked.body

    @property
    def _state(self) -> OrganizationState | None:
        return self._message_gate.gate.callers.states.current(self.caller.identity.org_id)
