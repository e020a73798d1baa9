"""Responses pass through as they arrive, and are counted and digested on the way.

Event streams and downloads would otherwise be collected to their end. Requests never stream: a streamed
request is decided after it was sent. What is counted is told once, to whoever allowed the request.
"""

import hashlib

from mitmproxy.http import HTTPFlow

from addons.verdict import Completion, Ending, flow_state


class ResponseMeter:
    """The ``stream`` callable of one response. It cannot fail: what it raised would hang the client."""

    __slots__ = ("_hash", "size_bytes")

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.size_bytes = 0

    def __call__(self, data: bytes) -> bytes | list[bytes]:
        if not data:
            # mitmproxy asks once more at the end; b"" would write the last chunk early.
            return []
        self.size_bytes += len(data)
        self._hash.update(data)
        return data

    def digest(self) -> str:
        return "sha256:" + self._hash.hexdigest()


class Streaming:
    """Meters each forwarded response, and says how each allowed request ended."""

    def responseheaders(self, flow: HTTPFlow) -> None:
        state = flow_state(flow)
        if state.sent_upstream and state.refusal is None and flow.response is not None:
            flow.response.stream = ResponseMeter()

    def response(self, flow: HTTPFlow) -> None:
        state = flow_state(flow)
        if state.refusal is not None or not state.sent_upstream:
            state.complete(Completion(Ending.NOT_SENT, error="refused"))
            return
        response = flow.response
        if response is None:
            raise RuntimeError("a response without a response")
        size, digest = _measured(response.stream, response.raw_content)
        state.complete(Completion(Ending.COMPLETE, response.status_code, size, digest))

    def error(self, flow: HTTPFlow) -> None:
        state = flow_state(flow)
        error = flow.error.msg if flow.error is not None else "unknown"
        if state.refusal is not None:
            error = state.refusal.message
        if not state.sent_upstream:
            state.complete(Completion(Ending.NOT_SENT, error=error))
            return
        response = flow.response
        if response is None:
            state.complete(Completion(Ending.BROKEN, error=error))
            return
        size, digest = _measured(response.stream, response.raw_content)
        state.complete(Completion(Ending.BROKEN, response.status_code, size, digest, error))


def _measured(stream: object, content: bytes | None) -> tuple[int, str]:
    """Size and digest of what arrived. A response without a body ends before it is streamed."""
    if isinstance(stream, ResponseMeter) and stream.size_bytes:
        return stream.size_bytes, stream.digest()
    body = content or b""
    return len(body), "sha256:" + hashlib.sha256(body).hexdigest()
