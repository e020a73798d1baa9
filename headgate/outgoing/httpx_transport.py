"""For services that the operator has named and that are called through httpx: identity providers, signers, witnesses.

Every request has a connection of its own, which ends with it, whatever ends it. httpx's time limit holds for the whole
exchange: its own starts anew with every byte that arrives.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import httpcore
import httpx

from headgate.organizations.addresses import Address
from headgate.outgoing.line import Line, new_line
from headgate.outgoing.model import OutgoingError, OutgoingFailure
from headgate.outgoing.resolver import SystemResolver
from headgate.outgoing.target import Target
from headgate.outgoing.tunnel import Tunnels
from headgate.outgoing.upstream_proxy import UpstreamProxy

EXCHANGE_SECONDS: Final = 10.0
ANSWER_BYTES_MAX: Final = 1024 * 1024
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_FAILURES: Final = (OutgoingError, httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, OSError)


class _OperatorsChoice:
    """Addresses in the settings of a process may be private."""

    def permits(self, host: str, address: Address, port: int) -> bool:
        del host, address, port
        return True


def open_operator_client(
    trust: ssl.SSLContext, seconds: float = EXCHANGE_SECONDS, proxy: UpstreamProxy | None = None
) -> httpx.AsyncClient:
    """``seconds``: for a whole exchange, where a request says nothing else. No redirect is followed, and no proxy of
    the environment is asked: the gate does not call through itself. ``proxy``: HEADGATE_UPSTREAM_PROXY_URL."""
    return httpx.AsyncClient(
        transport=SingleUseTransport(trust, proxy),
        trust_env=False,
        follow_redirects=False,
        timeout=seconds,
        headers={"connection": "close"},
    )


class SingleUseTransport(httpx.AsyncBaseTransport):
    """Answers beyond ``ANSWER_BYTES_MAX`` are broken off."""

    def __init__(self, trust: ssl.SSLContext, proxy: UpstreamProxy | None = None) -> None:
        self._trust = trust
        self._resolve = SystemResolver()
        self._tunnels = None if proxy is None else Tunnels(proxy, trust, self._resolve)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url, timeouts = request.url, request.extensions.get("timeout", {})
        port = url.port or _DEFAULT_PORTS.get(url.scheme)
        if port is None or not url.host:
            raise httpx.UnsupportedProtocol("the address must begin with https:// or http://", request=request)
        target = Target(url.scheme, url.raw_host.decode(), port, url.raw_path)
        exchange = _Exchange(
            request,
            new_line(target, self._trust, _ANY, self._resolve, self._tunnels),
            asyncio.get_running_loop().time() + (timeouts.get("read") or EXCHANGE_SECONDS),
        )
        return await exchange.begin(timeouts.get("connect"))

    async def aclose(self) -> None:
        self._resolve.close()


_ANY: Final = _OperatorsChoice()


@dataclass(slots=True)
class _Exchange(httpx.AsyncByteStream):
    """One request, and the body of its answer. ``ends_at``: on the loop's clock."""

    request: httpx.Request
    line: Line
    ends_at: float
    response: httpcore.Response | None = None

    async def begin(self, connect_seconds: float | None) -> httpx.Response:
        url = self.request.url
        message = httpcore.Request(
            method=self.request.method.encode(),
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=self.request.headers.raw,
            content=self.request.stream,
            extensions={"timeout": {"connect": connect_seconds}},
        )
        try:
            async with asyncio.timeout_at(self.ends_at):
                self.response = response = await self.line.connection.handle_async_request(message)
        except _FAILURES as error:
            self.line.close()
            raise self._told(error) from error
        except BaseException:
            self.line.close()
            raise
        return httpx.Response(response.status, headers=response.headers, stream=self, extensions=response.extensions)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert self.response is not None  # noqa: S101 - begin has returned
        count = 0
        pieces = self.response.aiter_stream()
        try:
            while True:
                async with asyncio.timeout_at(self.ends_at):
                    piece = await anext(pieces, None)
                if piece is None:
                    return
                count += len(piece)
                if count > ANSWER_BYTES_MAX:
                    raise httpx.ReadError(f"the answer is over {ANSWER_BYTES_MAX} bytes", request=self.request)
                yield piece
        except _FAILURES as error:
            raise self._told(error) from error
        finally:
            self.line.close()

    async def aclose(self) -> None:
        self.line.close()

    def _told(self, error: Exception) -> httpx.TransportError:
        match error:
            case TimeoutError() | httpcore.TimeoutException():
                return httpx.ReadTimeout("no answer in time", request=self.request)
            case OutgoingError(failure=OutgoingFailure.TLS):
                return httpx.ConnectError(str(error.__cause__ or error), request=self.request)
            case OutgoingError():
                return httpx.ConnectError(error.message, request=self.request)
            case httpcore.ProtocolError():
                return httpx.RemoteProtocolError(str(error) or "the answer is not HTTP", request=self.request)
        return httpx.ReadError(str(error) or "the connection broke", request=self.request)
