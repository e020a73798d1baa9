"""The agent sends no secret, the platform gets it, and nobody else sees it."""

import asyncio
import gzip
import json
import zlib
from base64 import b64encode

import brotli
import h2.config
import h2.connection
import h2.events
import pytest
import zstandard
from mitmproxy.http import HTTPFlow

from addons.credentials import Credentials
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.connections.draft import parse_hosts
from headgate.connections.model import ConnectionKind, Location, Place
from headgate.connections.open_credential import OpenCredentials
from headgate.connections.service import Binding, rebind_connection, remove_connection
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.traffic.settings_service import put_capture_rules
from headgate.traffic.spool_reader import finished_segments, read_segment
from tests.integration.proxy.connections.conftest import SECRET

KEY_HEADER = Place(Location.HEADER, "x-api-key")


async def test_a_call_to_the_connections_host_carries_the_credential(keeper, answer) -> None:
    connection = await keeper.connect()
    got = answer(await keeper.ask("/repos?page=1", headers="Authorization: Bearer agents-own\r\n"))
    assert (got.status, got.body) == (200, b"hello")
    (head,) = keeper.upstream.heads
    assert head.startswith(b"GET /repos?page=1 HTTP/1.1\r\n")
    assert f"authorization: Bearer {SECRET}\r\n".encode() in head
    assert b"agents-own" not in head and head.lower().count(b"authorization") == 1
    await keeper.uses.write()
    [(uses, rejected)] = keeper.superuser.execute(
        "SELECT uses, rejected FROM connection_uses WHERE connection_id = %s", [connection.connection_id]
    ).fetchall()
    assert (uses, rejected) == (1, 0)
    stored = await keeper.everything_stored()
    assert SECRET not in stored and "s3cr3t" not in stored
    [(request, submitted)] = keeper.superuser.execute(
        "SELECT a.request, i.payload FROM actions a JOIN audit_events i USING (org_id, action_id)"
        " WHERE a.org_id = %s AND i.event_type = 'action.submitted'",
        [keeper.org_id],
    ).fetchall()
    shown = {"id": connection.connection_id, "name": "svc", "platform": "generic"}
    assert json.loads(str(request))["connection"] == shown
    assert json.loads(str(submitted))["data"]["connection_id"] == connection.connection_id


async def test_addons_never_see_it(start_keeper, answer) -> None:
    """Whoever captures reads the flow: its request is the agent's."""
    seen: list[bytes] = []

    class Onlooker:
        def response(self, flow: HTTPFlow) -> None:
            data = flow.request.data
            seen.append(data.path + bytes(data.headers) + (data.content or b""))
            assert flow.response is not None
            seen.append(bytes(flow.response.headers))

    keeper = await start_keeper(Onlooker())
    await keeper.connect(kind=ConnectionKind.API_KEY, place=Place(Location.BODY, "api_key"))
    body = b'{"api_key":"hg_placeholder_svc","text":"x"}'
    sent = "Content-Type: application/json\r\n"
    assert answer(await keeper.ask("/post", method="POST", headers=sent, body=body)).status == 200
    assert keeper.upstream.bodies == [json.dumps({"api_key": SECRET, "text": "x"}, separators=(",", ":")).encode()]
    assert seen and all(SECRET.encode() not in one for one in seen) and body in seen[0]


@pytest.mark.parametrize(
    ("place", "path", "headers", "body", "expected"),
    [
        (KEY_HEADER, "/", "X-API-Key: hg_placeholder_svc\r\n", b"", b"x-api-key: " + SECRET.encode()),
        (Place(Location.QUERY, "key"), "/?a=1&key=hg_placeholder_svc", "", b"", b"GET /?a=1&key=tok_live%2F9f8e"),
        (Place(Location.QUERY, "key"), "/?key=agents&a=1", "", b"", b"GET /?a=1&key=tok_live%2F9f8e"),
        (
            Place(Location.BODY, "key"),
            "/",
            "Content-Type: application/x-www-form-urlencoded\r\n",
            b"a=1&key=hg_placeholder_svc",
            b"a=1&key=tok_live%2F9f8e7d6c5b4a%2Bs3cr3t%3D%3D",
        ),
    ],
)
async def test_each_place(keeper, answer, place: Place, path, headers, body, expected) -> None:
    await keeper.connect(kind=ConnectionKind.API_KEY, place=place)
    method = "POST" if body else "GET"
    assert answer(await keeper.ask(path, method=method, headers=headers, body=body)).status == 200
    assert expected in keeper.upstream.heads[0] + keeper.upstream.bodies[0]
    assert b"hg_placeholder" not in keeper.upstream.heads[0] + keeper.upstream.bodies[0]


async def test_basic_authentication_with_the_placeholder_as_password(keeper, answer) -> None:
    secrets = {"user": Secret("robot"), "password": Secret("correct horse")}
    await keeper.connect(kind=ConnectionKind.BASIC, secrets=secrets)
    given = b64encode(b"anybody:hg_placeholder_svc").decode()
    assert answer(await keeper.ask(headers=f"Authorization: Basic {given}\r\n")).status == 200
    assert b"authorization: Basic " + b64encode(b"robot:correct horse") in keeper.upstream.heads[0]


REFUSED = [
    ("/", "X-Other: hg_placeholder_svc\r\n", b""),  # another place
    ("/", "Authorization: Bearer hg_placeholder_other\r\n", b""),  # nobody's
    ("/", "Authorization: Bearer hg_placeholder_svc, x\r\n", b""),
    ("/", "Authorization: Bearer hg_placeholder_svc\r\nX-Other: hg_placeholder_svc\r\n", b""),
    ("/hg_placeholder_svc", "", b""),
    ("/?key=hg_placeholder_svc", "", b""),
    ("/?key=%68g_placeholder_svc", "", b""),
    ("/", "Authorization: Basic " + b64encode(b"x:hg_placeholder_svc").decode() + "\r\n", b""),
    ("/", "Content-Type: application/json\r\n", b'{"a": "hg_placeholder_svc"}'),
    ("/", "Content-Type: application/json\r\n", b'{"a": "h\\u0067_placeholder_svc"}'),
    (
        "/",
        "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
        gzip.compress(b'{"a": "hg_placeholder_svc"}', mtime=0),
    ),
    ("/", "Content-Type: text/plain\r\n", b"x hg_placeholder_svc x"),
]


@pytest.mark.parametrize(("path", "headers", "body"), REFUSED)
async def test_a_placeholder_that_is_not_filled_is_not_forwarded(keeper, answer, path, headers, body) -> None:
    await keeper.connect()
    got = answer(await keeper.ask(path, method="POST" if body else "GET", headers=headers, body=body))
    assert got.status == 403 and json.loads(got.body)["error"]["code"] == "CONNECTION_REFUSED"
    assert keeper.upstream.heads == []
    assert SECRET.encode() not in got.body


ELSEWHERE_TOO = [
    ("/?x=%68g_placeholder_svc", "", b""),
    ("/%68g_placeholder_svc", "", b""),
    ("/", "Content-Type: application/json\r\n", b'{"a": "h\\u0067_placeholder_svc"}'),
    ("/", "Content-Type: application/x-www-form-urlencoded\r\n", b"a=%68g_placeholder_svc"),
    (
        "/",
        "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
        gzip.compress(b'{"a": "hg_placeholder_svc"}', mtime=0),
    ),
]


@pytest.mark.parametrize("place", ["authorization", "x-api-key", "x-token-of-ours"])
@pytest.mark.parametrize(("path", "headers", "body"), ELSEWHERE_TOO)
async def test_a_placeholder_that_is_filled_stands_nowhere_else(keeper, answer, path, headers, body, place) -> None:
    """Whether or not the header with the one that is filled is masked in what the gate shows."""
    await keeper.connect(kind=ConnectionKind.API_KEY, place=Place(Location.HEADER, place))
    filled = f"{place}: hg_placeholder_svc\r\n"
    assert answer(await keeper.ask(headers=filled)).status == 200
    got = answer(await keeper.ask(path, method="POST" if body else "GET", headers=filled + headers, body=body))
    assert got.status == 403 and json.loads(got.body)["error"]["code"] == "CONNECTION_REFUSED"
    assert len(keeper.upstream.heads) == 1


@pytest.mark.parametrize(
    ("place", "path", "body"),
    [
        (Place(Location.QUERY, "key"), "/?key=hg_placeholder_svc&a=%68g_placeholder_svc", b""),
        (Place(Location.QUERY, "key"), "/?key=hg_placeholder_svc", b'{"a": "h\\u0067_placeholder_svc"}'),
        (Place(Location.BODY, "key"), "/", b'{"key": "hg_placeholder_svc", "a": "h\\u0067_placeholder_svc"}'),
        (Place(Location.BODY, "key"), "/?a=%68g_placeholder_svc", b'{"key": "hg_placeholder_svc"}'),
    ],
)
async def test_a_second_placeholder_elsewhere_is_refused(keeper, answer, place: Place, path, body) -> None:
    await keeper.connect(kind=ConnectionKind.API_KEY, place=place)
    headers = "Content-Type: application/json\r\n" if body else ""
    got = answer(await keeper.ask(path, method="POST" if body else "GET", headers=headers, body=body))
    assert got.status == 403 and json.loads(got.body)["error"]["code"] == "CONNECTION_REFUSED"
    assert keeper.upstream.heads == []


async def test_a_placeholder_without_any_connection_is_refused(keeper, answer) -> None:
    got = answer(await keeper.ask(headers="Authorization: Bearer hg_placeholder_svc\r\n"))
    assert got.status == 403 and keeper.upstream.heads == []


async def test_a_placeholder_that_is_split_over_chunks_is_one(keeper, answer) -> None:
    await keeper.connect(kind=ConnectionKind.API_KEY, place=Place(Location.BODY, "key"))
    head = (
        f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{keeper.upstream.port}\r\nConnection: close\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode()
    body = b'8\r\n{"key":"\r\n9\r\nhg_placeh\r\n9\r\nolder_svc\r\n2\r\n"}\r\n0\r\n\r\n'
    assert answer(await keeper.send(head + body)).status == 200
    assert keeper.upstream.bodies == [b'{"key":"' + SECRET.encode() + b'"}']


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("another port", {"hosts": parse_hosts(["127.0.0.1:8443"])}),
        ("another name of the same address", {"hosts": parse_hosts(["localhost:8444"])}),
        ("another agent", {"agents": frozenset({"agt_01a1fea6-b756-7a46-9ff4-412cec3a741f"})}),
        ("another tool", {"tools": frozenset({"github"})}),
    ],
)
async def test_only_the_bound_agent_and_tool_and_the_exact_host(keeper, answer, kind, changes) -> None:
    if "agents" in changes:
        keeper.superuser.execute(
            "INSERT INTO agents (org_id, agent_id, name) VALUES (%s, %s, 'Other')", [keeper.org_id, *changes["agents"]]
        )
    await keeper.connect(**changes)
    assert answer(await keeper.ask()).status == 200
    assert SECRET.encode() not in keeper.upstream.heads[0], kind
    got = answer(await keeper.ask(headers="Authorization: Bearer hg_placeholder_svc\r\n"))
    assert got.status == 403 and len(keeper.upstream.heads) == 1, kind


@pytest.mark.parametrize(
    "request_line",
    [
        "GET / HTTP/1.1\r\nHost: evil.example\r\n",  # Host says another place than the tunnel
        "GET / HTTP/1.1\r\nHost: user@127.0.0.1:{port}\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1.:{port}\r\n",
        "GET https://127.0.0.1:{port}@evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Forwarded-Host: evil.example\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n",
    ],
)
async def test_confused_hosts_get_nothing(keeper, answer, request_line: str) -> None:
    await keeper.connect()
    line = request_line.format(port=keeper.upstream.port)
    got = answer(
        await keeper.send(f"{line}Connection: close\r\nAuthorization: Bearer hg_placeholder_svc\r\n\r\n".encode())
    )
    assert got.status in (400, 403) and keeper.upstream.heads == []


async def test_a_name_beside_the_connections_gets_nothing(keeper, answer) -> None:
    """The same address under another name, and under one that ends in the root's dot."""
    await keeper.connect(hosts=parse_hosts([f"upstream.test:{keeper.upstream.port}"]))
    for host in ("localhost", "127.0.0.1"):
        placeholder = "Authorization: Bearer hg_placeholder_svc\r\n"
        got = answer(await keeper.ask(host=host, headers=placeholder))
        assert got.status == 403 and keeper.upstream.heads == []


@pytest.mark.parametrize("text", ["exämple.com", "example.com.", "a@example.com", "*.example.com", "example.com/x", ""])
def test_hosts_are_written_in_one_way(text: str) -> None:
    with pytest.raises(ValidationError):
        parse_hosts([text])


ECHOES = [
    SECRET,
    "tok_live%2F9f8e7d6c5b4a%2Bs3cr3t%3D%3D",
    json.dumps({"a": SECRET}).replace("/", "\\/"),
    b64encode(f"user:{SECRET}".encode()).decode(),
    b64encode(f"x:{SECRET}".encode()).decode(),
    b64encode(SECRET.encode()).decode(),
    SECRET.encode().hex(),
]


@pytest.mark.parametrize("echo", ECHOES)
async def test_an_echo_in_an_answer_is_masked(keeper, answer, echo: str) -> None:
    await keeper.connect()
    body = f"you sent [{echo}] to us".encode()
    keeper.upstream.scripts[b"/echo"] = [
        b"HTTP/1.1 200 I got %s\r\nX-Echo: %s\r\nContent-Length: %d\r\n\r\n"
        % (SECRET.encode(), SECRET.encode(), len(body)),
        body[:20],
        body[20:27],
        body[27:],
    ]
    received = await keeper.ask("/echo")
    got = answer(received)
    assert got.status == 200 and got.complete and SECRET.encode() not in received
    assert got.body.startswith(b"you sent [") and got.body.endswith(b"] to us") and b"*" * 8 in got.body
    assert "s3cr3t" not in got.body.decode() and len(got.body) == len(body)


def _unchunked(body: bytes) -> bytes:
    whole = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        whole, body = whole + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return whole


def _deflated(data: bytes) -> bytes:
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return raw.compress(data) + raw.flush()


@pytest.mark.parametrize(
    ("coding", "encode"),
    [
        ("gzip", gzip.compress),
        ("gzip", lambda data: gzip.compress(data[:25], mtime=0) + gzip.compress(data[25:], mtime=0)),
        ("deflate", zlib.compress),
        ("deflate", _deflated),
        ("br", brotli.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
    ],
)
async def test_an_echo_in_a_content_coding_is_masked(keeper, answer, coding: str, encode) -> None:
    """None was asked for: the gate says identity whatever the agent takes."""
    await keeper.connect()
    body = encode(f"you sent {SECRET} to us".encode())
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    keeper.upstream.scripts[b"/echo"] = [head, body[:9], body[9:]]
    got = answer(await keeper.ask("/echo", headers="Accept-Encoding: gzip\r\nRange: bytes=0-10\r\n"))
    assert got.complete and _unchunked(got.body) == b"you sent " + b"*" * len(SECRET) + b" to us"
    assert "content-encoding" not in got.headers
    assert b"accept-encoding: identity" in keeper.upstream.heads[0] and b"ange:" not in keeper.upstream.heads[0]


async def test_a_client_of_http_1_0_gets_a_decoded_answer_without_chunks(keeper) -> None:
    """RFC 9112, section 6.1: it cannot read them."""
    await keeper.connect()
    body = gzip.compress(f"you sent {SECRET} to us".encode())
    coded = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    keeper.upstream.scripts[b"/echo"] = [coded, body]
    asked = f"GET /echo HTTP/1.0\r\nHost: 127.0.0.1:{keeper.upstream.port}\r\n\r\n".encode()
    head, _, received = (await keeper.send(asked)).partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower() and b"content-length" not in head.lower()
    assert received == b"you sent " + b"*" * len(SECRET) + b" to us"


async def test_a_decoded_answer_that_ends_with_its_connection_leaves_none_open(keeper) -> None:
    await keeper.connect()
    body = gzip.compress(f"you sent {SECRET} to us".encode())
    keeper.upstream.scripts[b"/echo"] = [b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", body, b"\n\n\n"]
    reader, writer = await keeper.tunnel("127.0.0.1")
    writer.write(f"GET /echo HTTP/1.1\r\nHost: 127.0.0.1:{keeper.upstream.port}\r\n\r\n".encode())
    async with asyncio.timeout(10):
        head, _, received = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert b"transfer-encoding" not in head.lower()
    assert received == b"you sent " + b"*" * len(SECRET) + b" to us"


@pytest.mark.parametrize(
    ("coding", "body"), [("exotic", b"x"), ("gzip", b"this is no gzip at all"), ("gzip, br", b"x")]
)
async def test_an_answer_that_cannot_be_looked_into_is_not_passed_on(keeper, answer, coding: str, body: bytes) -> None:
    await keeper.connect()
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    keeper.upstream.scripts[b"/echo"] = [head + body]
    got = answer(await keeper.ask("/echo"))
    assert body not in got.body or got.status == 502


async def test_an_answer_that_is_no_http_does_not_show_it_either(keeper) -> None:
    await keeper.connect()
    keeper.upstream.scripts[b"/echo"] = [f"{SECRET} is what you sent\r\n\r\n\n\n\n".encode()]
    received = await keeper.ask("/echo")
    assert b" 502 " in received and b"s3cr3t" not in received
    assert "s3cr3t" not in await keeper.everything_stored()


async def test_a_redirect_to_another_host_does_not_carry_it(keeper, answer) -> None:
    await keeper.connect()
    keeper.upstream.scripts[b"/go"] = [
        f"HTTP/1.1 302 Found\r\nLocation: https://localhost:{keeper.upstream.port}/there\r\n".encode()
        + b"Content-Length: 0\r\n\r\n"
    ]
    assert answer(await keeper.ask("/go")).status == 302
    assert answer(await keeper.ask("/there", host="localhost")).status == 200
    assert SECRET.encode() in keeper.upstream.heads[0] and SECRET.encode() not in keeper.upstream.heads[1]


async def test_a_removed_connection_serves_nobody_from_then_on(keeper, answer) -> None:
    connection = await keeper.connect()
    assert answer(await keeper.ask()).status == 200
    async with begin_change(keeper.database, keeper.change()) as change:
        await remove_connection(change, connection.connection_id, keeper.vault)
    assert answer(await keeper.ask()).status == 200
    assert SECRET.encode() in keeper.upstream.heads[0] and SECRET.encode() not in keeper.upstream.heads[1]
    [(kept,)] = keeper.superuser.execute(
        "SELECT count(*) FROM vault_secrets WHERE org_id = %s", [keeper.org_id]
    ).fetchall()
    assert kept == 0


async def test_another_secret_is_used_at_once(keeper, answer) -> None:
    connection = await keeper.connect()
    assert answer(await keeper.ask()).status == 200
    async with begin_change(keeper.database, keeper.change()) as change:
        binding = Binding(secrets={"secret": Secret("another-secret")})
        await rebind_connection(change, connection.connection_id, binding, keeper.vault)
    assert answer(await keeper.ask()).status == 200
    assert b"another-secret" in keeper.upstream.heads[1]


async def test_a_connection_that_does_not_work_fails_closed(keeper, answer) -> None:
    connection = await keeper.connect()
    keeper.superuser.execute(
        "UPDATE connections SET status = 'broken', status_reason = 'the refresh token was revoked'"
        " WHERE connection_id = %s",
        [connection.connection_id],
    )
    got = answer(await keeper.ask())
    error = json.loads(got.body)["error"]
    assert (got.status, error["code"]) == (503, "CONNECTION_BROKEN")
    assert "the refresh token was revoked" in error["message"] and keeper.upstream.heads == []


async def test_a_credential_that_has_expired_is_not_sent(keeper, answer) -> None:
    connection = await keeper.connect()
    keeper.superuser.execute(
        "UPDATE connections SET expires_at = clock_timestamp() - interval '1 second' WHERE connection_id = %s",
        [connection.connection_id],
    )
    got = answer(await keeper.ask())
    assert got.status == 503 and b"expired" in got.body and keeper.upstream.heads == []
    # It was on record as begun: it ends there, with nothing sent and the reason.
    async with asyncio.timeout(30):
        while not (ended := await keeper.outcomes()):
            await asyncio.sleep(0.02)
    [(succeeded, error)] = ended
    assert not succeeded and error.startswith("not sent: ") and "expired" in error


async def test_without_the_part_that_adds_it_nothing_is_sent(start_keeper, answer, monkeypatch) -> None:
    monkeypatch.setattr(Credentials, "request", lambda self, flow: None)
    keeper = await start_keeper()
    await keeper.connect()
    assert answer(await keeper.ask()).status == 503 and keeper.upstream.heads == []


async def test_a_part_that_fails_sends_nothing(start_keeper, answer, monkeypatch) -> None:
    def explode(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(Credentials, "_write", explode)
    keeper = await start_keeper()
    await keeper.connect()
    got = answer(await keeper.ask())
    assert got.status == 503 and keeper.upstream.heads == [] and SECRET.encode() not in got.body


async def over_http2(keeper, fields: dict[str, str], *, host: str = "127.0.0.1") -> tuple[str, bytes]:
    """Status (or how the stream was reset), and body."""
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, validate_outbound_headers=False))
    reader, writer = await keeper.tunnel(host, alpn=["h2"])
    client.initiate_connection()
    sent = {":method": "GET", ":scheme": "https", ":path": "/", ":authority": f"{host}:{keeper.upstream.port}"} | fields
    client.send_headers(1, list(sent.items()), end_stream=True)
    writer.write(client.data_to_send())
    status, body = "", b""
    async with asyncio.timeout(10):
        while data := await reader.read(65536):
            for one in client.receive_data(data):
                if isinstance(one, h2.events.ResponseReceived):
                    status = dict(one.headers)[b":status"].decode()
                elif isinstance(one, h2.events.DataReceived):
                    body += one.data
                elif isinstance(one, h2.events.StreamEnded | h2.events.StreamReset | h2.events.ConnectionTerminated):
                    writer.close()
                    return status or "reset", body
            writer.write(client.data_to_send())
    return status or "closed", body


async def test_over_http2_it_is_added_and_masked(keeper) -> None:
    await keeper.connect()
    text = f"you sent {SECRET}".encode()
    coded = gzip.compress(text)
    keeper.upstream.scripts[b"/echo"] = [
        f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(coded)}\r\n\r\n".encode() + coded
    ]
    status, body = await over_http2(keeper, {":path": "/echo", "authorization": "Bearer hg_placeholder_svc"})
    assert (status, body) == ("200", b"you sent " + b"*" * len(SECRET))
    assert f"authorization: Bearer {SECRET}".encode() in keeper.upstream.heads[0]


@pytest.mark.parametrize("named", ["evil.example", "user@127.0.0.1", "127.0.0.1.", "127.0.0.1:1"])
async def test_another_authority_over_http2_gets_nothing(keeper, named: str) -> None:
    await keeper.connect()
    status, body = await over_http2(keeper, {":authority": named, "authorization": "Bearer hg_placeholder_svc"})
    assert status != "200" and keeper.upstream.heads == [] and SECRET.encode() not in body


async def test_without_the_master_key_only_these_calls_are_refused(keeper, answer) -> None:
    await keeper.connect()
    keeper.vault.keys_file.write_text('{"current": "k2", "keys": {"k2": "' + b64encode(b"x" * 32).decode() + '"}}')
    keeper.vault._keys = None
    got = answer(await keeper.ask())
    assert got.status == 503 and "master key" in json.loads(got.body)["error"]["message"]
    assert keeper.upstream.heads == []
    assert answer(await keeper.ask(host="localhost")).status == 200


async def test_two_connections_for_one_host_need_a_placeholder(keeper, answer) -> None:
    await keeper.connect()
    await keeper.connect(name="second", secrets={"secret": Secret("second-secret")})
    got = answer(await keeper.ask())
    assert got.status == 403 and "hg_placeholder_second" in json.loads(got.body)["error"]["message"]
    assert answer(await keeper.ask(headers="Authorization: Bearer hg_placeholder_second\r\n")).status == 200
    assert b"authorization: Bearer second-secret" in keeper.upstream.heads[0]


async def test_an_approval_covers_which_connection_is_used(keeper, answer) -> None:
    placeholder = "Authorization: Bearer hg_placeholder_{}\r\n"
    await keeper.connect(needs_placeholder=True)
    await keeper.connect(name="second", needs_placeholder=True)
    for name in ("svc", "second"):
        assert answer(await keeper.ask(method="PATCH", headers=placeholder.format(name), body=b"x")).status == 403
    [(approvals,)] = keeper.superuser.execute(
        "SELECT count(DISTINCT digest) FROM actions WHERE org_id = %s AND status = 'pending_approval'", [keeper.org_id]
    ).fetchall()
    assert approvals == 2


async def test_a_rejected_credential_is_counted(keeper, answer) -> None:
    connection = await keeper.connect()
    keeper.upstream.scripts[b"/no"] = [b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"]
    assert answer(await keeper.ask("/no")).status == 401
    await keeper.uses.write()
    [(rejected, due)] = keeper.superuser.execute(
        "SELECT u.rejected, c.check_at <= clock_timestamp() FROM connection_uses u JOIN connections c USING (org_id,"
        " connection_id) WHERE connection_id = %s",
        [connection.connection_id],
    ).fetchall()
    assert (rejected, due) == (1, True)


async def test_an_agent_cannot_have_it_written_into_a_text(keeper, answer) -> None:
    """The member is written in escapes, and the same text stands literally in a message that others read."""
    await keeper.connect(kind=ConnectionKind.API_KEY, place=Place(Location.BODY, "token"))
    body = rb'{"text":"hg_placeholder_svc","token":"hg\u005fplaceholder_svc"}'
    sent = "Content-Type: application/json\r\n"
    assert answer(await keeper.ask("/post", method="POST", headers=sent, body=body)).status == 403
    assert keeper.upstream.bodies == []


async def test_an_empty_form_is_no_place_for_it(keeper, answer) -> None:
    """Its length would be that of a body which never comes: the next request's head would be read in its place."""
    await keeper.connect(kind=ConnectionKind.API_KEY, place=Place(Location.BODY, "token"))
    headers = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n"
    got = answer(await keeper.ask("/post", method="POST", headers=headers))
    assert got.status == 403 and json.loads(got.body)["error"]["code"] == "CONNECTION_REFUSED"
    assert keeper.upstream.heads == []


async def test_what_is_captured_of_it_has_the_credential_nowhere(keeper, tmp_path) -> None:
    """Request, answer and an answer that breaks off, as the spool has them: unmasked, and without it."""
    document = {"rules": [{"capture": "bodies"}]}
    async with begin_change(keeper.database, Change(keeper.org_id, SYSTEM, None, system_clock())) as change:
        await put_capture_rules(change, document)
    await keeper.connect()
    body = f"you sent [{SECRET}] to us".encode()
    head = f"HTTP/1.1 200 got {SECRET}\r\nX-Echo: Bearer {SECRET}\r\nContent-Length: %d\r\n\r\n".encode()
    keeper.upstream.scripts[b"/echo"] = [head % len(body) + body]
    chunk = b"%x\r\n%s\r\nno length\r\n" % (len(body), body)
    keeper.upstream.scripts[b"/broken"] = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk]
    keeper.upstream.scripts[b"/wrong"] = [f"{SECRET} is what you sent\r\n\r\n".encode()]
    for path in ("/echo", "/broken", "/wrong"):
        await keeper.ask(path, headers="Authorization: Bearer hg_placeholder_svc\r\n")
    await keeper.running.settled()
    await keeper.captures.close()
    found = [
        one for path in finished_segments(tmp_path / "captures") for one in read_segment(path, keeper.vault).exchanges
    ]
    assert [one.path for one in found] == ["/echo", "/broken", "/wrong"]
    assert all(one.action_id is not None for one in found)
    assert "s3cr3t" not in repr(found) and "hg_placeholder_svc" in repr(found)


@pytest.mark.parametrize("field", ["agents", "secrets"])
async def test_what_was_decided_on_before_a_change_gets_no_credential_of_after_it(keeper, field: str) -> None:
    """Between the decision's record and the opening of the secret somebody unbinds the agent, or gives another one."""
    decided = await keeper.connect()
    opened = OpenCredentials(keeper.database, keeper.vault, system_clock)
    binding = Binding(agents=frozenset()) if field == "agents" else Binding(secrets={"secret": Secret("another-one-3")})
    async with begin_change(keeper.database, keeper.change()) as change:
        await rebind_connection(change, decided.connection_id, binding, keeper.vault)
    with pytest.raises(UnavailableError, match="changed since"):
        await opened.open(decided)
    assert opened.kept(decided) is None
