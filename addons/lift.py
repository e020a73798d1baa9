"""The last addon: removes the latch from requests that were explicitly allowed, and from no others."""

from mitmproxy.http import HTTPFlow
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from addons.guard import permitted_dial
from addons.latch import LATCHED_CONNECTION
from addons.refuse import refuse_with
from addons.verdict import LATCH, client_state, flow_state
from headgate.kernel.errors import UnavailableError


class Lift:
    def http_connect(self, flow: HTTPFlow) -> None:
        self._lift(flow)

    def request(self, flow: HTTPFlow) -> None:
        if self._lift(flow):
            # A tunnel alone dials nothing: each host and port is dialled for a request that was allowed to it.
            state = flow_state(flow)
            state.client.authorized.add((flow.request.data.host, flow.request.data.port))

    def server_connect(self, data: ServerConnectionHookData) -> None:
        # Identity, not equality: only the latch's own object is lifted, never an error with the same text.
        if data.server.error is LATCHED_CONNECTION and permitted_dial() is data.server:
            client_state(data.client)  # a connection without a state has no rules: raises, and stays closed
            data.server.error = None

    def _lift(self, flow: HTTPFlow) -> bool:
        if flow.response is not LATCH:
            return False
        state = flow_state(flow)
        if not state.allowed or state.refusal is not None:
            refuse_with(flow, UnavailableError("no part of the gate decided about this request; nothing was forwarded"))
            return False
        if state.connection is not None and state.outgoing is None:
            refuse_with(flow, UnavailableError("nobody has added the credential of this call; nothing was forwarded"))
            return False
        state.lifted = True
        flow.response = None
        return True
