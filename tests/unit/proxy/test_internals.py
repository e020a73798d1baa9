"""The parts of mitmproxy and asyncio that the gate stands on are the ones it was written against.

``proxy.dispatch``, ``proxy.connection``, ``proxy.layers``, ``proxy.stream`` and what it holds,
``proxy.client_certificate``, ``proxy.websocket``, ``proxy.http1``, ``proxy.http2``, ``proxy.next_layer``,
``proxy.fast_headers`` and ``proxy.resolver`` stand on internals. When one of these fails after an upgrade: read what
changed in the named function, check the gate's own code against it, run tests/integration/proxy, and then take over the
new value.
"""

import asyncio
import hashlib
import inspect
from collections.abc import Callable

import pytest
from mitmproxy import addonmanager, http, master
from mitmproxy.addons import next_layer, proxyserver, tlsconfig
from mitmproxy.coretypes import multidict
from mitmproxy.proxy import commands, context, layer, mode_servers, server, tunnel
from mitmproxy.proxy.layers import http as http_layers
from mitmproxy.proxy.layers import modes, tls, websocket
from mitmproxy.proxy.layers.http import _http1, _http2, _http_h2
from wsproto import extensions

from proxy.commands import Awaited
from proxy.layers import ROUTED

PINNED: dict[Callable[..., object] | type, str] = {
    # proxy.dispatch
    addonmanager.AddonManager: "6be8dc580f5c66bf",
    http.MessageData: "bad2ea9a351a70d6",
    # proxy.fast_headers
    http.Headers: "947aa0298abd4010",
    multidict._MultiDict: "fce5ae993af6fbff",
    # proxy.master
    master.Master: "e466d3e6ff5956c3",
    # proxy.connection and proxy.listener
    server.ConnectionHandler: "f7209a1273f3da94",
    server.LiveConnectionHandler: "7e512dd40fb290b9",
    modes.HttpProxy: "9ca8027a4b749d23",
    mode_servers.ProxyConnectionHandler: "10e340d70b3f23d9",
    mode_servers.ServerInstance.handle_stream: "21eea06f208c752e",
    # proxy.layers, proxy.stream, proxy.http1, proxy.http2
    context.Context: "dd52bbec90eacace",
    layer.Layer: "e98dedd896fb7cd2",
    layer.NextLayer: "3cbcbafad282cba3",
    http_layers.HttpStream: "baaac4f7cdb36a32",
    http_layers.HttpLayer: "8da4a8a48e637b88",
    http_layers.HttpClient: "8401d422afdaff15",
    http_layers.validate_request: "e7cec257ce91b7c5",
    _http1.Http1Connection: "c0675638b0756013",
    _http1.Http1Server: "cc8428d0bb6f79a5",
    _http1.Http1Client: "706b7a68f2809929",
    _http2.Http2Connection: "2aab9ba553a3721c",
    _http2.Http2Server: "97aac4eab18a0294",
    _http2.Http2Client: "a113056f7d2beb2f",  # proxy.unsent_bytes
    _http_h2.BufferedH2Connection: "c085c1abb1f4c477",
    # proxy.next_layer
    next_layer.NextLayer: "02714dcb0ce057df",
    tunnel.TunnelLayer: "a0a2a31af17dfacb",
    tls.ClientTLSLayer: "b76248ba39a93ae9",
    tlsconfig.TlsConfig.tls_start_client: "d3093c897eeafc2f",
    tlsconfig.TlsConfig.tls_start_server: "2e2dc9c25670cf64",
    # proxy.websocket
    websocket.WebsocketLayer: "094cd5f8cf031433",
    websocket.WebsocketConnection: "9c6f5dd6ece0042e",
    extensions.PerMessageDeflate: "809ab54469c440bb",
    # proxy.options
    proxyserver.Proxyserver: "537530cd71865ba8",
}

RESOLUTION: dict[Callable[..., object], tuple[str, ...]] = {
    # Where asyncio decides what to connect to: only these two may turn a name into addresses.
    asyncio.BaseEventLoop._ensure_resolved: ("_ipaddr_info(", "await loop.getaddrinfo("),
    asyncio.BaseEventLoop.create_connection: ("await self._ensure_resolved(",),
    # proxy.connection waits for bytes as ``read`` does, without taking them.
    asyncio.StreamReader.read: ("if not self._buffer and not self._eof:", "await self._wait_for_data('read')"),
}


def digest(subject: Callable[..., object] | type) -> str:
    return hashlib.sha256(inspect.getsource(subject).encode()).hexdigest()[:16]


@pytest.mark.parametrize("subject", PINNED, ids=lambda subject: subject.__qualname__)
def test_mitmproxy_is_as_it_was(subject: Callable[..., object]) -> None:
    assert digest(subject) == PINNED[subject]


def test_the_http_layer_routes_kinds_without_subclasses() -> None:
    for kind in {*ROUTED, commands.RequestWakeup}:
        assert [one for one in kind.__subclasses__() if one not in {*ROUTED, Awaited}] == []


@pytest.mark.parametrize("subject", RESOLUTION, ids=lambda subject: subject.__qualname__)
def test_asyncio_resolves_names_in_one_place(subject: Callable[..., object]) -> None:
    source = inspect.getsource(subject)
    for call in RESOLUTION[subject]:
        assert call in source
    assert "socket.getaddrinfo" not in source
