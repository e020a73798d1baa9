"""What may arrive before anybody has said who they are: the API as it runs, and clients that write raw bytes."""

import asyncio
import json
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from admin_api.http_protocol import ArrivalLimits, BoundedProtocol
from headgate.organizations.model import Role

_MEBIBYTE = b"a" * (1 << 20)
_HOST = b"Host: headgate\r\n"
_SOON = replace(ArrivalLimits(), head_seconds=0.5)
_SOON_FOR_BODIES = replace(ArrivalLimits(), body_seconds=0.5)


async def exchange(api, *pieces: bytes) -> bytes:
    """What comes back until the API closes the connection."""
    parts = urlsplit(api.url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
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
    assert json.loads(body)["error"]["code"] == "PAYLOAD_TOO_LARGE"


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
