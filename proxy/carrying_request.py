"""The request that carries a connection's credential, as it is written. The flow that addons see keeps the agent's."""

from mitmproxy.http import Headers, Request
from mitmproxy.proxy.layers.http._base import HttpEvent
from mitmproxy.proxy.layers.http._events import RequestData, RequestHeaders

from headgate.protocols.http_call import HttpCall


def carrying(event: HttpEvent, request: Request, outgoing: HttpCall) -> HttpEvent:
    """What is written in place of ``event``: the head and the body of ``outgoing``."""
    if isinstance(event, RequestHeaders):
        return RequestHeaders(event.stream_id, _head(request, outgoing), event.end_stream)
    if isinstance(event, RequestData):
        return RequestData(event.stream_id, outgoing.body)
    return event


def _head(request: Request, outgoing: HttpCall) -> Request:
    """``request`` with the target and headers of ``outgoing``."""
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
