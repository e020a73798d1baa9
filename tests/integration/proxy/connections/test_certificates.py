"""A connection's certificate is shown to its platform, for its calls only: nobody else's rides on that connection."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events
import pytest
from cryptography.hazmat.primitives import serialization

from headgate.connections.carried import carried
from headgate.connections.credential import CertificateCredential
from headgate.connections.model import AUTHORIZATION, ConnectionKind, Host
from headgate.connections.service import Binding
from tests.integration.proxy.connections.issuer import Issuer


@dataclass
class Platform:
    """Answers with who called. ``asked``: of each request its number of TLS connection and whom it showed."""

    port: int = 0
    connections: int = 0
    asked: list[tuple[int, str]] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        shown = writer.get_extra_info("ssl_object").getpeercert() or {}
        name = "".join(value for pairs in shown.get("subject", ()) for _, value in pairs) or "nobody"
        try:
            while True:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                self.asked.append((number, name))
                writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(name)}\r\n\r\n{name}".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def _platform(
    upstream_tls, issuer: Issuer, *, trusted: bool = True, required: bool = False
) -> AsyncIterator[Platform]:
    _, root = upstream_tls
    context = ssl.create_default_context(
        ssl.Purpose.CLIENT_AUTH, cadata=issuer.root.public_bytes(serialization.Encoding.PEM).decode()
    )
    context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
    if trusted:
        context.load_cert_chain(root.parent / "leaf.pem")
    else:
        stranger, path = issuer.pair("localhost"), root.parent / "stranger.pem"
        path.write_text(stranger["private_key"].reveal() + stranger["certificate"].reveal())
        context.load_cert_chain(path)
    platform = Platform()
    server = await asyncio.start_server(platform.serve, "127.0.0.1", 0, ssl=context)
    platform.port = server.sockets[0].getsockname()[1]
    try:
        yield platform
    finally:
        server.close()


@pytest.fixture
async def platform(upstream_tls, issuer) -> AsyncIterator[Platform]:
    async with _platform(upstream_tls, issuer) as running:
        yield running


async def _connect(keeper, platform: Platform, secrets, **changes):
    hosts = (Host("127.0.0.1", platform.port),)
    return await keeper.connect(kind=ConnectionKind.MTLS, hosts=hosts, secrets=secrets, **changes)


async def _one(reader, writer, platform: Platform, path: str = "/") -> str:
    """The body of one answer in a tunnel that stays open."""
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{platform.port}\r\n\r\n".encode())
    async with asyncio.timeout(10):
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head.split(b"\r\n")[0], head + await reader.read(2000)
        length = next(int(one[15:]) for one in head.lower().split(b"\r\n") if one.startswith(b"content-length:"))
        return (await reader.readexactly(length)).decode()


async def test_the_certificate_is_shown_with_what_it_is_followed_by(keeper, platform, issuer) -> None:
    await _connect(keeper, platform, issuer.pair("robot"))
    reader, writer = await keeper.tunnel(port=platform.port)
    assert [await _one(reader, writer, platform) for _ in range(3)] == ["robot"] * 3
    assert platform.asked == [(1, "robot")] * 3
    writer.close()
    stored = await keeper.everything_stored()
    assert "PRIVATE KEY" not in stored


async def test_a_placeholder_selects_it_and_does_not_arrive(keeper, platform, issuer) -> None:
    """The agent's own Authorization does: the certificate takes no place in the request."""
    await _connect(keeper, platform, issuer.pair("robot"), needs_placeholder=True)
    for value, name in (("Bearer hg_placeholder_svc", b"robot"), ("Bearer agents-own", b"nobody")):
        host = f"Host: 127.0.0.1:{platform.port}\r\nConnection: close\r\n"
        head = f"GET / HTTP/1.1\r\n{host}Authorization: {value}\r\n\r\n".encode()
        assert (await keeper.send(head, port=platform.port)).endswith(name)
    assert b"hg_placeholder" not in platform.heads[0] and b"Bearer agents-own" in platform.heads[1]


async def test_in_one_tunnel_each_call_shows_its_own(keeper, platform, issuer) -> None:
    """Bound, not bound, and bound again with another certificate: the three never share a connection."""
    reader, writer = await keeper.tunnel(port=platform.port)
    assert await _one(reader, writer, platform) == "nobody"
    made = await _connect(keeper, platform, issuer.pair("robot"))
    assert await _one(reader, writer, platform) == "robot"
    await keeper.rebind(made, Binding(agents=frozenset()))
    assert await _one(reader, writer, platform) == "nobody"
    again = Binding(agents=frozenset({keeper.agent_id}), secrets=issuer.pair("newer"))
    await keeper.rebind(made, again)
    assert await _one(reader, writer, platform) == "newer"
    by_connection = {number: {name for one, name in platform.asked if one == number} for number, _ in platform.asked}
    assert all(len(names) == 1 for names in by_connection.values())
    assert [name for _, name in platform.asked] == ["nobody", "robot", "nobody", "newer"]
    writer.close()


async def test_two_connections_of_one_platform_are_two(keeper, platform, issuer) -> None:
    """Two names for the same place: each call has the certificate of the one whose host it names."""
    await _connect(keeper, platform, issuer.pair("robot"))
    other = (Host("localhost", platform.port),)
    await keeper.connect(kind=ConnectionKind.MTLS, name="other", hosts=other, secrets=issuer.pair("second"))
    for host, expected in (("127.0.0.1", b"robot"), ("localhost", b"second")):
        head = f"GET / HTTP/1.1\r\nHost: {host}:{platform.port}\r\nConnection: close\r\n\r\n".encode()
        assert (await keeper.send(head, host=host, port=platform.port)).endswith(expected)


async def test_many_calls_at_once_over_http2(keeper, platform, issuer) -> None:
    """The platform speaks HTTP/1.1: each call that meets another has a connection of its own, with the certificate."""
    made = await _connect(keeper, platform, issuer.pair("robot"))
    reader, writer = await keeper.tunnel(port=platform.port, alpn=["h2"])
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.initiate_connection()
    assert await _at_once(client, reader, writer, platform, 5) == ["robot"] * 5
    await keeper.rebind(made, Binding(agents=frozenset()))
    assert await _at_once(client, reader, writer, platform, 5) == ["nobody"] * 5
    writer.close()
    by_connection = {number: {name for one, name in platform.asked if one == number} for number, _ in platform.asked}
    assert all(len(names) == 1 for names in by_connection.values())


async def _at_once(client, reader, writer, platform: Platform, count: int) -> list[str]:
    """The bodies of so many calls of one client connection."""
    head = {":method": "GET", ":scheme": "https", ":path": "/", ":authority": f"127.0.0.1:{platform.port}"}
    bodies: dict[int, bytes] = {}
    for _ in range(count):
        stream_id = client.get_next_available_stream_id()
        bodies[stream_id] = b""
        client.send_headers(stream_id, list(head.items()), end_stream=True)
    writer.write(client.data_to_send())
    ended = 0
    async with asyncio.timeout(20):
        while ended < count:
            for one in client.receive_data(await reader.read(65536)):
                if isinstance(one, h2.events.DataReceived):
                    bodies[one.stream_id] += one.data
                ended += isinstance(one, h2.events.StreamEnded | h2.events.StreamReset)
            writer.write(client.data_to_send())
    return [body.decode() for body in bodies.values()]


async def test_it_is_shown_to_nobody_who_is_not_trusted(keeper, upstream_tls, issuer, answer) -> None:
    async with _platform(upstream_tls, issuer, trusted=False) as stranger:
        await _connect(keeper, stranger, issuer.pair("robot"))
        head = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{stranger.port}\r\nConnection: close\r\n\r\n".encode()
        got = answer(await keeper.send(head, port=stranger.port))
        assert got.status == 502 and b"certificate that is not trusted" in got.body
        assert stranger.asked == []


async def test_one_that_cannot_be_used_is_refused_in_words(keeper, platform, issuer, answer, monkeypatch) -> None:
    """A key that does not fit its certificate: the call is not made without it, and its agent is told why."""
    await _connect(keeper, platform, issuer.pair("robot"))
    mixed = CertificateCredential(issuer.pair("robot")["certificate"].reveal(), issuer.pair("another")["private_key"])
    monkeypatch.setattr("headgate.connections.open_credential.carried_of", lambda *_: carried(AUTHORIZATION, mixed))
    head = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{platform.port}\r\nConnection: close\r\n\r\n".encode()
    got = answer(await keeper.send(head, port=platform.port))
    error = json.loads(got.body)["error"]
    assert (got.status, error["code"], error["details"]["connection"]) == (503, "CONNECTION_BROKEN", "svc")
    assert "certificate and its key" in error["message"]
    assert platform.asked == []
    # It was on record as begun: it ends there, with nothing sent and the reason.
    async with asyncio.timeout(60):
        while not (outcomes := await keeper.outcomes()):
            await asyncio.sleep(0.02)
    ((succeeded, why),) = outcomes
    assert succeeded is False and "certificate and its key" in str(why)


async def test_a_platform_that_requires_one(keeper, upstream_tls, issuer, answer) -> None:
    """It serves the agent that may use the connection, on its host, and nobody else."""
    async with _platform(upstream_tls, issuer, required=True) as strict:

        async def ask(host: str = "127.0.0.1"):
            head = f"GET / HTTP/1.1\r\nHost: {host}:{strict.port}\r\nConnection: close\r\n\r\n".encode()
            return answer(await keeper.send(head, host=host, port=strict.port))

        assert (await ask()).status == 502
        made = await _connect(keeper, strict, issuer.pair("robot"))
        assert (await ask()).body == b"robot"
        # localhost is the same place, and not the connection's host.
        assert (await ask("localhost")).status == 502
        await keeper.rebind(made, Binding(agents=frozenset()))
        assert (await ask()).status == 502
        assert [name for _, name in strict.asked] == ["robot"]


async def test_one_that_has_expired_is_refused_before_anything_is_sent(keeper, platform, issuer, answer) -> None:
    await _connect(keeper, platform, issuer.pair("robot", days=-0.5))
    head = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{platform.port}\r\nConnection: close\r\n\r\n".encode()
    got = answer(await keeper.send(head, port=platform.port))
    error = json.loads(got.body)["error"]
    assert (got.status, error["code"]) == (503, "CONNECTION_BROKEN")
    assert "its certificate expired on 2" in error["message"]
    assert platform.connections == 0
