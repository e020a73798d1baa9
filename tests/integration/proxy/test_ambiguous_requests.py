"""Rules 6 and 8: what two parsers could read differently, or nobody can inspect, never reaches the upstream."""

import asyncio
import json
import ssl

import h2.config
import h2.connection
import h2.events
import pytest
from structlog.testing import capture_logs

from headgate.kernel.errors import HTTP_STATUS, ErrorCode

HOST = "127.0.0.1:{port}"

# Inside of a tunnel: the raw request, the status, the error's code. {host} is the upstream's host and port.
INSIDE = {
    "duplicate host": ("GET / HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "no host": ("GET / HTTP/1.1\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "other host": ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "other port": ("GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "host with userinfo": ("GET / HTTP/1.1\r\nHost: a@{host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "absolute form": ("GET https://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "absolute form, other host": (
        "GET https://evil.example/ HTTP/1.1\r\nHost: {host}\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "dot segment": ("GET /a/../b HTTP/1.1\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "dot segment at the end": ("GET /a/.. HTTP/1.1\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "dot segment before parameters": ("GET /a/..;x/b HTTP/1.1\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "encoded dot segment": ("GET /a/%2E%2e/b HTTP/1.1\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "encoded backslash": ("GET /a%5cb HTTP/1.1\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "encoded NUL": ("GET /a%00 HTTP/1.1\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "broken percent": ("GET /a%zz HTTP/1.1\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "backslash": ("GET /a\\b HTTP/1.1\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "fragment": ("GET /a#b HTTP/1.1\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "not ASCII": ("GET /\xe9 HTTP/1.1\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "asterisk": ("OPTIONS * HTTP/1.1\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "lower-case method": ("get / HTTP/1.1\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "TRACE": ("TRACE / HTTP/1.1\r\nHost: {host}\r\n\r\n", 403, "PROTOCOL_REFUSED"),
    "CONNECT in a tunnel": ("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "HTTP/2 in words": ("GET / HTTP/2.0\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "unknown version": ("GET / HTTP/9.9\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "no version": ("GET /\r\nHost: {host}\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "bare CR in a value": ("GET / HTTP/1.1\r\nHost: {host}\r\nA: b\rc\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "NUL in a value": ("GET / HTTP/1.1\r\nHost: {host}\r\nA: b\0c\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "folded line": ("GET / HTTP/1.1\r\nHost: {host}\r\nA: b\r\n c\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "space before the colon": ("GET / HTTP/1.1\r\nHost: {host}\r\nA : b\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "CL and TE": (
        "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "two CL": (
        "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "signed CL": ("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: +1\r\n\r\nx", 400, "REQUEST_AMBIGUOUS"),
    "CL by underscore": ("POST / HTTP/1.1\r\nHost: {host}\r\nContent_Length: 1\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "CL by underscore, no number": (
        "GET / HTTP/1.1\r\nHost: {host}\r\nContent_Length: x\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "TE by underscore": (
        "POST / HTTP/1.1\r\nHost: {host}\r\nTransfer_Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "TE twice": (
        "POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "TE in disguise": (
        "POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "TE gzip, chunked": (
        "POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "chunk of a size that is none": (
        "POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nok\r\n0\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "chunk that is longer than its size": (
        "POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "chunk extension with a bare LF": (
        "POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n2;\nok\r\n0\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "method override": (
        "GET / HTTP/1.1\r\nHost: {host}\r\nX-HTTP-Method-Override: DELETE\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "method override by underscore": (
        "GET / HTTP/1.1\r\nHost: {host}\r\nX_HTTP_Method_Override: DELETE\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "method override by dots": (
        "GET / HTTP/1.1\r\nHost: {host}\r\nX.HTTP.Method.Override: DELETE\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "host override": (
        "GET / HTTP/1.1\r\nHost: {host}\r\nForwarded: for=192.0.2.1;host=evil.example\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "URL override": ("GET / HTTP/1.1\r\nHost: {host}\r\nX-Original-URL: /admin\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "two content types": (
        "GET / HTTP/1.1\r\nHost: {host}\r\nContent-Type: a/b\r\nContent-Type: c/d\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "hop-by-hop by name": (
        "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close, Authorization\r\n\r\n",
        400,
        "REQUEST_AMBIGUOUS",
    ),
    "other expectation": ("GET / HTTP/1.1\r\nHost: {host}\r\nExpect: 200-ok\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "WebSocket by POST": (
        "POST / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: 0\r\n\r\n",
        403,
        "PROTOCOL_REFUSED",
    ),
    "WebSocket with a body": (
        "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: 1\r\n\r\nx",
        403,
        "PROTOCOL_REFUSED",
    ),
    "another version of WebSocket": (
        "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 8\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        403,
        "PROTOCOL_REFUSED",
    ),
    "other upgrade": (
        "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
        403,
        "PROTOCOL_REFUSED",
    ),
    "announced trailer": (
        "POST / HTTP/1.1\r\nHost: {host}\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n",
        403,
        "PROTOCOL_REFUSED",
    ),
    "chunked trailer": (
        "POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n",
        403,
        "PROTOCOL_REFUSED",
    ),
    "not HTTP": ("SSH-2.0-OpenSSH_9.2\r\n\r\n", 400, "REQUEST_AMBIGUOUS"),
    "too many headers": ("GET / HTTP/1.1\r\nHost: {host}\r\n" + "A: b\r\n" * 201 + "\r\n", 413, "PAYLOAD_TOO_LARGE"),
    "long URL": ("GET /" + "a" * 17000 + " HTTP/1.1\r\nHost: {host}\r\n\r\n", 413, "PAYLOAD_TOO_LARGE"),
    "large header": ("GET / HTTP/1.1\r\nHost: {host}\r\nA: " + "b" * 66000 + "\r\n\r\n", 413, "PAYLOAD_TOO_LARGE"),
    "endless head": ("GET / HTTP/1.1\r\nHost: {host}\r\nA: " + "b" * 200000, 413, "PAYLOAD_TOO_LARGE"),
}


@pytest.mark.parametrize("case", INSIDE.values(), ids=INSIDE.keys())
async def test_inside_of_a_tunnel(start, answer, case) -> None:
    request, status, code = case
    running = await start()
    host = f"127.0.0.1:{running.upstream.port}"
    received = answer(await running.secure(request.replace("{host}", host).encode("latin-1"), wait_seconds=20))
    assert (received.status, json.loads(received.body)["error"]["code"]) == (status, code)
    assert running.upstream.connections == 0
    assert running.decide.completions == []


@pytest.mark.parametrize("case", INSIDE.values(), ids=INSIDE.keys())
async def test_through_a_tunnel_without_tls(start, answer, case) -> None:
    request, status, _ = case
    running = await start()
    host = f"127.0.0.1:{running.upstream.plain_port}"
    raw = f"CONNECT {host} HTTP/1.1\r\n\r\n" + request.replace("{host}", host)
    received = (await running.plain(raw.encode("latin-1"), wait_seconds=1)).partition(b"\r\n\r\n")[2]
    # The request line of another protocol is not even read as a request to be answered.
    assert not received or answer(received).status == status
    assert running.upstream.connections == 0


PLAIN = {
    "host differs from the URL": ("GET http://{host}/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", 400),
    "no host": ("GET http://{host}/ HTTP/1.1\r\n\r\n", 400),
    "userinfo": ("GET http://a@{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n", 400),
    "dot segment": ("GET http://{host}/a/../b HTTP/1.1\r\nHost: {host}\r\n\r\n", 400),
    "other scheme": ("GET ftp://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n", 400),
    "short address": ("GET http://127.1:{port}/ HTTP/1.1\r\nHost: 127.1:{port}\r\n\r\n", 400),
    "decimal address": ("GET http://2130706433:{port}/ HTTP/1.1\r\nHost: 2130706433:{port}\r\n\r\n", 400),
    "hexadecimal address": ("GET http://0x7f000001:{port}/ HTTP/1.1\r\nHost: 0x7f000001:{port}\r\n\r\n", 400),
    "zero": ("GET http://0:{port}/ HTTP/1.1\r\nHost: 0:{port}\r\n\r\n", 400),
    "mapped address": (
        "GET http://[::ffff:127.0.0.1]:{port}/ HTTP/1.1\r\nHost: [::ffff:127.0.0.1]:{port}\r\n\r\n",
        400,
    ),
    "trailing dot": ("GET http://localhost.:{port}/ HTTP/1.1\r\nHost: localhost.:{port}\r\n\r\n", 400),
    "mail server": ("GET http://127.0.0.1:25/ HTTP/1.1\r\nHost: 127.0.0.1:25\r\n\r\n", 403),
    "CONNECT to a mail server": ("CONNECT 127.0.0.1:25 HTTP/1.1\r\n\r\n", 403),
    "CONNECT with another Host": ("CONNECT {host} HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", 400),
    "CONNECT with a body": ("CONNECT {host} HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd", 400),
    "CONNECT with userinfo": ("CONNECT a@{host} HTTP/1.1\r\n\r\n", 400),
    "CONNECT without a port": ("CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n", 400),
    "WebSocket without a version": (
        "GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        403,
    ),
    "to the proxy itself": ("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n", 404),
    "POST to the proxy itself": ("POST /ca.pem HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n", 404),
}


@pytest.mark.parametrize("case", PLAIN.values(), ids=PLAIN.keys())
async def test_plain(start, answer, case) -> None:
    request, status = case
    running = await start()
    port = str(running.upstream.plain_port)
    raw = request.replace("{host}", f"127.0.0.1:{port}").replace("{port}", port).encode("latin-1")
    received = answer(await running.plain(raw, wait_seconds=20))
    assert received.status == status
    assert received.headers["content-type"] == "application/json"
    assert json.loads(received.body)["error"]["requestId"] is not None
    assert running.upstream.connections == 0


@pytest.mark.parametrize("request_line", ["OPTIONS / HTTP/1.0", "PRI * HTTP/2.0"])
async def test_a_request_without_a_destination_is_no_failure_of_the_gate(start, answer, request_line) -> None:
    running = await start()
    with capture_logs() as lines:
        received = answer(await running.plain(f"{request_line}\r\n\r\n".encode(), wait_seconds=20))
        await running.settled()
    assert received.status == 400
    assert [line["event"] for line in lines if line["log_level"] == "error"] == []


async def test_server_name_other_than_the_host(start, answer) -> None:
    running = await start()
    received = answer(await running.secure(running.get("/"), sni="other.example"))
    assert received.status == 400
    assert "SNI" in json.loads(received.body)["error"]["message"]
    assert running.upstream.connections == 0


async def test_host_in_another_spelling_is_the_same_host(start, answer) -> None:
    running = await start()
    port = running.upstream.plain_port
    raw = f"GET http://LOCALHOST:{port}/ HTTP/1.1\r\nHost: LocalHost:{port}\r\nConnection: close\r\n\r\n"
    assert answer(await running.plain(raw.encode())).status == 200
    assert len(running.upstream.heads) == 1


async def test_h2c_upgrade_goes_on_without_the_upgrade(start, answer) -> None:
    running = await start()
    host = f"127.0.0.1:{running.upstream.plain_port}"
    raw = (
        f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n\r\n"
    )
    assert answer(await running.plain(raw.encode(), wait_seconds=20)).status == 200
    assert b"pgrade" not in running.upstream.heads[0]
    assert b"HTTP2-Settings" not in running.upstream.heads[0]


async def test_switching_protocols_ends_the_connection(start) -> None:
    running = await start()
    received = await running.secure(running.get("/switch"), wait_seconds=2)
    assert b"raw bytes" not in received
    await running.settled()


@pytest.mark.parametrize("path", [b"https://evil.example/", b"/a b", b"/a#b", b"/../a", b"*", b"a", b"/a\rb", b"/%5c"])
async def test_http2_target(start, path) -> None:
    running = await start()
    status = await http2_status(running, path=path)
    assert status in (None, 400)
    assert running.upstream.connections == 0


@pytest.mark.parametrize(
    "extra",
    [
        {"authority": b"evil.example"},
        {"authority": b""},
        {"headers": [(b"host", b"evil.example")]},
        {"headers": [(b"x-http-method-override", b"DELETE")]},
        {"headers": [(b"a", b"b\r\nc: d")]},
        {"headers": [(b"transfer-encoding", b"chunked")]},
        {"headers": [(b"connection", b"close")]},
        {"headers": [(b"content-length", b"5")]},
        {"headers": [(b"content-length", b"5")], "method": b"HEAD"},
        {"method": b"CONNECT"},
        {"trailers": [(b"x", b"y")]},
    ],
)
async def test_http2_head(start, extra) -> None:
    running = await start()
    status = await http2_status(running, **extra)
    assert status in (None, 400, 403)
    assert running.upstream.connections == 0


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"authority": b"evil.example"}, "REQUEST_AMBIGUOUS"),
        ({"authority": b""}, "REQUEST_AMBIGUOUS"),
        ({"authority": b"a:b:c"}, "REQUEST_AMBIGUOUS"),
        ({"path": b"/a/../b"}, "REQUEST_AMBIGUOUS"),
        ({"path": b"a"}, "REQUEST_AMBIGUOUS"),
        ({"path": b""}, "REQUEST_AMBIGUOUS"),
        ({"method": b"get"}, "REQUEST_AMBIGUOUS"),
        ({"method": b"TRACE"}, "PROTOCOL_REFUSED"),
        ({"method": b"CONNECT"}, "REQUEST_AMBIGUOUS"),
        ({"scheme": b"ftp"}, "REQUEST_AMBIGUOUS"),
        ({"headers": [(b"x-http-method-override", b"DELETE")]}, "REQUEST_AMBIGUOUS"),
        ({"headers": [(b"a b", b"c")]}, "REQUEST_AMBIGUOUS"),
        ({"headers": [(b"A", b"c")]}, "REQUEST_AMBIGUOUS"),
        ({"headers": [(b"a", b"b\r\nc: d")]}, "REQUEST_AMBIGUOUS"),
        ({"headers": [(b"te", b"gzip")]}, "REQUEST_AMBIGUOUS"),
        ({"headers": [(b"transfer-encoding", b"chunked")]}, "REQUEST_AMBIGUOUS"),
        ({"headers": [(b"connection", b"close")]}, "REQUEST_AMBIGUOUS"),
        ({"headers": [(b"host", b"evil.example")]}, "REQUEST_AMBIGUOUS"),
        ({"headers": [(b"content-length", b"5")], "body": b"abc"}, "REQUEST_AMBIGUOUS"),
        ({"headers": [(b"content-length", b"-5")], "body": b"abc"}, "REQUEST_AMBIGUOUS"),
        ({"headers": [(b":evil", b"b")]}, "REQUEST_AMBIGUOUS"),
        ({"trailers": [(b"x", b"y")]}, "PROTOCOL_REFUSED"),
        ({"headers": [(b"x%d" % number, b"y") for number in range(300)]}, "PAYLOAD_TOO_LARGE"),
    ],
)
async def test_http2_refusals_say_what_those_of_http1_say(start, request_, code) -> None:
    running = await start()
    answer = await http2_answer(running, **request_)
    assert answer is not None, "reset without a word"
    status, head, body = answer
    assert (status, head[b"content-type"]) == (HTTP_STATUS[ErrorCode(code)], b"application/json")
    assert json.loads(body)["error"]["code"] == code
    assert running.upstream.connections == 0


async def test_http2_works(start) -> None:
    running = await start()
    assert await http2_status(running) == 200
    assert running.upstream.connections == 1


async def http2_status(running, **request) -> int | None:
    """The status of one HTTP/2 request, or None where the connection or stream was reset."""
    answer = await http2_answer(running, **request)
    return None if answer is None else answer[0]


async def http2_answer(
    running, *, path=b"/", method=b"GET", authority=None, headers=(), trailers=(), body=b"", scheme=b"https"
) -> tuple[int, dict[bytes, bytes], bytes] | None:
    """Status, header fields and body; None where the connection or stream was reset before."""
    reader, writer = await running.tunnel(alpn=["h2"])
    assert isinstance(writer.get_extra_info("ssl_object"), ssl.SSLObject)
    config = h2.config.H2Configuration(
        client_side=True, header_encoding=None, validate_outbound_headers=False, normalize_outbound_headers=False
    )
    connection = h2.connection.H2Connection(config)
    connection.initiate_connection()
    host = f"127.0.0.1:{running.upstream.port}".encode() if authority is None else authority
    pseudo = [(b":method", method), (b":scheme", scheme), (b":path", path), (b":authority", host)]
    connection.send_headers(1, [*pseudo, *headers], end_stream=not trailers and not body)
    if body:
        connection.send_data(1, body, end_stream=not trailers)
    if trailers:
        connection.send_headers(1, list(trailers), end_stream=True)
    writer.write(connection.data_to_send())
    head, received = None, b""
    try:
        async with asyncio.timeout(3):
            while data := await reader.read(65536):
                for event in connection.receive_data(data):
                    if isinstance(event, h2.events.ResponseReceived):
                        head = dict(event.headers)
                    elif isinstance(event, h2.events.DataReceived):
                        received += event.data
                    elif isinstance(event, h2.events.StreamEnded) and head is not None:
                        return int(head[b":status"]), head, received
                    elif isinstance(event, h2.events.StreamReset | h2.events.ConnectionTerminated):
                        return None
                writer.write(connection.data_to_send())
    finally:
        writer.close()
    return None
