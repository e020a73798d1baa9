"""A stream whose request carries a connection's credential: written here, at the wire, and masked here in the answer.

The flow that addons see holds neither: its request is the agent's, its answer the one with the echoes masked, out of
its content coding. Streams without a connection pay for one look at an attribute. Extends an internal class of
mitmproxy; see ``proxy.layers``.
"""

from dataclasses import dataclass, replace
from typing import Final

from mitmproxy.http import Headers, Request, Response
from mitmproxy.proxy import events
from mitmproxy.proxy.layers.http import SendHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
    ResponseTrailers,
)

from addons.verdict import flow_state
from headgate.connections.echoes import EchoMask, EchoStream
from headgate.protocols.coded_stream import Decoder, UndecodableError, decoder_of
from headgate.protocols.grpc_frames import MessageEnds
from headgate.protocols.http_call import HttpCall
from proxy.commands import Commands
from proxy.inspected_answer import InspectedAnswer

_WITHOUT_BODY: Final = frozenset({204, 304})
_UNREADABLE: Final = "its answer is in a content coding in which an echo of the credential could not be masked"


@dataclass(slots=True)
class _Answer:
    """One answer on its way in."""

    mask: EchoMask
    echoes: EchoStream
    decoder: Decoder | None = None
    ends: MessageEnds | None = None


class CarryingStream(InspectedAnswer):
    """The part of a stream between the flow and the destination."""

    _answer: _Answer | None = None

    def state_consume_request_body(self, event: events.Event) -> Commands[None]:
        inner = super().state_consume_request_body(event)
        return self._carrying(inner) if isinstance(event, RequestEndOfMessage) else inner

    def _carrying(self, inner: Commands[None]) -> Commands[None]:
        reply: object = None
        while True:
            try:
                command = inner.send(reply)
            except StopIteration:
                return
            if isinstance(command, SendHttp):
                command = self._with_credential(command)
            reply = yield command

    def _with_credential(self, command: SendHttp) -> SendHttp:
        state = flow_state(self.flow)
        outgoing = state.outgoing
        if outgoing is None or command.connection is not self.context.server or not state.sent_upstream:
            return command
        event = command.event
        if isinstance(event, RequestHeaders):
            if state.echoes is not None:
                self._answer = _Answer(state.echoes, state.echoes.stream())
                self._handle_event = self._handle_masked
            request = carrying_request(self.flow.request, outgoing)
            return SendHttp(RequestHeaders(self.stream_id, request, event.end_stream), command.connection)
        if isinstance(event, RequestData):
            return SendHttp(RequestData(self.stream_id, outgoing.body), command.connection)
        return command

    def _handle_masked(self, event: events.Event) -> Commands[None]:
        """In place of ``_handle_event`` once the credential is on its way."""
        answer = self._answer
        if answer is None:
            raise RuntimeError("an answer that nobody masks")
        try:
            arrived = list(self._masked(event, answer))
        except UndecodableError:
            yield SendHttp(RequestProtocolError(self.stream_id, _UNREADABLE, ErrorCode.CANCEL), self.context.server)
            arrived = [ResponseProtocolError(self.stream_id, _UNREADABLE, ErrorCode.GENERIC_SERVER_ERROR)]
        for one in arrived:
            yield from super()._handle_event(one)

    def _masked(self, event: events.Event, answer: _Answer) -> list[events.Event]:
        if isinstance(event, ResponseHeaders):
            answer.ends = None if flow_state(self.flow).later_messages is None else MessageEnds()
            answer.decoder = _decoder_for(event.response, self.flow.request.data.method)
            _mask_head(event.response, answer, is_http2=self.context.client.alpn == b"h2")
            return [event]
        if isinstance(event, ResponseData):
            data = event.data if answer.decoder is None else answer.decoder.feed(event.data)
            return self._data(answer.echoes.feed(data, ends_message=answer.ends is not None and answer.ends.feed(data)))
        if isinstance(event, ResponseTrailers):
            event.trailers = _masked_fields(event.trailers, answer.mask)
            return [event]
        if isinstance(event, ResponseEndOfMessage):
            rest = b"" if answer.decoder is None else answer.decoder.finish()
            return [*self._data(answer.echoes.feed(rest) + answer.echoes.finish()), event]
        if isinstance(event, ResponseProtocolError):
            return [replace(event, message=answer.mask.mask_text(event.message))]
        return [event]

    def _data(self, data: bytes) -> list[events.Event]:
        return [ResponseData(self.stream_id, data)] if data else []


def _decoder_for(response: Response, method: bytes) -> Decoder | None:
    """None: it is in no coding, or has no body. Raises UndecodableError. The gate asks for ``identity``; some servers
    answer in a coding all the same."""
    if method == b"HEAD" or response.status_code in _WITHOUT_BODY:
        return None
    return decoder_of(response.headers.get("content-encoding", "").strip().lower())


def carrying_request(request: Request, outgoing: HttpCall) -> Request:
    """What is written: ``request`` with the target, headers and body of ``outgoing``."""
    data = request.data
    target = f"{outgoing.path}?{outgoing.query}" if outgoing.query else outgoing.path
    headers = Headers(outgoing.headers)
    if "content-length" in headers:
        headers["content-length"] = str(len(outgoing.body))
    return Request(
        data.host,
        data.port,
        data.method,
        data.scheme,
        data.authority,
        target.encode("ascii"),
        data.http_version,
        headers,
        None,
        None,
        data.timestamp_start,
        data.timestamp_end,
    )


def _mask_head(response: Response, answer: _Answer, *, is_http2: bool) -> None:
    data = response.data
    data.headers = _masked_fields(data.headers, answer.mask)
    data.reason = answer.mask.mask(data.reason)
    if answer.decoder is not None:
        for name in ("content-encoding", "content-length", "etag", "content-md5", "digest", "repr-digest"):
            data.headers.pop(name, None)
        if not is_http2:
            data.headers["transfer-encoding"] = "chunked"


def _masked_fields(headers: Headers, mask: EchoMask) -> Headers:
    return Headers((mask.mask(name), mask.mask(value)) for name, value in headers.fields)
