"""A connection's certificate in the TLS handshake with its platform, and TLS connections that nobody else's calls use.

A certificate belongs to a TLS connection, not to a request: whatever is sent over it counts as its owner's. So one that
has shown a certificate serves only calls of the same agent with the same connection and the same certificate, and one
that has shown none never serves a call that needs one. Extends internal classes of mitmproxy; see ``proxy.layers``.
"""

from typing import Any

from mitmproxy.addons import tlsconfig
from mitmproxy.connection import Connection, Server
from mitmproxy.net import tls as net_tls
from mitmproxy.options import Options
from mitmproxy.proxy.layers.http import GetHttpConnection
from mitmproxy.tls import TlsData
from OpenSSL import SSL

from headgate.connections.certificate import show_certificate
from headgate.connections.credential import CertificateCredential, ShownCertificate
from proxy.commands import Commands


class GateServer(Server):
    """A connection to a destination. ``is_of_socket``: for the one WebSocket that it was opened for."""

    is_of_socket = False


class ShowingServer(GateServer):
    """A connection to a destination that shows ``shown`` in its handshake, and is its alone."""

    shown: ShownCertificate


class GateHttpConnection(GetHttpConnection):
    """Asks for a connection that shows exactly ``shown``, or none where that is None. ``is_for_socket``: a new one, of
    HTTP/1.1, for a WebSocket whose client came over HTTP/2."""

    shown: ShownCertificate | None = None
    is_for_socket = False

    def connection_spec_matches(self, connection: Connection) -> bool:
        if isinstance(connection, GateServer) and connection.is_of_socket:
            return False
        has_shown = connection.shown if isinstance(connection, ShowingServer) else None
        return has_shown == self.shown and super().connection_spec_matches(connection)


def showing(inner: Commands[bool], shown: ShownCertificate | None, *, is_for_socket: bool) -> Commands[bool]:
    """mitmproxy's way to a server, but never over a connection that shows another certificate than ``shown``."""
    reply: Any = None
    while True:
        try:
            command = inner.send(reply)
        except StopIteration as done:
            return bool(done.value)
        if isinstance(command, GetHttpConnection):
            wanted = GateHttpConnection(command.address, command.tls, command.via, command.transport_protocol)
            wanted.shown, wanted.is_for_socket = shown, is_for_socket
            command = wanted
        reply = yield command


class GateTlsConfig(tlsconfig.TlsConfig):
    """mitmproxy's, with a certificate for the connections that are to show one."""

    name = "tlsconfig"

    def __init__(self, options: Options) -> None:
        super().__init__()
        self._options = options

    def tls_start_server(self, tls_start: TlsData) -> None:
        if not isinstance(tls_start.conn, ShowingServer):
            super().tls_start_server(tls_start)
            return
        # Before there is a TLS connection: without one mitmproxy closes, and nothing is sent without the certificate.
        context = _context(tls_start.conn.shown.credential, self._options)
        super().tls_start_server(tls_start)
        if tls_start.ssl_conn is None:
            raise RuntimeError("no TLS connection was made")
        # Whom it believes and which name it wants stay as they were set; the certificate and the roots are this one's.
        tls_start.ssl_conn.set_context(context)


def _context(credential: CertificateCredential, options: Options) -> SSL.Context:
    """The roots of upstream servers, and the certificate. Raises UnavailableError."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_min_proto_version(net_tls.Version[options.tls_version_server_min].value)
    context.set_verify(SSL.VERIFY_PEER, None)
    context.load_verify_locations(options.ssl_verify_upstream_trusted_ca)
    show_certificate(context, credential)
    return context
