"""What a client is told of an error that mitmproxy found before any addon saw the request, in HTTP/1 and HTTP/2."""

from typing import Final

from mitmproxy.http import Response
from mitmproxy.proxy.layers.http._events import ResponseProtocolError

from addons.refusal import refusal_response
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import AmbiguousRequestError, HeadgateError, UpstreamFailedError

NOT_ONE_READING: Final = "not an HTTP request that has one reading"


def protocol_error(event: ResponseProtocolError) -> HeadgateError:
    """mitmproxy's own message may hold what the client wrote."""
    if event.code.http_status_code() == 400:
        return AmbiguousRequestError(NOT_ONE_READING)
    return UpstreamFailedError(event.message)


def error_response(error: HeadgateError) -> Response:
    """There is no request yet whose identifier it could name."""
    return refusal_response(error, request_id="", now=system_clock())
