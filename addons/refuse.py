"""Refuses a request, with the form of the error that its client can read."""

from mitmproxy.http import HTTPFlow

from addons.grpc_refusal import in_callers_form
from addons.refusal import JsonRpcId, refusal_for_mcp, refusal_response
from addons.verdict import LATCH, flow_state, refuse
from headgate.kernel.clock import Clock, system_clock
from headgate.kernel.errors import HeadgateError


def refuse_with(flow: HTTPFlow, error: HeadgateError, *, clock: Clock = system_clock) -> None:
    """Refuse the request with the form of ``error`` in HTTP, or in what it carries (gRPC, Connect)."""
    response = refusal_response(
        error,
        request_id=flow_state(flow).request_id,
        now=clock(),
        head=flow.request.data.method == b"HEAD",
        help_url=flow_state(flow).help_for(error.code),
    )
    refuse(flow, error, in_callers_form(flow.request, error, response))


def refuse_and_close(flow: HTTPFlow, error: HeadgateError, *, clock: Clock = system_clock) -> None:
    """Refuse what a client that works does not send: with HTTP/1 nothing more is read from this connection. What comes
    behind it was perhaps meant as a part of it, and a megabyte of such requests is 33,000."""
    refuse_with(flow, error, clock=clock)
    close_after(flow)


def close_after(flow: HTTPFlow) -> None:
    """The connection ends with the answer."""
    if flow.client_conn.alpn != b"h2" and flow.response is not None and flow.response is not LATCH:
        flow.response.headers["connection"] = "close"


def refuse_mcp_with(flow: HTTPFlow, rpc_id: JsonRpcId, error: HeadgateError, *, clock: Clock = system_clock) -> None:
    """Refuse a parsed JSON-RPC call in the form that its SDK shows."""
    state = flow_state(flow)
    help_url = state.help_for(error.code)
    response = refusal_for_mcp(rpc_id, error, request_id=state.request_id, now=clock(), help_url=help_url)
    refuse(flow, error, response)
