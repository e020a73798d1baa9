"""A WebSocket whose handshake carries a connection's credential: the platform gets it, and nobody else sees it."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from wsproto.events import TextMessage

from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.connections.model import Connection, ConnectionKind, Host, Location, Place
from headgate.connections.service import Binding
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.traffic.settings_service import put_capture_rules
from headgate.traffic.spool_reader import finished_segments, read_segment
from tests.integration.proxy.connections.conftest import SECRET, Keeper
from tests.integration.proxy.connections.socket_platform import (
    Opens,
    SocketPlatform,
    both_versions,
    http2_client,
    over_http2,
    server_context,
    serving,
)
from tests.integration.proxy.http2_sockets.socket_server import Handshakes, handshaking

PLACEHOLDER = ("authorization", "Bearer hg_placeholder_svc")
MASKED = "Bearer " + "*" * len(SECRET)


@pytest.fixture
async def platform(upstream_tls) -> AsyncIterator[SocketPlatform]:
    async with serving(server_context(upstream_tls)) as running:
        yield running


async def connected(keeper: Keeper, port: int, **changes: Any) -> Connection:
    return await keeper.connect(hosts=(Host("127.0.0.1", port),), **changes)


@both_versions
@pytest.mark.parametrize("fields", [(PLACEHOLDER,), (), (("authorization", "Bearer agents-own"),)])
async def test_the_handshake_carries_the_credential_and_nobody_sees_it(
    keeper: Keeper, platform: SocketPlatform, tmp_path, opens: Opens, fields
) -> None:
    async with begin_change(keeper.database, Change(keeper.org_id, SYSTEM, None, system_clock())) as change:
        await put_capture_rules(change, {"rules": [{"capture": "bodies"}]})
    connection = await connected(keeper, platform.port, needs_placeholder=fields == (PLACEHOLDER,))
    async with opens(keeper, platform.port, *fields) as socket:
        assert MASKED in socket.head
        await socket.send("hello")
        assert await socket.receive() == f"'hello' nobody {MASKED}"
        await socket.send("close")
        assert await socket.closed() == (4000, f"nobody {MASKED}")
    await keeper.running.settled()
    [handshake] = platform.handshakes
    assert handshake.headers.get_all("authorization") == [f"Bearer {SECRET}"]
    assert "hg_placeholder" not in str(handshake.headers) and "agents-own" not in str(handshake.headers)
    assert platform.received == ["hello", "close"]
    await keeper.uses.write()
    [(uses,)] = keeper.superuser.execute(
        "SELECT uses FROM connection_uses WHERE connection_id = %s", [connection.connection_id]
    ).fetchall()
    assert uses == 1
    assert "s3cr3t" not in await keeper.everything_stored()
    requests = keeper.superuser.execute("SELECT request FROM actions WHERE org_id = %s", [keeper.org_id]).fetchall()
    shown = {"id": connection.connection_id, "name": "svc", "platform": "generic"}
    assert [json.loads(str(request))["connection"] for (request,) in requests] == [shown] * 3
    await keeper.captures.close()
    captured = [
        one for path in finished_segments(tmp_path / "captures") for one in read_segment(path, keeper.vault).exchanges
    ]
    assert [one.path for one in captured] == ["/socket"]
    assert "s3cr3t" not in repr(captured)


async def test_a_credential_in_the_address(keeper: Keeper, platform: SocketPlatform) -> None:
    place = Place(Location.QUERY, "key")
    await connected(keeper, platform.port, kind=ConnectionKind.API_KEY, place=place)
    async with http2_client(keeper, platform.port) as client:
        await client.connect("/socket?a=1&key=hg_placeholder_svc").opened()
    assert [one.path for one in platform.handshakes] == ["/socket?a=1&key=tok_live%2F9f8e7d6c5b4a%2Bs3cr3t%3D%3D"]
    assert "s3cr3t" not in await keeper.everything_stored()


async def test_a_refused_handshake_does_not_show_it_either(keeper: Keeper, platform: SocketPlatform) -> None:
    connection = await connected(keeper, platform.port)
    async with http2_client(keeper, platform.port) as client:
        refused = await client.connect("/refused").done()
        assert (refused.status, refused.body) == (401, f"not with {MASKED}".encode())
        assert "s3cr3t" not in repr(refused)
        opened = await client.connect().opened()
        assert "s3cr3t" not in repr(opened.head)
    await keeper.uses.write()
    [(uses, rejected)] = keeper.superuser.execute(
        "SELECT uses, rejected FROM connection_uses WHERE connection_id = %s", [connection.connection_id]
    ).fetchall()
    assert (uses, rejected) == (2, 1)


@both_versions
async def test_what_comes_in_one_packet_with_the_answer_is_masked(keeper: Keeper, upstream_tls, opens: Opens) -> None:
    text = f"you sent {SECRET}".encode()
    frame = bytes([0x81, len(text)]) + text
    handshakes = Handshakes(f"X-Echo: {SECRET}\r\n".encode(), bytes_after=frame)
    async with handshaking(upstream_tls, handshakes) as port:
        await connected(keeper, port)
        async with opens(keeper, port) as socket:
            assert "s3cr3t" not in socket.head and "*" * len(SECRET) in socket.head
            assert await socket.receive() == f"you sent {'*' * len(SECRET)}"


async def test_only_the_bound_agent_and_the_exact_host(keeper: Keeper, platform: SocketPlatform) -> None:
    connection = await connected(keeper, platform.port)
    await keeper.rebind(connection, Binding(agents=frozenset()))
    async with http2_client(keeper, platform.port) as client:
        opened = await client.connect().opened()
        opened.send(TextMessage("hello"))
        await opened.until(lambda one: one.messages)
        assert opened.messages == ["'hello' nobody nothing"]
        refused = await client.connect(headers=[(b"authorization", b"Bearer hg_placeholder_svc")]).done()
        assert (refused.status, json.loads(refused.body)["error"]["code"]) == (403, "CONNECTION_REFUSED")
    assert len(platform.handshakes) == 1


@both_versions
@pytest.mark.parametrize("fields", [(PLACEHOLDER,), ()])
@pytest.mark.parametrize(
    "message",
    [
        "hg_placeholder_svc",
        '{"token": "hg_placeholder_svc"}',
        '{"token": "h\\u0067_placeholder_svc"}',
        b"\x00\xffhg_placeholder_svc",
        "hg_placeholder_svc" + "x" * 70_000,
    ],
    ids=["text", "JSON", "escapes", "binary", "long"],
)
async def test_a_placeholder_in_a_message_is_refused(
    keeper: Keeper, platform: SocketPlatform, opens: Opens, fields, message: str | bytes
) -> None:
    """A message has no place for one."""
    await connected(keeper, platform.port)
    async with opens(keeper, platform.port, *fields) as socket:
        await socket.send("hello")
        assert await socket.receive() == f"'hello' nobody {MASKED}"
        await socket.send(message)
        code, reason = await socket.closed()
    assert (code, platform.received) == (1008, ["hello"]), reason


async def test_a_placeholder_in_a_message_is_refused_where_the_handshakes_own_is_shown(
    keeper: Keeper, platform: SocketPlatform
) -> None:
    """In a header that is not masked, ``input.http`` of each message has the handshake's own placeholder."""
    place = Place(Location.HEADER, "x-token-of-ours")
    await connected(keeper, platform.port, kind=ConnectionKind.API_KEY, place=place)
    field = (place.name, "hg_placeholder_svc")
    async with over_http2(keeper, platform.port, field) as socket:
        await socket.send("hello")
        assert await socket.receive() == "'hello' nobody nothing"
        await socket.send('{"token": "h\\u0067_placeholder_svc"}')
        code, _ = await socket.closed()
    assert (code, platform.received) == (1008, ["hello"])
    assert platform.handshakes[0].headers[place.name] == SECRET


@both_versions
@pytest.mark.parametrize("fields", [(PLACEHOLDER,), ()])
@pytest.mark.parametrize(
    "binding",
    [Binding(agents=frozenset()), Binding(secrets={"secret": Secret("another-one-3")})],
    ids=["agent", "secret"],
)
async def test_messages_end_with_the_connection_that_the_handshake_carried(
    keeper: Keeper, platform: SocketPlatform, opens: Opens, fields, binding: Binding
) -> None:
    """What is sent later is done with its credential."""
    connection = await connected(keeper, platform.port)
    async with opens(keeper, platform.port, *fields) as socket:
        await socket.send("before")
        assert await socket.receive() == f"'before' nobody {MASKED}"
        await keeper.rebind(connection, binding)
        await socket.send("after")
        code, _ = await socket.closed()
    assert (code, platform.received) == (1008, ["before"])
    async with asyncio.timeout(60):
        while len(await keeper.outcomes()) < 2:
            await asyncio.sleep(0.02)


@both_versions
async def test_messages_of_a_socket_without_a_credential_get_none_later(
    keeper: Keeper, platform: SocketPlatform, opens: Opens
) -> None:
    async with opens(keeper, platform.port) as socket:
        await socket.send("before")
        assert await socket.receive() == "'before' nobody nothing"
        await connected(keeper, platform.port)
        await socket.send("after")
        code, _ = await socket.closed()
    assert (code, platform.received) == (1008, ["before"])
