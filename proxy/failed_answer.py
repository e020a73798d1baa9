"""The answer to a request that failed on its way to the server: it says why, in the gate's form of errors."""

from mitmproxy.http import HTTPFlow, Response
from mitmproxy.proxy.layers.http._events import ResponseProtocolError

from addons.refusal import refusal_response
from addons.verdict import FlowState, flow_state
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import HeadgateError, UnavailableError, UpstreamFailedError


def failed_answer(flow: HTTPFlow, event: ResponseProtocolError) -> Response:
    """Of a flow that addons have seen."""
    state, data = flow_state(flow), flow.request.data
    error = state.refusal or _failure(state, data.host, data.port, event.message)
    return refusal_response(
        error,
        request_id=state.request_id,
        now=system_clock(),
        head=data.method == b"HEAD",
        help_url=state.help_for(error.code),
    )


def _failure(state: FlowState, host: str, port: int, message: str) -> HeadgateError:
    if not state.lifted:
        return UnavailableError("the gate did not decide; nothing was forwarded")
    what = "could not be reached"
    if state.sent_upstream:
        what = "answered with something that is not HTTP"
    elif "certificate verify failed" in message.lower():
        what = "shows a certificate that is not trusted (HEADGATE_UPSTREAM_CA_FILE adds roots)"
    if state.inspection is None or not state.sent_upstream:
        what = f"{what}: {message}"  # it may quote what the destination wrote, which nobody has inspected
    return UpstreamFailedError(
        f"{host} port {port} {what}", details={"host": host, "port": port, "sent": state.sent_upstream}
    )
