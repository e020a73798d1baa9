"""The one client for calls that Headgate makes itself: webhooks, notifications, executions.

A call has a connection of its own: what was judged for one organization serves no other, an idle connection cannot be
closed under a request that must not be sent twice, and a changed allowlist holds from the next call on. Callers whose
requests may be sent twice can have connections kept (``kept_for``). A connection whose exchange did not end well is
closed at once, also when its caller cancels, so no broken connection outlives an outage.
Redirects are answers, the environment's proxies are not asked, and nothing is decompressed (OWASP's SSRF
prevention cheat sheet; CWE-409 for the last).
"""

import asyncio
import re
import ssl
import time
from typing import Final

import httpcore
from msgspec import Struct

from headgate.kernel.errors import ValidationError
from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.line import Destination, IdleLines, Line, new_line
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
from headgate.outgoing.tunnel import Tunnels
from headgate.outgoing.upstream_proxy import UpstreamProxy

_METHOD: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}")
_OURS: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"})
_USER_AGENT: Final = ("User-Agent", "headgate")


class OutgoingClient:
    """``trust`` says whom TLS believes (``trust.trusted_roots``); ``proxy``: the operator's own, if there is one."""

    def __init__(self, trust: ssl.SSLContext, resolve: Resolver, proxy: UpstreamProxy | None = None) -> None:
        self._trust = trust
        self._resolve = resolve
        self._tunnels = None if proxy is None else Tunnels(proxy, trust, resolve)
        self._idle = IdleLines()

    def close(self) -> None:
        """Closes the connections that are kept."""
        self._idle.close()

    async def send(
        self,
        request: OutgoingRequest,
        rules: DestinationRules,
        limits: OutgoingLimits | None = None,
        identity: TlsIdentity | None = None,
        *,
        kept_for: str | None = None,
    ) -> OutgoingResponse:
        """The answer, whatever its status. ``identity`` is shown in the TLS handshake; ``kept_for`` names the owner
        whose next request to this origin may use the connection, and allows a second try where a kept one turns out to
        be closed. Raises OutgoingError."""
        bounds = limits or OutgoingLimits()
        started = time.monotonic()
        target, message = _prepared(request, bounds, is_kept=kept_for is not None)
        trust = self._trust if identity is None else with_identity(self._trust, identity)
        destination = None if kept_for is None else Destination(kept_for, target.scheme, target.host, target.port)
        call = _Call(target, message, bounds, started)
        try:
            async with asyncio.timeout(bounds.deadline_seconds):
                if destination is not None and (line := self._idle.take(destination, rules)) is not None:
                    try:
                        return await self._on(line, call, destination)
                    except (httpcore.NetworkError, httpcore.ProtocolError):
                        if call.status is not None:
                            raise
                line = new_line(target, trust, rules, self._resolve, self._tunnels)
                return await self._on(line, call, destination)
        except OutgoingError:
            raise
        except TimeoutError as error:
            raise OutgoingError(
                OutgoingFailure.DEADLINE,
                f"{target.host} did not answer in full within {bounds.deadline_seconds:g} s",
                may_have_been_sent=call.has_written,
                status=call.status,
            ) from error
        except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            raise _broken(error, call) from error

    async def _on(self, line: Line, call: "_Call", destination: Destination | None) -> OutgoingResponse:
        is_kept = False
        try:
            response = await _exchange(line.connection, call)
            is_kept = destination is not None and line.is_reusable
            return response
        except BaseException:
            if destination is not None:
                self._idle.forget(destination)
            raise
        finally:
            call.has_written = call.has_written or line.network.has_written
            if is_kept and destination is not None:
                self._idle.keep(destination, line)
            else:
                line.close()


class _Call(Struct):
    """``status``: of the answer whose head has arrived."""

    target: Target
    message: httpcore.Request
    bounds: OutgoingLimits
    started: float
    status: int | None = None
    has_written: bool = False


async def _exchange(connection: httpcore.AsyncHTTPConnection, call: _Call) -> OutgoingResponse:
    response = await connection.handle_async_request(call.message)
    call.status = response.status
    try:
        body, is_truncated = await _bounded(response, call.bounds.response_max_bytes)
    finally:
        await response.aclose()
    return OutgoingResponse(
        status=response.status,
        headers=tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers),
        body=body,
        is_truncated=is_truncated,
        latency_ms=(time.monotonic() - call.started) * 1000,
    )


async def _bounded(response: httpcore.Response, most: int) -> tuple[bytes, bool]:
    body = bytearray()
    async for piece in response.aiter_stream():
        body += piece
        if len(body) > most:
            return bytes(body[:most]), True
    return bytes(body), False


def _prepared(request: OutgoingRequest, bounds: OutgoingLimits, *, is_kept: bool) -> tuple[Target, httpcore.Request]:
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
    if not is_kept:
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


def _broken(error: Exception, call: _Call) -> OutgoingError:
    host, has_head = call.target.host, call.status is not None
    if isinstance(error, httpcore.LocalProtocolError) and not has_head:
        return OutgoingError(OutgoingFailure.INVALID_REQUEST, "a header holds what a header cannot")
    if isinstance(error, httpcore.ConnectTimeout):
        return OutgoingError(OutgoingFailure.CONNECT_TIMEOUT, f"{host} did not finish the TLS handshake in time")
    return OutgoingError(
        OutgoingFailure.BROKEN,
        f"{host} broke off" + (" in the middle of its answer" if has_head else " before it answered"),
        may_have_been_sent=call.has_written,
        status=call.status,
    )
