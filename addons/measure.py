"""Counts requests that were not forwarded, at whatever stage they were refused.

A call with an identity that was refused before it was an action becomes part of one event a minute and cause, which
names the first ones (semantics.md, "Recording"). Without an identity, it is a metric and a line in the log.
"""

from functools import partial
from typing import Final

import structlog
from mitmproxy.http import HTTPFlow

from addons.metrics import DECISIONS, REFUSALS
from addons.refuse import close_after
from addons.refused_call import refused_call
from addons.verdict import flow_state
from headgate.audit.count_refusals import RefusalCounts, RefusedRequest
from headgate.gate.refusals import ActionDeniedError, ApprovalDeniedError, ApprovalPendingError, ClientGoneError
from headgate.kernel.errors import RateLimitedError

_log = structlog.get_logger(__name__)

# These are decisions on an action that is on record already.
_RECORDED: Final = (ActionDeniedError, ApprovalDeniedError, ApprovalPendingError, ClientGoneError)


class Measure:
    """Looks at each refused request once, when it has its answer."""

    def __init__(self, refusals: RefusalCounts) -> None:
        self._refusals = refusals

    def response(self, flow: HTTPFlow) -> None:
        self._count(flow)

    def error(self, flow: HTTPFlow) -> None:
        self._count(flow)

    def http_connect_error(self, flow: HTTPFlow) -> None:
        self._count(flow)

    def _count(self, flow: HTTPFlow) -> None:
        state = flow_state(flow)
        error = state.refusal
        if error is None or state.measured:
            return
        state.measured = True
        code = error.code.value
        if isinstance(error, _RECORDED):
            DECISIONS.labels(code.lower()).inc()
            return
        REFUSALS.labels(code.lower()).inc()
        client = state.client
        # A client that is told to wait (429) is no flood as long as it keeps its connection.
        if not isinstance(error, RateLimitedError) and not client.share.count_refusal():
            close_after(flow)
            if flow.client_conn.alpn == b"h2":
                client.close("too many refusals")
        identity = None if client.caller is None else client.caller.identity
        if identity is None or identity.agent_id is None:
            _log.info("request_refused", code=code, reason=error.message)
            return
        refused = RefusedRequest(identity.org_id, identity.agent_id, identity.agent_name, code)
        self._refusals.add(refused, partial(refused_call, flow.request.data, error))
