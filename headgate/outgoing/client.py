"""The one client for calls that Headgate makes itself: webhooks, notifications, executions.

Every call has a connection of its own: what was judged for one organization serves no other, an idle connection
cannot be closed under a request that must not be sent twice, and a changed allowlist holds from the next call on.
Redirects are answers, the environment's proxies are not asked, and nothing is decompressed (OWASP's SSRF
prevention cheat sheet; CWE-409 for the last).
"""

import asyncio
import re
import ssl
import time
from contextlib import aclosing
from typing import Final

import httpcore

from headgate.kernel.errors import ValidationError
from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.guarded_network import GuardedNetwork
from headgate.outgoing.model import (
    OutgoingError,
    OutgoingFailure,
    OutgoingLimits,
    OutgoingRequest,
    OutgoingResponse,
)
from headgate.outgoing.resolver import Resolver
from headgate.outgoing.target import Target, parse_target
from headgate.outgoing.trust import TlsIdentity, with_identity

_METHOD: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}")
_OURS: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"})
_USER_AGENT: Final = ("User-Agent", "headgate")


class OutgoingClient:
    """``trust`` says whom TLS believes (``trust.trusted_roots``)."""

    def __init__(self, trust: ssl.SSLContext, resolve: Resolver) -> None:
        self._trust = trust
        self._resolve = resolve

    async def send(
        self,
        request: OutgoingRequest,
        rules: DestinationRules,
        limits: OutgoingLimits | None = None,
        identity: TlsIdentity | None = None,
    ) -> OutgoingResponse:
        """The answer, whatever its status. ``identity`` is shown in the TLS handshake. Raises OutgoingError."""
        bounds = limits or OutgoingLimits()
        started = time.monotonic()
        target, message = _prepared(request, bounds)
        network = GuardedNetwork(rules, self._resolve)
        connection = httpcore.AsyncHTTPConnection(
            origin=message.url.origin,
            ssl_context=self._trust if identity is None else with_identity(self._trust, identity),
            http2=False,
            network_backend=network,
        )
        head: list[int] = []
        try:
            async with asyncio.timeout(bounds.deadline_seconds), aclosing(connection):
                return await _exchange(connection, message, bounds, started, head)
        except OutgoingError:
            raise
        except TimeoutError as error:
            raise OutgoingError(
                OutgoingFailure.DEADLINE,
                f"{target.host} did not answer in full within {bounds.deadline_seconds:g} s",
                may_have_been_sent=network.has_written,
                status=head[0] if head else None,
            ) from error
        except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            raise _broken(error, target, network, head) from error


async def _exchange(
    connection: httpcore.AsyncHTTPConnection,
    message: httpcore.Request,
    bounds: OutgoingLimits,
    started: float,
    head: list[int],
) -> OutgoingResponse:
    response = await connection.handle_async_request(message)
    head.append(response.status)
    try:
        body, is_truncated = await _bounded(response, bounds.response_max_bytes)
    finally:
        await response.aclose()
    return OutgoingResponse(
        status=response.status,
        headers=tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers),
        body=body,
        is_truncated=is_truncated,
        latency_ms=(time.monotonic() - started) * 1000,
    )


async def _bounded(response: httpcore.Response, most: int) -> tuple[bytes, bool]:
    body = bytearray()
    async for piece in response.aiter_stream():
        body += piece
        if len(body) > most:
            return bytes(body[:most]), True
    return bytes(body), False


def _prepared(request: OutgoingRequest, bounds: OutgoingLimits) -> tuple[Target, httpcore.Request]:
    try:
        target = parse_target(request.url)
    except ValidationError as error:
        raise OutgoingError(OutgoingFailure.INVALID_REQUEST, error.message) from error
    if _METHOD.fullmatch(request.method) is None or request.method.upper() == "CONNECT":
        raise OutgoingError(OutgoingFailure.INVALID_REQUEST, "not a method that can be sent")
    given = {name.lower() for name, _ in request.headers}
    if given & _OURS:
        raise OutgoingError(
            OutgoingFailure.INVALID_REQUEST, f"the header {sorted(given & _OURS)[0]} is not the caller's to set"
        )
    headers = [("Host", target.authority), *request.headers]
    headers += [one for one in (_USER_AGENT, ("Accept-Encoding", "identity")) if one[0].lower() not in given]
    if request.body or request.method.upper() in ("POST", "PUT", "PATCH"):
        headers.append(("Content-Length", str(len(request.body))))
    headers.append(("Connection", "close"))
    try:
        encoded = [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers]
    except UnicodeEncodeError as error:
        raise OutgoingError(OutgoingFailure.INVALID_REQUEST, "a header holds what a header cannot") from error
    return target, httpcore.Request(
        method=request.method.encode("ascii"),
        url=httpcore.URL(
            scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.path
        ),
        headers=encoded,
        content=request.body,
        extensions={"timeout": {"connect": bounds.connect_seconds}},
    )


def _broken(error: Exception, target: Target, network: GuardedNetwork, head: list[int]) -> OutgoingError:
    if isinstance(error, httpcore.LocalProtocolError) and not head:
        return OutgoingError(OutgoingFailure.INVALID_REQUEST, "a header holds what a header cannot")
    if isinstance(error, httpcore.ConnectTimeout):
        return OutgoingError(OutgoingFailure.CONNECT_TIMEOUT, f"{target.host} did not finish the TLS handshake in time")
    return OutgoingError(
        OutgoingFailure.BROKEN,
        f"{target.host} broke off" + (" in the middle of its answer" if head else " before it answered"),
        may_have_been_sent=network.has_written,
        status=head[0] if head else None,
    )
