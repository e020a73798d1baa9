"""The protocols of clients: TLS, HTTP, and SOCKS5 as another spelling of CONNECT. Anything else is parsed as HTTP, and
refused as such.

mitmproxy's own addon of this name also knows raw TCP, UDP, DNS and QUIC, which pass without any request hook.
This one cannot make those layers at all.
"""

from functools import partial
from time import monotonic
from typing import Final

from mitmproxy.net.tls import starts_like_tls_record
from mitmproxy.proxy import layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import ClientTLSLayer, ServerTLSLayer, modes
from mitmproxy.proxy.layers.http import HTTPMode
from mitmproxy.tls import TlsData

from addons.limits import RequestLimits
from addons.verdict import client_state
from proxy.budget import BufferBudget
from proxy.layers import GateHttpLayer
from proxy.socks import Socks5Layer
from proxy.socks_handshake import VERSION

_HANDSHAKE_RECORD: Final = b"\x16\x03"
"""How a record of TLS begins that holds a ClientHello (RFC 8446, 5.1). The third byte is any minor version."""


class NextLayer:
    name = "nextlayer"  # mitmproxy warns where no addon has this name

    def __init__(self, limits: RequestLimits, budget: BufferBudget) -> None:
        self._limits = limits
        self._budget = budget

    def next_layer(self, nextlayer: layer.NextLayer) -> None:
        context = nextlayer.context
        data = nextlayer.data_client()
        tls = starts_like_tls_record(data)
        is_undecided = not tls and _HANDSHAKE_RECORD.startswith(data)
        if tls or is_undecided:
            client_state(context.client).head_since = monotonic()
        if is_undecided:
            return  # mitmproxy asks again when more has come
        if len(context.layers) == 1 and isinstance(context.layers[0], modes.HttpProxy):
            # A client that speaks TLS to the proxy itself (an https:// proxy address).
            if tls:
                nextlayer.layer = ClientTLSLayer(context)
            elif nextlayer.data_client().startswith(VERSION):
                nextlayer.layer = Socks5Layer(context, partial(self._http, context, HTTPMode.regular))
            else:
                nextlayer.layer = self._http(context, HTTPMode.regular)
        elif len(context.layers) == 2 and isinstance(context.layers[1], ClientTLSLayer):
            nextlayer.layer = self._http(context, HTTPMode.regular)
        elif tls:
            server_tls = ServerTLSLayer(context)
            server_tls.child_layer = ClientTLSLayer(context)
            nextlayer.layer = server_tls
        else:
            nextlayer.layer = self._http(context, HTTPMode.transparent)

    def tls_established_client(self, data: TlsData) -> None:
        """The handshake is over, and what comes next may take its time."""
        client_state(data.context.client).head_since = None

    def _http(self, context: Context, mode: HTTPMode) -> GateHttpLayer:
        return GateHttpLayer(context, mode, self._limits, self._budget)
