"""Responses pass through as they arrive, and are counted and digested on the way.

Event streams and downloads would otherwise be collected to their end. Requests never stream: a streamed
request is decided after it was sent. What is counted is told once, to whoever allowed the request.
"""

import hashlib
from collections.abc import Coroutine

from mitmproxy.http import HTTPFlow, Response

from addons.inspection import Inspection
from addons.response_meter import ResponseMeter
from addons.verdict import Completion, Ending, FlowState, flow_state
from headgate.kernel.canonical_json import JsonObject
from headgate.protocols.answer_head import parse_answer_head


class Streaming:
    """Meters each forwarded response, and says how each allowed request ended; has the answers inspected that
    policies look at."""

    def responseheaders(self, flow: HTTPFlow) -> None:
        state = flow_state(flow)
        if state.sent_upstream and state.refusal is None and flow.response is not None:
            meter = ResponseMeter() if state.capture is None else state.capture.meter()
            flow.response.stream = meter
            if not (state.shown_answer is None and state.tool_answer is None and state.llm_answer is None):
                data = flow.response.data
                method = flow.request.data.method.decode("ascii")
                head = parse_answer_head(data.status_code, data.headers.fields, method=method)
                readers = [one for one in (state.shown_answer, state.tool_answer, state.llm_answer) if one is not None]
                for reader in readers:
                    reader.begin(head)
                meter.readers = tuple(readers)
            if state.inspection is not None:
                state.inspection.begin(flow)

    async def answer_piece(self, flow: HTTPFlow) -> None:
        """Of a stream that is inspected piece by piece: no more of it is read until this stretch was looked at."""
        state = flow_state(flow)
        if state.inspection is None:
            raise RuntimeError("a stretch of an answer that nobody inspects")
        state.client.inspecting[state] = flow.server_conn
        try:
            await state.inspection.look_at_stream()
        finally:
            del state.client.inspecting[state]
            state.client.unthrottled.wake()

    def response(self, flow: HTTPFlow) -> Coroutine[object, object, None] | None:
        state = flow_state(flow)
        if state.refusal is not None or not state.sent_upstream:
            error = "refused" if state.refusal is None else state.refusal.message
            state.complete(Completion(Ending.NOT_SENT, error=error))
            return None
        if (inspection := state.inspection) is not None:
            if not (inspection.is_clear or inspection.is_withheld):
                return self._inspected(flow, state, inspection)
            self._end(flow, state, inspection)
            return None
        state.complete(_completion(flow, Ending.COMPLETE))
        return None

    async def _inspected(self, flow: HTTPFlow, state: FlowState, inspection: Inspection) -> None:
        if flow.response is None:
            raise RuntimeError("a response without a response")
        await inspection.look_at_whole(flow.response)
        self._end(flow, state, inspection)

    def _end(self, flow: HTTPFlow, state: FlowState, inspection: Inspection) -> None:
        """The outcome tells of the answer as it came; the client gets it, or a refusal in its place."""
        state.complete(_completion(flow, Ending.COMPLETE, inspection=inspection.record()))
        if not inspection.is_clear:
            flow.response = inspection.refusal()

    def error(self, flow: HTTPFlow) -> None:
        state = flow_state(flow)
        error = flow.error.msg if flow.error is not None else "unknown"
        if state.refusal is not None:
            error = state.refusal.message
        if not state.sent_upstream:
            state.complete(Completion(Ending.NOT_SENT, error=error))
            return
        if flow.response is None:
            state.complete(Completion(Ending.BROKEN, error=error))
            return
        inspection = None if state.inspection is None else state.inspection.record()
        ending = Ending.LEFT if not state.connected and _is_listening(flow) else Ending.BROKEN
        state.complete(_completion(flow, ending, error=error, inspection=inspection))


def _is_listening(flow: HTTPFlow) -> bool:
    """To a stream of events that a GET asks for (HTML's EventSource, MCP): leaving it is how it ends."""
    response = flow.response
    media_type = "" if response is None else response.headers.get("content-type", "").partition(";")[0]
    return flow.request.data.method == b"GET" and media_type.strip().lower() == "text/event-stream"


def _completion(
    flow: HTTPFlow, ending: Ending, *, error: str | None = None, inspection: JsonObject | None = None
) -> Completion:
    response = flow.response
    if response is None:
        raise RuntimeError("a response without a response")
    size, digest = _measured(response.stream, response.raw_content)
    return Completion(ending, response.status_code, size, digest, error, inspection, _told_failure(flow, response))


def _told_failure(flow: HTTPFlow, response: Response) -> str | None:
    """What the answer says of the call's success where HTTP's status does not."""
    answer = flow_state(flow).tool_answer
    if answer is not None:
        return answer.failure()
    if not response.headers.get("content-type", "").lower().startswith("application/grpc"):
        return None
    # "gRPC over HTTP/2": in the trailers, or in the head of an answer that has none.
    told = response.headers if response.trailers is None else response.trailers
    status = told.get("grpc-status", "0").strip()
    return None if status == "0" else f"the server answered gRPC status {status[:8]}"


def _measured(stream: object, content: bytes | None) -> tuple[int, str]:
    """Size and digest of what arrived. A response without a body ends before it is streamed."""
    if isinstance(stream, ResponseMeter) and stream.size_bytes:
        return stream.size_bytes, stream.digest()
    body = content or b""
    return len(body), "sha256:" + hashlib.sha256(body).hexdigest()
