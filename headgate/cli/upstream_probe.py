"""Whether the operator's proxy lets this installation out (``headgate doctor``): connection, CONNECT, credentials.

It asks for a name that cannot exist (RFC 6761, section 6.4), so no tunnel reaches another host. A proxy checks the
credentials before it looks for the destination, and then answers that it is out of reach, or that it is refused.
"""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from headgate.cli.finding import Finding, Verdict
from headgate.configuration.settings import Settings
from headgate.kernel.errors import HeadgateError
from headgate.outgoing.resolver import SystemResolver
from headgate.outgoing.trust import trusted_roots
from headgate.outgoing.tunnel import TunnelError, Tunnels
from headgate.outgoing.upstream_proxy import UpstreamProxy, upstream_proxy_of

_NAME: Final = "headgate.invalid"
_PORT: Final = 443
_SECONDS: Final = 10.0
_PUBLIC_NAME: Final = "example.com"
"""Shows whether this machine resolves names; reserved for examples (RFC 2606)."""
_LOOK_UP_SECONDS: Final = 3.0
_NO_CONNECT: Final = frozenset({400, 404, 405, 501})


def check_upstream_proxy(settings: Settings) -> Iterator[Finding]:
    """Yields nothing if no proxy is set."""
    try:
        proxy = upstream_proxy_of(
            settings.upstream_proxy_url, settings.upstream_proxy_direct, settings.upstream_proxy_resolution
        )
        if proxy is None:
            return
        trust = trusted_roots(settings.upstream_ca_file)
    except HeadgateError as error:
        yield Finding(Verdict.WRONG, error.message)
        return
    resolver = SystemResolver()
    try:
        yield asyncio.run(_ask(proxy, Tunnels(proxy, trust, resolver)))
    finally:
        resolver.close()
    yield _resolution(proxy)


async def _ask(proxy: UpstreamProxy, tunnels: Tunnels) -> Finding:
    where = f"the upstream proxy at {proxy.host}:{proxy.port}"
    try:
        async with asyncio.timeout(_SECONDS):
            (await tunnels.open([_NAME], _PORT)).abort()
    except TimeoutError:
        return Finding(
            Verdict.WRONG, f"{where} did not answer within {_SECONDS:g} s: check the address, the port and the firewall"
        )
    except TunnelError as error:
        if error.status is None:
            return Finding(Verdict.WRONG, f"{error} ({proxy.host}:{proxy.port})")
        if error.status == 407 and proxy.authorization is None:
            return Finding(
                Verdict.WRONG, f"{where} asks for a user and a password (407): set them in HEADGATE_UPSTREAM_PROXY_URL"
            )
        if error.status == 407:
            return Finding(
                Verdict.WRONG,
                f"{where} does not accept the user and password of HEADGATE_UPSTREAM_PROXY_URL (407). Characters such"
                " as @ : / in them are written as %40 %3A %2F",
            )
        if error.status in _NO_CONNECT:
            return Finding(
                Verdict.WRONG,
                f"{where} does not open tunnels ({error.status} to CONNECT): set HEADGATE_UPSTREAM_PROXY_URL to a"
                " forward proxy that permits CONNECT",
            )
    credentials = "" if proxy.authorization is None else ", and accepts its user and password"
    return Finding(Verdict.OK, f"{where} answers CONNECT{credentials}")


def _resolution(proxy: UpstreamProxy) -> Finding:
    if proxy.resolves_names:
        return Finding(Verdict.OK, "the upstream proxy resolves names (HEADGATE_UPSTREAM_PROXY_RESOLUTION=proxy)")
    if _is_resolved(_PUBLIC_NAME):
        return Finding(Verdict.OK, "this machine resolves names (HEADGATE_UPSTREAM_PROXY_RESOLUTION=local)")
    return Finding(
        Verdict.WRONG,
        f"this machine does not resolve {_PUBLIC_NAME}, and calls to public names fail: give it a name server, or set"
        " HEADGATE_UPSTREAM_PROXY_RESOLUTION=proxy (docs/guides/production.md)",
    )


def _is_resolved(name: str) -> bool:
    """Looks the name up in a thread, which is abandoned if no name server answers: a look-up cannot be cancelled."""
    found: list[object] = []

    def look_up() -> None:
        with suppress(OSError):
            found.extend(socket.getaddrinfo(name, _PORT, type=socket.SOCK_STREAM))

    thread = threading.Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(_LOOK_UP_SECONDS)
    return bool(found)
