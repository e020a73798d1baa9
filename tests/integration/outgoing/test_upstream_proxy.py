"""Headgate's own calls through the operator's proxy: the destination rules hold, and failures are said."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest

from headgate.kernel.secrets import Secret
from headgate.organizations.addresses import Address
from headgate.organizations.destinations import PUBLIC_ONLY, parse_allowlist
from headgate.outgoing.clear_text import PrivateOnly
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.httpx_transport import open_operator_client
from headgate.outgoing.model import OutgoingError, OutgoingFailure, OutgoingRequest
from headgate.outgoing.trust import trusted_roots
from headgate.outgoing.upstream_proxy import UpstreamProxy, may_be_public, upstream_proxy_of
from tests.forward_proxy import ForwardProxy, forward_proxy
from tests.integration.outgoing.receivers import Receivers, answering, receivers, write_certificate

NAME = "receiver.example"
PUBLIC = "93.184.215.14"


@pytest.fixture
async def world() -> AsyncIterator[Receivers]:
    async with receivers() as made:
        yield made


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("certificates"), NAME)


@pytest.fixture
def server_tls(certificate: Path) -> ssl.SSLContext:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    return tls


class Names:
    """``receiver.example`` resolves to ``address``; another name has none."""

    def __init__(self, address: str = PUBLIC) -> None:
        self.address = address

    async def __call__(self, host: str, port: int) -> Sequence[Address]:
        if host == NAME:
            return [ip_address(self.address)]
        try:
            return [ip_address(host)]
        except ValueError:
            raise OSError("no such name") from None


def through(corporate: ForwardProxy, resolution: str = "local", direct: str = "") -> UpstreamProxy:
    proxy = upstream_proxy_of(Secret(f"http://u:pw@127.0.0.1:{corporate.port}"), direct, resolution)
    assert proxy is not None
    return proxy


async def test_a_call_through_the_proxy(world: Receivers, server_tls: ssl.SSLContext, certificate: Path) -> None:
    receiver = await world.start(answering(200, b"made"), tls=server_tls)
    async with forward_proxy() as corporate:
        corporate.reach, corporate.credentials = ("127.0.0.1", receiver.port), "u:pw"
        client = OutgoingClient(trusted_roots(certificate), Names(), through(corporate))
        for _ in range(2):
            response = await client.send(OutgoingRequest("POST", f"https://{NAME}/a", body=b"hi"), PUBLIC_ONLY)
            assert (response.status, response.body) == (200, b"made")
        assert corporate.asked == [f"{PUBLIC}:443"] * 2


async def test_tls_in_tls_and_what_is_called_through_httpx(
    world: Receivers, server_tls: ssl.SSLContext, tmp_path: Path, certificate: Path
) -> None:
    receiver = await world.start(answering(200, b"made" * 100_000), tls=server_tls)
    proxy_certificate = write_certificate(tmp_path, "localhost")
    proxy_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    proxy_tls.load_cert_chain(proxy_certificate)
    trust = trusted_roots(certificate)
    trust.load_verify_locations(proxy_certificate)
    async with forward_proxy(proxy_tls) as corporate:
        corporate.reach = ("127.0.0.1", receiver.port)
        proxy = upstream_proxy_of(Secret(f"https://localhost:{corporate.port}"), None, "proxy")
        # The proxy is asked for the name; the machine's own resolver knows localhost.
        async with open_operator_client(trust, proxy=proxy) as client:
            answer = await client.get(f"https://{NAME}/x")
            assert (answer.status_code, len(answer.content)) == (200, 400_000)
        assert corporate.asked == [f"{NAME}:443"]


@pytest.mark.parametrize(
    ("given", "says"),
    [(b"HTTP/1.1 407 Auth\r\n\r\n", "(407)"), (b"HTTP/1.1 403 No\r\n\r\n", "(403)"), (b"junk\r\n\r\n", "not HTTP")],
)
async def test_no_tunnel(given: bytes, says: str) -> None:
    async with forward_proxy() as corporate:
        corporate.answer = given
        client = OutgoingClient(trusted_roots(None), Names(), through(corporate))
        with pytest.raises(OutgoingError) as raised:
            await client.send(OutgoingRequest("POST", f"https://{NAME}/", body=b"x"), PUBLIC_ONLY)
        assert (raised.value.failure, raised.value.may_have_been_sent) == (OutgoingFailure.UNREACHABLE, False)
        assert says in raised.value.message
        async with open_operator_client(trusted_roots(None), proxy=through(corporate)) as operator:
            with pytest.raises(httpx.ConnectError):
                await operator.get(f"https://{PUBLIC}/")


@pytest.mark.parametrize("resolution", ["local", "proxy"])
async def test_the_rules_hold(resolution: str) -> None:
    async with forward_proxy() as corporate:
        for address in ("10.0.0.1", "169.254.169.254", "127.0.0.1"):
            client = OutgoingClient(trusted_roots(None), Names(address), through(corporate, resolution))
            for host in (NAME, address):
                with pytest.raises(OutgoingError) as raised:
                    await client.send(OutgoingRequest("GET", f"https://{host}/"), PUBLIC_ONLY)
                assert raised.value.failure is OutgoingFailure.BLOCKED
        # Nothing goes in the clear to where nobody knows it leads.
        for host in (NAME, "unknown.example.com"):
            client = OutgoingClient(trusted_roots(None), Names(), through(corporate, resolution))
            with pytest.raises(OutgoingError) as raised:
                await client.send(OutgoingRequest("GET", f"http://{host}/"), PrivateOnly(PUBLIC_ONLY))
            assert raised.value.failure in (OutgoingFailure.BLOCKED, OutgoingFailure.UNRESOLVED)
        assert corporate.asked == []


async def test_a_private_name_is_asked_for_by_its_address(world: Receivers) -> None:
    """The proxy's resolver might say another one than was permitted."""
    receiver = await world.start(answering(200, b"made"))
    rules = parse_allowlist(f'{{"destinations": [{{"host": "{NAME}", "private": true}}]}}', None)
    async with forward_proxy() as corporate:
        corporate.reach = ("127.0.0.1", receiver.port)
        client = OutgoingClient(trusted_roots(None), Names("10.0.0.1"), through(corporate, "proxy"))
        assert (await client.send(OutgoingRequest("GET", f"http://{NAME}/"), rules)).status == 200
        assert corporate.asked == ["10.0.0.1:80"]


@pytest.mark.parametrize("direct", [NAME, "127.0.0.0/8", ""])
async def test_what_is_near_or_named_goes_directly(world: Receivers, direct: str) -> None:
    receiver = await world.start(answering(200, b"made"))
    rules = parse_allowlist(f'{{"destinations": [{{"host": "{NAME}", "private": true}}]}}', None)
    async with forward_proxy() as corporate:
        client = OutgoingClient(trusted_roots(None), Names("127.0.0.1"), through(corporate, direct=direct))
        assert (await client.send(OutgoingRequest("GET", f"http://{NAME}:{receiver.port}/"), rules)).status == 200
        assert corporate.asked == []


async def test_a_direct_name_without_an_address_is_not_asked_for() -> None:
    async with forward_proxy() as corporate:
        client = OutgoingClient(trusted_roots(None), Names(), through(corporate, "proxy", direct="*.example.com"))
        with pytest.raises(OutgoingError) as raised:
            await client.send(OutgoingRequest("GET", "https://build.example.com/"), PUBLIC_ONLY)
        assert raised.value.failure is OutgoingFailure.UNRESOLVED
        assert corporate.asked == []


@pytest.mark.parametrize(
    ("host", "is_direct"),
    [("build.corp.example", True), ("BUILD.corp.example.", True), ("corp.example", False), ("git.example.com", True)],
)
def test_names_that_the_operator_named(host: str, is_direct: bool) -> None:
    proxy = upstream_proxy_of(Secret("http://proxy.example.com"), "*.corp.example,git.example.com", "local")
    assert proxy is not None and proxy.is_direct_name(host) is is_direct


async def test_a_proxy_that_never_answers_is_given_up() -> None:
    async with forward_proxy() as corporate:
        corporate.answer = b""
        client = OutgoingClient(trusted_roots(None), Names(), through(corporate))
        with pytest.raises(OutgoingError) as raised:
            async with asyncio.timeout(20):
                await client.send(OutgoingRequest("GET", f"https://{NAME}/"), PUBLIC_ONLY)
        assert raised.value.failure is OutgoingFailure.CONNECT_TIMEOUT
        assert raised.value.may_have_been_sent is False


@pytest.mark.parametrize(
    ("name", "is_public"),
    [
        ("api.example.com", True),
        ("xn--e1afmkfd.xn--p1ai.", True),
        ("localhost", False),
        ("vault", False),
        ("metadata.google.internal", False),
        ("printer.LOCAL.", False),
        ("127.1", False),
        ("0x7f.0x1", False),
        ("a..b", False),
    ],
)
def test_names_that_may_be_public(name: str, is_public: bool) -> None:
    assert may_be_public(name) is is_public
