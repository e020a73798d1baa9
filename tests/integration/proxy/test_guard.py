"""Rule 7: what is connected to is what was judged, whoever resolves which name to what."""

import asyncio
import json
import socket

import pytest
import uvloop

from addons import guard
from addons.guard import current_dial
from addons.verdict import is_open
from headgate.organizations.destinations import PUBLIC_ONLY, parse_allowlist
from proxy.resolver import GuardedResolver, UnguardedLoopError, install


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch):
    """Names that resolve to what a test says; everything else as usual."""
    original = socket.getaddrinfo
    table: dict[str, list[str]] = {}

    def resolve(host, port, *rest, **options):
        if host not in table:
            return original(host, port, *rest, **options)
        return [
            (socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in table[host]
        ]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return table


def absolute(host: str, port: int) -> bytes:
    return f"GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode()


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["::1"],
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["2002:7f00:1::"],
        ["0.0.0.0"],
        ["fe80::1%lo"],
        ["10.0.0.1", "127.0.0.1"],
        [],
    ],
)
async def test_a_name_that_resolves_to_what_is_not_public(names, start, answer, addresses) -> None:
    names["rebind.test"] = addresses
    running = await start()
    running.decide.rules = PUBLIC_ONLY
    received = answer(await running.plain(absolute("rebind.test", running.upstream.plain_port)))
    error = json.loads(received.body)["error"]
    assert (received.status, error["code"]) == (403, "DESTINATION_BLOCKED")
    assert not [address for address in addresses if address in received.body.decode()]
    assert running.upstream.connections == 0
    assert running.decide.completions[0].ending.value == "not_sent"


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "10.0.0.1", "[fd00::1]"])
async def test_an_address_that_is_not_public(start, answer, host) -> None:
    running = await start()
    running.decide.rules = PUBLIC_ONLY
    received = answer(await running.plain(absolute(host, running.upstream.plain_port)))
    error = json.loads(received.body)["error"]
    assert (received.status, error["code"]) == (403, "DESTINATION_BLOCKED")
    assert error["details"]["allowlist_entry"]["private"] is True
    assert running.upstream.connections == 0


@pytest.mark.parametrize("host", ["169.254.169.254", "100.100.100.200", "[fd00:ec2::254]"])
async def test_nobody_is_offered_to_permit_where_a_cloud_gives_credentials(start, answer, host) -> None:
    running = await start()
    running.decide.rules = PUBLIC_ONLY
    received = answer(await running.plain(absolute(host, running.upstream.plain_port)))
    error = json.loads(received.body)["error"]
    assert (received.status, error["code"]) == (403, "DESTINATION_BLOCKED")
    assert "where a cloud hands this machine's own credentials to whoever asks" in error["message"]
    assert "allowlist_entry" not in error["details"]
    assert running.upstream.connections == 0


async def test_of_several_addresses_only_the_permitted_are_tried(names, start, answer) -> None:
    names["mixed.test"] = ["10.0.0.1", "127.0.0.1"]
    running = await start()
    assert answer(await running.plain(absolute("mixed.test", running.upstream.plain_port))).status == 200
    assert running.upstream.connections == 1


async def test_a_name_of_the_allowlist_may_be_private(names, start, answer) -> None:
    names["build.test"] = ["127.0.0.1"]
    names["other.test"] = ["127.0.0.1"]
    running = await start()
    running.decide.rules = parse_allowlist('{"destinations": [{"host": "build.test", "private": true}]}', None)
    assert answer(await running.plain(absolute("build.test", running.upstream.plain_port))).status == 200
    assert answer(await running.plain(absolute("other.test", running.upstream.plain_port))).status == 403
    assert running.upstream.connections == 1


async def test_clients_of_two_organizations_at_the_same_time(names, start, answer) -> None:
    names["both.test"] = ["127.0.0.1"]
    running = await start()

    async def by_client(flow) -> None:
        # Both are held until both are here, so that their dials overlap.
        await barrier.wait()
        running.decide.rules = allowed if flow.request.headers["a"] == "1" else PUBLIC_ONLY

    allowed = running.decide.rules
    barrier = asyncio.Barrier(2)
    running.decide.before = by_client
    request = absolute("both.test", running.upstream.plain_port)
    answers = await asyncio.gather(
        *(running.plain(request.replace(b"\r\nConn", b"\r\nA: %d\r\nConn" % number, 1)) for number in (1, 2))
    )
    assert [answer(received).status for received in answers] == [200, 403]
    assert running.upstream.connections == 1


async def test_the_proxy_itself_even_where_the_allowlist_names_it(names, start, answer) -> None:
    names["proxy.test"] = ["127.0.0.1"]
    running = await start()
    for host in ("127.0.0.1", "proxy.test"):
        received = answer(await running.plain(absolute(host, running.port)))
        assert received.status == 403
        assert "loop" in json.loads(received.body)["error"]["message"]


async def test_the_api_is_let_through_exactly(start, answer) -> None:
    running = await start()
    port = running.upstream.plain_port
    running = await start(api_origin=("localhost", port))
    running.decide.rules = PUBLIC_ONLY
    # The API of this test is the upstream of the first gate.
    assert answer(await running.plain(absolute("localhost", port))).status == 200
    assert answer(await running.plain(absolute("127.0.0.1", port))).status == 403
    assert answer(await running.plain(absolute("localhost", running.upstream.plain_port))).status == 403


async def test_a_connection_that_is_used_again_is_judged_again(start, answer) -> None:
    class Recheck:
        guard = None

        def request(self, flow) -> None:
            if is_open(flow) and flow.request.path == "/again":
                self.guard.recheck(flow, PUBLIC_ONLY)  # raises, which denies

    recheck = Recheck()
    running = await start(before=[recheck])
    recheck.guard = next(addon for addon in running.gate._master.addons.chain if type(addon).__name__ == "Guard")
    reader, writer = await running.tunnel()
    first = running.get("/first").replace(b"Connection: close\r\n", b"")
    writer.write(first)
    assert b"hello" in await reader.read(65536)
    writer.write(running.get("/again"))
    assert answer(await reader.read(65536)).status == 503
    writer.close()
    assert [head.split()[1] for head in running.upstream.heads] == [b"/first"]


async def test_a_failure_to_connect_does_not_outlast_its_request(names, start, answer) -> None:
    names["later.test"] = ["10.0.0.1"]
    running = await start()
    port = running.upstream.plain_port
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    request = absolute("later.test", port).replace(b"Connection: close\r\n", b"")
    writer.write(request)
    assert answer(await reader.read(65536)).status == 403
    names["later.test"] = ["127.0.0.1"]
    writer.write(request)
    assert answer(await reader.read(65536)).status == 200
    writer.close()


async def test_resolution_outside_of_a_dial_is_not_the_guards(names, start) -> None:
    names["database.test"] = ["127.0.0.1"]
    running = await start()

    async def look_up(flow) -> None:
        assert current_dial() is None
        found.extend(await asyncio.get_running_loop().getaddrinfo("database.test", 5432))

    found: list[object] = []
    running.decide.before = look_up
    running.decide.rules = PUBLIC_ONLY
    await running.secure(running.get())
    assert len(found) == 1


async def test_a_dial_resolves_its_own_name_only(start) -> None:
    await start()
    loop = asyncio.get_running_loop()
    assert isinstance(loop.getaddrinfo, GuardedResolver)

    class Elsewhere:
        host, port = "a.test", 443

    token = guard._dial.set(Elsewhere())
    try:
        with pytest.raises(UnguardedLoopError):
            await loop.getaddrinfo("localhost", 443)
    finally:
        guard._dial.reset(token)


def test_other_event_loops_are_refused() -> None:
    loop = uvloop.new_event_loop()
    try:
        with pytest.raises(UnguardedLoopError):
            install(loop)
    finally:
        loop.close()
