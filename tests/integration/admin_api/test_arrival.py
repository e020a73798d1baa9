"""What may arrive before anybody has said who they are: the API as it runs, and clients that write raw bytes."""

import asyncio
import json
from ipaddress import ip_network
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from admin_api import client_places
from admin_api.feeds.viewers import Places
from admin_api.forwarded import TrustedProxies
from admin_api.http_protocol import ArrivalLimits, BoundedProtocol
from headgate.organizations.model import Role

_MEBIBYTE = b"a" * (1 << 20)
_HOST = b"Host: headgate\r\n"
_SOON = replace(ArrivalLimits(), head_seconds=0.5)
_SOON_FOR_BODIES = replace(ArrivalLimits(), body_seconds=0.5)


_POST = b"POST /csp-report HTTP/1.1\r\n" + _HOST + b"Content-Length: 90000\r\n\r\n"
_READ = b"a report has at most"
"""What the route says of so long a body once it has it."""
_ELSEWHERE = "127.0.0.2"


async def connect(api, address: str | None = None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urlsplit(api.url)
    return await asyncio.open_connection(parts.hostname, parts.port, local_addr=address and (address, 0))


async def exchange(api, *pieces: bytes, address: str | None = None) -> bytes:
    """What comes back until the API closes the connection."""
    reader, writer = await connect(api, address)
    received = b""
    try:
        async with asyncio.timeout(60):
            try:
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                while data := await reader.read(65536):
                    received += data
            except ConnectionError:
                pass  # it closed while there was more to send
    finally:
        writer.close()
    return received


@pytest.mark.parametrize(
    "begun",
    [
        b"GET /health HTTP/1.1\r\n" + _HOST + b"X: ",
        b"GET /",
        b"GET /health HTTP/1.1\r\n" + b"X: a\r\n" * 20_000,
        b"POST /v1/actions HTTP/1.1\r\n" + _HOST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: ",
        b"POST /v1/actions HTTP/1.1\r\n" + _HOST + b"Transfer-Encoding: chunked\r\n\r\n2;",
    ],
    ids=["header", "target", "headers", "trailer", "chunk extension"],
)
async def test_what_does_not_end_is_not_kept(running_api, begun: bytes) -> None:
    received = await exchange(running_api, begun, *[_MEBIBYTE] * 8)
    if received:
        # Closing with bytes unread may take the answer from a client that is still sending.
        assert received.startswith(b"HTTP/1.1 4")


async def test_a_head_that_is_too_large_is_told_so(running_api) -> None:
    received = await exchange(running_api, b"GET /health HTTP/1.1\r\nX: " + b"a" * (65 << 10))
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 413 ")
    error = json.loads(body)["error"]
    assert (error["code"], error["details"]) == ("PAYLOAD_TOO_LARGE", {"limit_bytes": 64 << 10})


async def test_a_report_that_is_too_large_is_told_so(running_api) -> None:
    async with running_api.client() as client:
        answer = await client.post("/csp-report", content=b'"' + b"a" * (64 << 10) + b'"')
    error = answer.json()["error"]
    assert (error["code"], error["details"]) == ("PAYLOAD_TOO_LARGE", {"limit_bytes": 64 << 10})


async def test_a_packet_of_requests_is_not_kept(running_api) -> None:
    """Nobody reads the answers, and each request is kept until the one before it is answered: a megabyte of them was a
    gigabyte of memory, and seconds without an event loop."""
    one, last = (b"GET /health/live HTTP/1.1\r\nHost: h\r\n%s\r\n" % field for field in (b"", b"Connection: close\r\n"))
    few = await exchange(running_api, one * 9 + last)
    assert few.count(b"HTTP/1.1 200") == 10
    many = await exchange(running_api, one * 1000)
    assert many.count(b"HTTP/1.1 200") <= 20


async def test_what_is_not_http_is_told_so_in_the_form_of_every_error(running_api) -> None:
    received = await exchange(running_api, b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 400 ")
    assert json.loads(received.partition(b"\r\n\r\n")[2])["error"]["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    ("limits", "begun"),
    [
        (_SOON, (b"",)),
        (_SOON, (b"GET /health HTTP/1.1\r\nX: a",)),
        (_SOON, (b"GET /health HTTP/1.1\r\n" + _HOST + b"\r\n", b"GET /hea")),
        (_SOON_FOR_BODIES, (b"POST /v1/demo/evaluate HTTP/1.1\r\n" + _HOST + b"Content-Length: 9\r\n\r\n{",)),
    ],
    ids=["nothing", "a head", "a second head", "a body"],
)
async def test_what_is_begun_and_not_ended_is_closed(start_api, monkeypatch, limits, begun) -> None:
    monkeypatch.setattr(BoundedProtocol, "limits", limits)
    await exchange(await start_api(), *begun)


async def test_between_two_requests_a_connection_may_rest_until_something_comes(start_api, monkeypatch) -> None:
    monkeypatch.setattr(BoundedProtocol, "limits", _SOON)
    parts = urlsplit((await start_api()).url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        for _ in range(2):
            writer.write(b"GET /health/live HTTP/1.1\r\n" + _HOST + b"\r\n")
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
            assert head.startswith(b"HTTP/1.1 200 ")
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(length)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(reader.read(1), 4 * _SOON.head_seconds)
        writer.write(b"\r\n")
        assert await asyncio.wait_for(reader.read(1), 60) == b""
    finally:
        writer.close()


async def test_a_trailer_is_no_header(running_api, organization) -> None:
    """Behind a reverse proxy it would say who called, or from where, after the proxy has said so."""
    token = running_api.token(organization.org_id, Role.ADMIN)
    body = f"2\r\n{{}}\r\n0\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    head = b"POST /v1/dry-run HTTP/1.1\r\n" + _HOST + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    received = await exchange(running_api, head + body)
    assert received.startswith(b"HTTP/1.1 401 ")


_LIVE = b"GET /health/live HTTP/1.1\r\n" + _HOST + b"Connection: close\r\n\r\n"


async def test_an_address_has_so_many_connections(start_api) -> None:
    api = await start_api(connections_of_address=3)
    taken = [await connect(api) for _ in range(3)]
    try:
        refused = await exchange(api, _LIVE)
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nretry-after: 1\r\n" in refused
        assert b"Your address has 3 connections open" in refused
        assert (await exchange(api, _LIVE, address=_ELSEWHERE)).startswith(b"HTTP/1.1 200 ")
    finally:
        for _, writer in taken:
            writer.close()
    async with asyncio.timeout(60):
        while not (await exchange(api, _LIVE)).startswith(b"HTTP/1.1 200 "):
            await asyncio.sleep(0.05)


async def test_all_together_have_so_many_connections(start_api) -> None:
    api = await start_api(connections_max=1)
    _, writer = await connect(api)
    try:
        refused = await exchange(api, _LIVE, address=_ELSEWHERE)
        assert (refused[9:12], b"This process has 1 connections open" in refused) == (b"503", True)
    finally:
        writer.close()


async def test_who_is_turned_away_and_says_nothing_is_closed(start_api, monkeypatch) -> None:
    monkeypatch.setattr(BoundedProtocol, "limits", replace(ArrivalLimits(), turned_away_seconds=0.2))
    api = await start_api(connections_max=1)
    _, writer = await connect(api)
    try:
        assert await exchange(api) == b""
        monkeypatch.setattr(client_places, "TURNED_AWAY_AT_ONCE", 0)
        assert await exchange(api) == b""
    finally:
        writer.close()


async def test_through_a_trusted_proxy_each_address_has_its_share(start_api) -> None:
    trusted = TrustedProxies((ip_network("127.0.0.0/8"),))
    api = await start_api(connections_of_address=1, trusted_proxies=trusted)

    def ask(client: str) -> bytes:
        head, rest = _LIVE.split(b"\r\n", 1)
        return head + b"\r\nX-Forwarded-For: " + client.encode() + b"\r\n" + rest

    _, writer = await connect(api)
    try:
        writer.write(_POST.replace(_HOST, _HOST + b"X-Forwarded-For: 203.0.113.1\r\n"))
        async with asyncio.timeout(60):
            while not (refused := await exchange(api, ask("203.0.113.1"))).startswith(b"HTTP/1.1 503 "):
                await asyncio.sleep(0.05)
        assert b"Your address has 1 connections open" in refused
        assert (await exchange(api, ask("203.0.113.2"))).startswith(b"HTTP/1.1 200 ")
    finally:
        writer.close()


@pytest.mark.parametrize("trusted", [(), ("127.0.0.0/8",)], ids=["direct", "through a proxy"])
async def test_bodies_share_one_budget(start_api, trusted: tuple[str, ...]) -> None:
    """Each of them is as small as it has to be."""
    api = await start_api(
        body_limit_bytes=100_000,
        bodies_bytes_max=400_000,
        trusted_proxies=TrustedProxies(tuple(map(ip_network, trusted))),
    )
    last = _POST.replace(b"Host", b"Connection: close\r\nHost") + b" " * 90_000

    def from_there(request: bytes, client: str) -> bytes:
        return request.replace(b"Host", b"X-Forwarded-For: " + client.encode() + b"\r\nHost")

    _, writer = await connect(api)
    try:
        writer.write(from_there(_POST, "203.0.113.1") + b" " * 80_000)
        async with asyncio.timeout(60):
            while not (refused := await exchange(api, from_there(last, "203.0.113.1"))).startswith(b"HTTP/1.1 503 "):
                await asyncio.sleep(0.05)
        assert (b"Request bodies of your address" in refused, b"\r\nretry-after: 1\r\n" in refused) == (True, True)
        other = await exchange(api, from_there(last, "203.0.113.2"), address=_ELSEWHERE)
        assert _READ in other
    finally:
        writer.close()
    async with asyncio.timeout(60):
        while _READ not in await exchange(api, from_there(last, "203.0.113.1")):
            await asyncio.sleep(0.05)


async def test_bodies_of_an_organization_count_together(start_api, organization) -> None:
    api = await start_api(body_limit_bytes=100_000, bodies_bytes_max=400_000)
    token = api.token(organization.org_id, Role.ADMIN).encode()
    head = b"POST /admin/agents HTTP/1.1\r\n" + _HOST + b"Content-Type: application/json\r\nConnection: close\r\n"
    begun = head + b"Authorization: Bearer " + token + b"\r\nContent-Length: 90000\r\n\r\n" + b" " * 80_000
    held = [(await connect(api, f"127.0.0.{number}"))[1] for number in (3, 4)]
    try:
        for writer in held:
            writer.write(begun)
        async with asyncio.timeout(60):
            while b"Request bodies of your organization" not in await exchange(api, begun + b" " * 10_000):
                await asyncio.sleep(0.05)
    finally:
        for writer in held:
            writer.close()


async def test_who_leaves_in_the_middle_of_a_body_is_no_error(start_api, capsys) -> None:
    """Each line would hold a traceback, and cost a second to make."""
    api = await start_api()
    _, writer = await connect(api)
    writer.write(_POST + b" " * 80_000)
    await writer.drain()
    writer.close()
    logged = ""
    async with asyncio.timeout(60):
        while "status=499" not in logged:
            await asyncio.sleep(0.05)
            logged += capsys.readouterr().out
    assert "request_failed" not in logged


async def test_a_body_is_not_awaited_before_its_caller_is_known(running_api) -> None:
    head = b"POST /admin/agents HTTP/1.1\r\n" + _HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    reader, writer = await connect(running_api)
    try:
        writer.write(head + b"1\r\n{\r\n")
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        assert answer.startswith(b"HTTP/1.1 401 ")
    finally:
        writer.close()


async def test_who_goes_away_ends_also_the_request_before_the_newest(gate, monkeypatch) -> None:
    places = Places()
    monkeypatch.setattr(gate.api.dependencies.feeds, "places", places)
    token = gate.person().headers["authorization"].encode()
    reader, writer = await connect(gate.api)
    writer.write(b"GET /v1/approvals/events HTTP/1.1\r\n" + _HOST + b"Authorization: " + token + b"\r\n\r\n" + _LIVE)
    await reader.readuntil(b": open\n\n")
    assert places._open
    writer.close()
    async with asyncio.timeout(60):
        while places._open:
            await asyncio.sleep(0.05)
