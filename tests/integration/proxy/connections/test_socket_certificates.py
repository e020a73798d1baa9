"""A WebSocket whose connection shows a certificate: its TLS connection shows it, and carries nothing else."""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from wsproto.events import TextMessage

from headgate.connections.carried import carried
from headgate.connections.credential import CertificateCredential
from headgate.connections.model import AUTHORIZATION, Connection, ConnectionKind, Host
from headgate.connections.service import Binding
from headgate.kernel.secrets import Secret
from tests.http2_client import Http2Client
from tests.integration.proxy.connections.conftest import Keeper
from tests.integration.proxy.connections.issuer import Issuer
from tests.integration.proxy.connections.socket_platform import (
    Opens,
    SocketPlatform,
    both_versions,
    http2_client,
    server_context,
    serving,
)

type Serves = Callable[..., AbstractAsyncContextManager[SocketPlatform]]


@pytest.fixture
def serves(upstream_tls, issuer: Issuer) -> Serves:
    """``serves(verify_mode, protocols)``: a platform that asks for the issuer's certificates."""
    roots = issuer.root.public_bytes(serialization.Encoding.PEM).decode()

    def begin(verify_mode: ssl.VerifyMode = ssl.CERT_OPTIONAL, *protocols: str) -> Any:
        context = server_context(upstream_tls, cadata=roots)
        context.verify_mode = verify_mode
        if protocols:
            context.set_alpn_protocols(list(protocols))
        return serving(context)

    return begin


@pytest.fixture
async def platform(serves: Serves) -> AsyncIterator[SocketPlatform]:
    async with serves() as running:
        yield running


async def connected(keeper: Keeper, port: int, secrets: dict[str, Secret], **changes: Any) -> Connection:
    hosts = (Host("127.0.0.1", port),)
    return await keeper.connect(kind=ConnectionKind.MTLS, hosts=hosts, secrets=secrets, **changes)


async def said(client: Http2Client) -> str:
    """What the platform says on a new WebSocket about whom it was shown."""
    stream = await client.connect().opened()
    stream.send(TextMessage("hello"))
    await stream.until(lambda one: one.messages)
    return str(stream.messages[0])


@both_versions
async def test_the_certificate_is_shown(keeper: Keeper, platform: SocketPlatform, issuer: Issuer, opens: Opens) -> None:
    secrets = issuer.pair("robot")
    await connected(keeper, platform.port, secrets)
    async with opens(keeper, platform.port) as socket:
        await socket.send("hello")
        assert await socket.receive() == "'hello' robot nothing"
    stored = await keeper.everything_stored()
    assert "PRIVATE KEY" not in stored
    assert secrets["private_key"].reveal().splitlines()[1] not in stored


@both_versions
async def test_a_placeholder_selects_it_and_does_not_arrive(
    keeper: Keeper, platform: SocketPlatform, issuer: Issuer, opens: Opens
) -> None:
    await connected(keeper, platform.port, issuer.pair("robot"), needs_placeholder=True)
    async with opens(keeper, platform.port, ("authorization", "Bearer hg_placeholder_svc")) as socket:
        await socket.send("hello")
        assert await socket.receive() == "'hello' robot nothing"
    async with opens(keeper, platform.port, ("authorization", "Bearer agents-own")) as socket:
        await socket.send("hello")
        assert await socket.receive() == "'hello' nobody Bearer agents-own"
    assert "hg_placeholder" not in str([one.headers for one in platform.handshakes])


async def test_on_one_client_connection_each_call_shows_its_own(
    keeper: Keeper, platform: SocketPlatform, issuer: Issuer
) -> None:
    """Bound, not bound, and bound again with another certificate; WebSockets that are open keep theirs."""
    async with http2_client(keeper, platform.port) as client:
        assert await said(client) == "'hello' nobody nothing"
        made = await connected(keeper, platform.port, issuer.pair("robot"))
        assert await said(client) == "'hello' robot nothing"
        assert (await client.get("/").done()).body == b"robot"
        assert await said(client) == "'hello' robot nothing"
        await keeper.rebind(made, Binding(agents=frozenset()))
        assert await said(client) == "'hello' nobody nothing"
        assert (await client.get("/").done()).body == b"nobody"
        again = Binding(agents=frozenset({keeper.agent_id}), secrets=issuer.pair("newer"))
        await keeper.rebind(made, again)
        assert await said(client) == "'hello' newer nothing"
        assert (await client.get("/").done()).body == b"newer"
    assert platform.shown == ["nobody", "robot", "robot", "nobody", "newer"]
    assert platform.plain == ["robot", "nobody", "newer"]


async def test_many_at_once(keeper: Keeper, platform: SocketPlatform, issuer: Issuer) -> None:
    await connected(keeper, platform.port, issuer.pair("robot"))
    async with http2_client(keeper, platform.port) as client:
        streams = [client.connect() for _ in range(10)]
        plain = [client.get("/") for _ in range(10)]
        for number, stream in enumerate(streams):
            (await stream.opened()).send(TextMessage(str(number)))
        for number, stream in enumerate(streams):
            await stream.until(lambda one: one.messages)
            assert stream.messages == [f"'{number}' robot nothing"]
        assert [(await one.done()).body for one in plain] == [b"robot"] * 10


async def test_a_platform_that_prefers_http2_gets_a_handshake_of_http1(
    keeper: Keeper, serves: Serves, issuer: Issuer
) -> None:
    async with serves(ssl.CERT_REQUIRED, "h2", "http/1.1") as strict:
        await connected(keeper, strict.port, issuer.pair("robot"))
        async with http2_client(keeper, strict.port) as client:
            assert await said(client) == "'hello' robot nothing"
    assert strict.protocols == ["http/1.1"]


async def test_a_platform_that_requires_one(keeper: Keeper, serves: Serves, issuer: Issuer) -> None:
    """It serves the agent that may use the connection, and no other; each refusal ends its stream alone."""
    async with serves(ssl.CERT_REQUIRED) as strict, http2_client(keeper, strict.port) as client:
        assert (await client.connect().done()).status == 502
        made = await connected(keeper, strict.port, issuer.pair("robot"))
        assert await said(client) == "'hello' robot nothing"
        await keeper.rebind(made, Binding(agents=frozenset()))
        assert (await client.connect().done()).status == 502
        await keeper.rebind(made, Binding(agents=frozenset({keeper.agent_id})))
        assert await said(client) == "'hello' robot nothing"
    assert strict.shown == ["robot"] * 2


async def test_one_that_has_expired_is_refused_on_its_stream(
    keeper: Keeper, platform: SocketPlatform, issuer: Issuer
) -> None:
    async with http2_client(keeper, platform.port) as client:
        open_one = await client.connect("/other").opened()
        made = await connected(keeper, platform.port, issuer.pair("robot", days=-0.5), needs_placeholder=True)
        placeholder = [(b"authorization", f"Bearer {made.placeholder}".encode())]
        refused = await client.connect(headers=placeholder).done()
        assert refused.error == (503, "CONNECTION_BROKEN")
        assert "its certificate expired on 2" in refused.body.decode()
        open_one.send(TextMessage("hello"))
        await open_one.until(lambda one: one.messages)
    assert [one.path for one in platform.handshakes] == ["/other"]


async def test_one_that_cannot_be_used_is_refused_on_its_stream(
    keeper: Keeper, platform: SocketPlatform, issuer: Issuer, monkeypatch
) -> None:
    """A key that does not fit its certificate: the handshake is not made without it."""
    mixed = CertificateCredential(issuer.pair("robot")["certificate"].reveal(), issuer.pair("another")["private_key"])
    monkeypatch.setattr("headgate.connections.open_credential.carried_of", lambda *_: carried(AUTHORIZATION, mixed))
    async with http2_client(keeper, platform.port) as client:
        open_one = await client.connect("/other").opened()
        made = await connected(keeper, platform.port, issuer.pair("robot"), needs_placeholder=True)
        placeholder = [(b"authorization", f"Bearer {made.placeholder}".encode())]
        refused = await client.connect(headers=placeholder).done()
        assert refused.error == (503, "CONNECTION_BROKEN")
        assert "certificate and its key" in refused.body.decode()
        open_one.send(TextMessage("hello"))
        await open_one.until(lambda one: one.messages)
    assert [one.path for one in platform.handshakes] == ["/other"]


async def test_it_is_shown_to_no_server_that_is_not_trusted(
    keeper: Keeper, upstream_tls, issuer: Issuer, tmp_path
) -> None:
    stranger, path = issuer.pair("localhost"), tmp_path / "stranger.pem"
    path.write_text(stranger["private_key"].reveal() + stranger["certificate"].reveal())
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(path)
    async with serving(context) as untrusted:
        await connected(keeper, untrusted.port, issuer.pair("robot"))
        async with http2_client(keeper, untrusted.port) as client:
            refused = await client.connect().done()
            assert refused.status == 502 and b"certificate that is not trusted" in refused.body
    assert untrusted.handshakes == []
