"""The first addon: sets every request to refused.

mitmproxy forwards what its addons do not stop, and continues when one of them raises. So this addon refuses each
request before any other addon runs, and only ``addons.lift``, the last one, removes the refusal (fail closed).
"""

from typing import Final

from mitmproxy.http import HTTPFlow
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from addons.verdict import LATCH, flow_state

LATCHED_CONNECTION: Final = "the gate has not permitted this connection"


class Latch:
    """``public_api_url``: where the pages are that explain refusals; None: refusals name none."""

    def __init__(self, public_api_url: str | None = None) -> None:
        self._public_api_url = public_api_url

    def http_connect(self, flow: HTTPFlow) -> None:
        self._refuse(flow)

    def requestheaders(self, flow: HTTPFlow) -> None:
        self._refuse(flow)

    def server_connect(self, data: ServerConnectionHookData) -> None:
        data.server.error = LATCHED_CONNECTION

    def _refuse(self, flow: HTTPFlow) -> None:
        # It raises, and so denies, where the request did not come through the gate's own layer.
        flow_state(flow).help_origin = self._public_api_url
        flow.response = LATCH
