"""Who is calling: proved on CONNECT and on plain requests, and never forwarded.

``Proxy-Authorization: Basic`` with the key as the password (what ``HTTPS_PROXY=http://agent:KEY@host:port``
makes every client send; RFC 7617) or ``Bearer`` with the key; on plain requests also ``X-Agent-Key``. Inside a
tunnel the identity is the CONNECT's; ``headgate.gate.caller`` asks again for each request whether the key
still works. A connection keeps the identity it began with: upstream connections are shared within it.
"""

import base64
import binascii
from collections.abc import Coroutine
from typing import Final

from mitmproxy.http import Headers, HTTPFlow

from addons.refuse import refuse_with
from addons.verdict import allow, client_state, flow_state, is_open
from headgate.agents.authenticate import KeyRing
from headgate.agents.scopes import Scope, require_scope
from headgate.gate.caller import Caller, Callers
from headgate.gate.organization_state import OrganizationStates
from headgate.kernel.clock import Clock
from headgate.kernel.errors import AgentUnauthorizedError, HeadgateError, UnauthorizedError
from headgate.kernel.secrets import Secret
from headgate.ratelimits.classes import RateClass
from headgate.ratelimits.headers import require_allowed
from headgate.ratelimits.local import LocalLimiter

_KEY_HEADER: Final = b"x-agent-key"
_NEVER_FORWARDED: Final = (b"x-agent-key", b"x-agent-id")
_HOW: Final = "set HTTPS_PROXY to http://agent:KEY@host:port with an agent's key"


class Identify:
    """No identity, no passage: 407."""

    def __init__(
        self,
        *,
        keys: KeyRing,
        states: OrganizationStates,
        clock: Clock,
        api_origin: tuple[str, int] | None,
        limiter: LocalLimiter | None,
    ) -> None:
        self._limiter = limiter
        self._api_origin = api_origin
        self._keys = keys
        self._callers = Callers(states, keys, clock)

    async def http_connect(self, flow: HTTPFlow) -> None:
        if not is_open(flow):
            return
        try:
            await self._identify(flow, take_key(flow.request.headers))
            self._limit_tunnels(flow)
        except HeadgateError as error:
            refuse_with(flow, as_proxy_refusal(error))
        else:
            allow(flow)

    def _limit_tunnels(self, flow: HTTPFlow) -> None:
        """A tunnel costs a handshake, and with a name of its own a certificate: more than most requests."""
        caller = flow_state(flow).client.caller
        if self._limiter is not None and caller is not None:
            require_allowed(self._limiter.check(RateClass.CONNECT, subject_of(caller)))

    def requestheaders(self, flow: HTTPFlow) -> Coroutine[None, None, None] | None:
        """Waits only for a key that this connection has not shown before: a task for each request costs 18 µs."""
        # Stripped from every request, refused ones included, inside tunnels too.
        headers = flow.request.headers
        shown = headers.get("x-agent-key")
        key = take_key(headers)
        if not is_open(flow):
            return None
        if shown is not None and (flow.request.data.host, flow.request.data.port) == self._api_origin:
            # The status address of a held call is the gate's own API, which asks for the agent's own key.
            headers["x-agent-key"] = shown
        if key is None and client_state(flow.client_conn).caller is not None:
            return None
        return self._identify_or_refuse(flow, key)

    async def _identify_or_refuse(self, flow: HTTPFlow, key: Secret | None) -> None:
        try:
            await self._identify(flow, key)
        except HeadgateError as error:
            refuse_with(flow, as_proxy_refusal(error))

    async def _identify(self, flow: HTTPFlow, key: Secret | None) -> None:
        if key is None:
            raise AgentUnauthorizedError(f"This connection sent no agent key: {_HOW}")
        client = flow_state(flow).client
        known = client.caller
        if known is not None and known.key == key:
            return
        identity = await self._keys.authenticate(key.reveal())
        if identity.agent_id is None:
            raise AgentUnauthorizedError("this key is not an agent's: calls are made with an agent's key")
        # A call through the gate is an action, as POST /v1/actions is one: a key that only reads makes none.
        require_scope(identity.scopes, Scope.ACTIONS_WRITE)
        if known is not None and (known.identity.org_id, known.identity.agent_id) != (
            identity.org_id,
            identity.agent_id,
        ):
            # Another agent on the same connection would inherit what the first one reached.
            raise AgentUnauthorizedError("this connection belongs to another agent: open a new one")
        caller = Caller(key, identity)
        state, _ = await self._callers.at_one_generation(caller)
        client.identify(caller)
        client.rules = state.allowlist


def subject_of(caller: Caller) -> str:
    """Whose requests are counted together."""
    return f"{caller.identity.org_id}/{caller.identity.agent_id}"


def as_proxy_refusal(error: HeadgateError) -> HeadgateError:
    """A credential refused here is 407, never 401: the agent's own origin did not say so (RFC 9110, 15.5.8)."""
    return AgentUnauthorizedError(error.message) if isinstance(error, UnauthorizedError) else error


def take_key(headers: Headers) -> Secret | None:
    """The key that the request shows; every header that could show one is removed."""
    key: Secret | None = None
    kept = []
    for name, value in headers.fields:
        lower = name.lower()
        if lower == b"proxy-authorization":
            key = _from_authorization(value) or key
        elif lower == _KEY_HEADER:
            key = key or Secret(value.decode("latin-1").strip())
        if not lower.startswith(b"proxy-") and lower not in _NEVER_FORWARDED:
            kept.append((name, value))
    if len(kept) != len(headers.fields):
        headers.fields = tuple(kept)
    return key


def _from_authorization(value: bytes) -> Secret | None:
    scheme, _, credentials = value.strip().partition(b" ")
    credentials = credentials.strip()
    if scheme.lower() == b"bearer":
        return Secret(credentials.decode("latin-1"))
    if scheme.lower() != b"basic":
        return None
    try:
        user_pass = base64.b64decode(credentials, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return Secret(user_pass.partition(":")[2])
