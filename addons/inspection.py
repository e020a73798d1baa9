"""One answer that is looked at before the client sees it: by policies about content, and where it offers MCP tools.

Two ways. An answer is collected, inspected when it is whole, and then forwarded or withheld. An event stream, or a
stream of lines, that only detectors look at is inspected piece by piece, each with what came before, and cut where
one matches. ``proxy.inspected_answer`` moves the bytes; this decides. Whatever fails on the way withholds: there is
no path to the client but a verdict of all policies.
"""

import asyncio
import json
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from traceback import format_exception
from typing import Final

import structlog
from mitmproxy.http import Headers, HTTPFlow, Request, Response
from msgspec import Struct

from addons.grpc_refusal import in_callers_form, refusal_at_end
from addons.masked_stream import MaskedStream
from addons.metrics import ANSWERS_INSPECTED
from addons.refusal import JsonRpcId, refusal_for_mcp, refusal_response
from addons.replaced_body import leave_length_open, replace_body
from addons.tool_list import ToolList
from headgate.gate.candidate import ReadAction
from headgate.gate.inspect_answer import INSPECTION_FAILED, NOTHING_SAID, AnswerJudge, Verdicts, answer_judge
from headgate.gate.judged_answer import Answer, AnsweredCall, beginning_bytes
from headgate.gate.offered_tools import ToolListing
from headgate.gate.organization_state import OrganizationState
from headgate.gate.refusals import ResponseWithheldError, withheld_error
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import system_clock
from headgate.nlp_policies.evaluate import Evaluator
from headgate.protocols.answer_head import AnswerHead, StreamKind, objection_to, parse_answer_head
from headgate.protocols.answer_pieces import Pieces, Windows
from headgate.protocols.grpc_answer import MessagePieces, comes_in_messages

_log = structlog.get_logger(__name__)

_CANNOT_WAIT: Final = "its client waits for each message, and the policies can judge the whole answer only"

IN_PART_SECONDS: Final = 10.0
"""After which the beginning of a slow answer is looked at, and the rest passes as it comes."""


class AnswerLimits(Struct, frozen=True):
    """``body``: bytes of an answer that are collected, and of what it decodes to, and of one piece of a stream.
    ``seconds``: from the head of an answer that is collected to its end."""

    body: int = 1 << 20
    seconds: float = 60.0

    @property
    def beginning(self) -> int:
        """Bytes of an answer that is inspected in part."""
        return beginning_bytes(self.body)


class Inspection:
    """From the head of the answer to its end."""

    def __init__(
        self,
        judge: AnswerJudge,
        limits: AnswerLimits,
        *,
        action_id: str,
        mcp_id: JsonRpcId,
        request_id: str,
        help_url: str | None = None,
        tools: ToolList | None = None,
        is_bidirectional: bool = False,
    ) -> None:
        """``is_bidirectional``: see ``verdict.Stream``."""
        self.limits = limits
        self._is_bidirectional = is_bidirectional
        self._tools = tools
        self._judge = judge
        self._action_id = action_id
        self._mcp_id = mcp_id
        self._request_id = request_id
        self._help_url = help_url
        self._request: Request | None = None
        self._head: AnswerHead | None = None
        self._verdicts = NOTHING_SAID
        self._windows = Windows()
        self._masked_stream: MaskedStream | None = None
        self._looked = False
        self.pieces: Pieces | MessagePieces | None = None
        """Set where the answer is a stream that is inspected piece by piece."""
        self.may_be_messages = False
        """Whether the answer has messages of gRPC or Connect that may pass one by one (``go_on_in_messages``)."""
        self._trailers: tuple[tuple[bytes, bytes], ...] = ()
        self._cleared = bytearray()
        self._beginning: bytes | None = None

    @property
    def is_in_part(self) -> bool:
        """Whether a large or slow answer passes once its beginning is clear."""
        return self._tools is None and self._judge.lets_unscannable_pass

    @property
    def patience_seconds(self) -> float:
        """How long it is collected at most."""
        return min(self.limits.seconds, IN_PART_SECONDS) if self.is_in_part else self.limits.seconds

    @property
    def is_withheld(self) -> bool:
        return self._verdicts.withheld is not None

    @property
    def is_masked(self) -> bool:
        """Whether the agent gets another body than the one that came."""
        return self._verdicts.masked is not None or self.masked_stream_bytes is not None

    @property
    def masked_stream_bytes(self) -> int | None:
        """Of a stream in which events were masked: how much of it was cleared."""
        stream = self._masked_stream
        return stream.size_bytes if stream is not None and stream.is_masked else None

    @property
    def is_clear(self) -> bool:
        """Somebody has looked, and all that was looked at may pass."""
        return self._looked and not self.is_withheld

    @property
    def is_coded(self) -> bool:
        """Whether the answer is in a content coding, and so may become larger."""
        return self._known_head.is_coded

    def begin(self, flow: HTTPFlow) -> None:
        """At the head of the answer: what can be inspected at all, and how."""
        response = flow.response
        if response is None:
            raise RuntimeError("the head of an answer without an answer")
        self._request = flow.request
        self._head = head = self._head_of(response)
        if (objection := objection_to(head, max_bytes=None if self.is_in_part else self.limits.body)) is not None:
            self.withhold(objection)
        elif comes_in_messages(head):
            self.may_be_messages = self._may_pass_in_pieces(head)
            if self._is_bidirectional and self.may_be_messages:
                self.pieces = MessagePieces()
            elif self._is_bidirectional:
                self.withhold(_CANNOT_WAIT)
        elif self._may_pass_in_pieces(head) and head.stream is not None:
            self.pieces = Pieces(head.stream)
            leave_length_open(response.data.headers, is_http2=flow.request.is_http2)
            if self._judge.masks_pieces(head):
                self._masked_stream = MaskedStream()
                response.data.headers.pop(b"etag", None)  # of the stream as it came (RFC 9110, section 8.8)

    def _head_of(self, response: Response) -> AnswerHead:
        data = response.data
        method = self._known_request.data.method.decode("ascii")
        return parse_answer_head(data.status_code, data.headers.fields, method=method, reason=data.reason)

    def _may_pass_in_pieces(self, head: AnswerHead) -> bool:
        return self._tools is None and not head.is_coded and not self._judge.needs_the_whole

    def go_on_in_messages(self, collected: bytes) -> MessagePieces:
        """From now on each message is looked at, and passes, by itself: the second one shows that it is a stream."""
        self.pieces = pieces = MessagePieces()
        pieces.feed(collected)
        return pieces

    def withhold(self, why: str) -> None:
        """Without asking: it cannot be inspected."""
        self._verdicts = self._judge.not_inspected(why).after(self._verdicts)

    async def look_at_whole(self, response: Response) -> None:
        """An answer that was collected, or has no body."""
        if not self._looked and not self.is_withheld and self._tools is not None:
            await self._leave_tools_out(self._tools, response)
        if not self._looked and not self.is_withheld and self._judge.policies:
            trailers = () if response.data.trailers is None else response.data.trailers.fields
            answer = Answer(self._known_head, response.data.content or b"", trailers)
            definitions = None if self._tools is None else self._tools.definitions
            asking = self._judge.of_answer_or_masked(answer, max_bytes=self.limits.body, definitions=definitions)
            await self._settle(asking)
            if self._verdicts.withheld is None and self._verdicts.masked is not None:
                with self._withheld_on_failure():
                    replace_body(response, self._verdicts.masked.body)
                    response.data.headers.pop(b"etag", None)  # of the other body (RFC 9110, section 8.8)
        self._looked = True

    async def _leave_tools_out(self, tools: ToolList, response: Response) -> None:
        """First: policies about content look at what the agent is offered."""
        with self._withheld_on_failure():
            objection = await tools.leave_out(self._known_head, response, max_bytes=self.limits.body)
            if objection is not None:
                self.withhold(objection)
            self._head = self._head_of(response)

    def collected(self, beginning: bytes) -> None:
        """What ``look_at_stream`` is to look at: the rest passes as it comes."""
        self._beginning = beginning

    async def look_at_stream(self) -> None:
        """The head first, then each stretch of whole pieces; or the beginning of what is inspected in part."""
        if self._beginning is not None:
            self._looked = True
            answer = Answer(self._known_head, self._beginning, is_whole=False)
            self._beginning = None
            await self._settle(self._judge.of_answer(answer, max_bytes=self.limits.body))
            return
        if self.is_withheld or self.pieces is None:
            return
        if not self._looked:
            self._looked = True
            await self._settle(self._judge.of_head(self._known_head))
        elif stretch := self.pieces.ready:
            is_of_messages = isinstance(self.pieces, MessagePieces)
            judge = self._judge.of_messages if is_of_messages else self._judge.of_pieces_or_masked
            await self._settle(judge(self._known_head, stretch, self._windows))
            if not self.is_withheld:
                self._clear(self.pieces.take())
        elif self._trailers:
            await self._settle(self._judge.of_head(self._known_head, self._trailers))

    def _clear(self, pieces: bytes) -> None:
        masked = self._verdicts.masked
        cleared = pieces if masked is None else masked.body
        if self._masked_stream is not None:
            self._masked_stream.forwarded(cleared, masked)
        self._cleared += cleared

    def ended_with(self, trailers: Headers) -> None:
        """After the last message: ``look_at_stream`` looks at the trailers next."""
        self._trailers = trailers.fields

    def take_cleared(self) -> bytes:
        """Of a stream: what may be forwarded now."""
        cleared = bytes(self._cleared)
        self._cleared.clear()
        return cleared

    async def _settle(self, asking: Awaitable[Verdicts]) -> None:
        with self._withheld_on_failure():
            self._verdicts = (await asking).after(self._verdicts)

    @contextmanager
    def _withheld_on_failure(self) -> Iterator[None]:
        try:
            yield
        # Cancellation and exit too: what was not inspected is not forwarded.
        except BaseException as error:
            _log.error("inspection_failed", error=repr(error), traceback="".join(format_exception(error)))
            self.withhold(INSPECTION_FAILED)
            if not isinstance(error, Exception) and not isinstance(error, asyncio.CancelledError):
                raise

    @property
    def _known_request(self) -> Request:
        if self._request is None:
            raise RuntimeError("an answer without a request")
        return self._request

    @property
    def _known_head(self) -> AnswerHead:
        if self._head is None:
            raise RuntimeError("an answer without a head")
        return self._head

    def record(self) -> JsonObject:
        """What is kept in the outcome of the call."""
        if not self._looked and not self.is_withheld:
            self.withhold("it broke off before it was whole")
        ANSWERS_INSPECTED.labels("withheld" if self.is_withheld else "forwarded").inc()
        record = self._verdicts.inspection()
        if self._masked_stream is not None and self._masked_stream.is_masked:
            record["masked"] = self._masked_stream.record()
        return record if self._tools is None else {**record, "tools": self._tools.record()}

    def refusal(self) -> Response:
        """In place of the answer, in a form that its client reads."""
        refusal = self._refusal(head=self._known_request.data.method == b"HEAD")
        return refusal if self._mcp_id is not None else in_callers_form(self._known_request, self._error(), refusal)

    def _refusal(self, *, head: bool) -> Response:
        """As JSON."""
        error = self._error()
        if self._mcp_id is not None:
            return refusal_for_mcp(
                self._mcp_id, error, request_id=self._request_id, now=system_clock(), help_url=self._help_url
            )
        return refusal_response(
            error, request_id=self._request_id, now=system_clock(), head=head, help_url=self._help_url
        )

    def last_words(self) -> tuple[bytes, Headers | None]:
        """At the place where a stream is cut: the refusal as one more event, line or message, or as trailers."""
        if isinstance(self.pieces, MessagePieces):
            return refusal_at_end(self._known_request, self._error())
        text = json.dumps(json.loads(self._refusal(head=False).raw_content or b"")).encode("ascii")
        if self._known_head.stream is StreamKind.LINES:
            return text + b"\n", None
        kind = b"message" if self._mcp_id is not None else b"error"
        return b"event: " + kind + b"\ndata: " + text + b"\n\n", None

    def _error(self) -> ResponseWithheldError:
        return withheld_error(
            self._verdicts.withheld or INSPECTION_FAILED,
            action_id=self._action_id,
            status=self._known_head.status,
            policies=self._verdicts.details(),
        )


class Inspector:
    """Makes an Inspection where the policies of a decision look at the answer, or it offers tools."""

    def __init__(self, evaluator: Evaluator, limits: AnswerLimits) -> None:
        self.evaluator = evaluator
        self._limits = limits

    def inspection(
        self,
        organization: OrganizationState,
        action: ReadAction,
        *,
        action_id: str,
        request_id: str,
        help_url: str | None = None,
        listing: ToolListing | None = None,
        is_bidirectional: bool = False,
    ) -> Inspection | None:
        judge = answer_judge(self.evaluator, organization, action)
        if judge is None and listing is None:
            return None
        if judge is None:
            judge = AnswerJudge(self.evaluator, (), {}, AnsweredCall(action.tool, action.operation), action.agent_id)
        return Inspection(
            judge,
            self._limits,
            action_id=action_id,
            mcp_id=action.mcp_id,
            request_id=request_id,
            help_url=help_url,
            tools=None if listing is None else ToolList(listing),
            is_bidirectional=is_bidirectional,
        )
