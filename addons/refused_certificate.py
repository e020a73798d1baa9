"""Records which clients do not accept the gate's certificate, and whether they are pinned to another one.

Such a client ends TLS before it sends a request, and its program reports an error of TLS that does not mention
Headgate. There are three signs: an alert (RFC 8446, section 6.2), an end of the connection after the certificate was
shown, and an end right after the handshake (GnuTLS, and programs that compare the certificate themselves). A client
that accepts the gate's certificates for other hosts trusts its authority: it refuses the certificate of this host only.
"""

import re
from functools import partial
from typing import Final

import structlog
from mitmproxy.connection import Client
from mitmproxy.proxy.layer import NextLayer
from mitmproxy.tls import TlsData

from addons.metrics import REFUSALS
from addons.refused_call import refused_tunnel
from addons.verdict import ClientState, client_state
from headgate.audit.count_refusals import CERTIFICATE_REFUSED, RefusalCounts, RefusedRequest

_log = structlog.get_logger(__name__)

_ALERT: Final = re.compile(
    r"alert ((?:bad|unsupported) certificate|certificate (?:unknown|expired|revoked)|unknown ca|access denied)"
)
_CLOSED: Final = "The client disconnected during the handshake"
"""The beginning of mitmproxy's message."""

_AT_ONCE_SECONDS: Final = 1.0
"""At most so long after the handshake a client that refuses the certificate ends the connection. A client that keeps a
spare connection ends it later."""

_MOST_AGENTS: Final = 10_000
_MOST_HOSTS: Final = 32


class RefusedCertificates:
    """Counts refused certificates: one event a minute and agent, which names hosts and signs (``RefusalCounts``)."""

    def __init__(self, refusals: RefusalCounts) -> None:
        self._refusals = refusals
        self._accepted: dict[tuple[str, str], set[str]] = {}
        """Hosts, by organization and agent, for which a client has accepted the gate's certificate."""

    def tls_established_client(self, data: TlsData) -> None:
        address = data.context.server.address
        if address is not None:
            client_state(data.context.client).silent_tunnel = (address[0], address[1])

    def next_layer(self, nextlayer: NextLayer) -> None:
        """Called with the first bytes in a tunnel: its client has accepted the certificate."""
        client = client_state(nextlayer.context.client)
        address, client.silent_tunnel = client.silent_tunnel, None
        agent = _agent(client)
        if address is None or agent is None:
            return
        if len(self._accepted) >= _MOST_AGENTS and agent not in self._accepted:
            self._accepted.pop(next(iter(self._accepted)))
        hosts = self._accepted.setdefault(agent, set())
        if len(hosts) < _MOST_HOSTS:
            hosts.add(address[0])

    def tls_failed_client(self, data: TlsData) -> None:
        client, address = data.context.client, data.context.server.address
        error = client.error or ""
        alert = _ALERT.search(error)
        # Without a TLS connection of ours the client has seen no certificate.
        if address is None or data.ssl_conn is None or not (alert or error.startswith(_CLOSED)):
            return
        sign = f"the alert {alert[1]}" if alert else "ended the connection when it saw the certificate"
        self._count(client_state(client), (address[0], address[1]), sign)

    def client_disconnected(self, client: Client) -> None:
        state = client_state(client)
        established, ended = client.timestamp_tls_setup, client.timestamp_end
        if state.silent_tunnel is None or established is None or ended is None:
            return
        if ended - established < _AT_ONCE_SECONDS:
            self._count(state, state.silent_tunnel, "ended the connection after the handshake and sent nothing")

    def _count(self, client: ClientState, address: tuple[str, int], sign: str) -> None:
        REFUSALS.labels(CERTIFICATE_REFUSED.lower()).inc()
        identity = None if client.caller is None else client.caller.identity
        agent = _agent(client)
        host, port = address
        if identity is None or agent is None:
            _log.info("certificate_refused", host=host, port=port, sign=sign)
            return
        _log.info("certificate_refused", host=host, port=port, sign=sign, agent_id=agent[1])
        refused = RefusedRequest(agent[0], agent[1], identity.agent_name, CERTIFICATE_REFUSED)
        reason = f"client does not accept Headgate's certificate ({sign}): {self._meaning(agent, host)}"
        self._refusals.add(refused, partial(refused_tunnel, host, port, reason))

    def _meaning(self, agent: tuple[str, str], host: str) -> str:
        accepted = self._accepted.get(agent, set())
        if accepted - {host}:
            return (
                "this agent accepts it for other hosts, so the client is probably pinned to this host's own certificate"
            )
        if host in accepted:
            return "a program of this agent accepts it for this host, and this one does not"
        return "no program of this agent has accepted one yet, so it probably does not trust Headgate's authority"


def _agent(client: ClientState) -> tuple[str, str] | None:
    """The organization and the agent."""
    identity = None if client.caller is None else client.caller.identity
    return None if identity is None or identity.agent_id is None else (identity.org_id, identity.agent_id)
