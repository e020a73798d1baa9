"""Forwarded calls through an upstream proxy: a real one in between, and every promise about addresses as without it."""

import asyncio
import json
import socket
from ipaddress import ip_network

import pytest

from addons import guard
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import PUBLIC_ONLY, parse_allowlist
from headgate.outgoing import tunnel
from headgate.outgoing.upstream_proxy import UpstreamProxy, upstream_proxy_of
from proxy import chaining
from tests.forward_proxy import forward_proxy

PUBLIC = "93.184.215.14"
HOST = "upstream.test"


@pytest.fixture
async def corporate():
    async with forward_proxy() as proxy:
        yield proxy


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch):
    """What the machine's own resolver says; every other name but its own has no address."""
    original = socket.getaddrinfo
    table: dict[str, list[str]] = {HOST: [PUBLIC]}

    def resolve(host, port, *rest, **options):
        if host == "localhost" or guard.parse_literal(host) is not None:
            return original(host, port, *rest, **options)
        if host not in table:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [
            (socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in table[host]
        ]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return table


@pytest.fixture
def chained(start, corporate, names):
    async def begin(resolution: str = "local", *, url: str | None = None, direct: str = ""):
        url = url or f"http://127.0.0.1:{corporate.port}"
        running = await start(upstream_proxy=upstream_proxy_of(Secret(url), direct, resolution))
        running.decide.rules = PUBLIC_ONLY
        corporate.reach = ("127.0.0.1", running.upstream.port)
        return running

    return begin


async def call(running, host: str = HOST, port: int = 443, *, path: str = "/", alpn=(), sni=None) -> bytes:
    reader, writer = await running.tunnel(host=host, port=port, sni=sni, alpn=alpn)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
    try:
        async with asyncio.timeout(10):
            return await reader.read()
    finally:
        writer.close()


def absolute(host: str, port: int = 80) -> bytes:
    return f"GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode()


async def test_the_proxy_is_asked_for_the_address_that_was_checked(chained, corporate, answer) -> None:
    running = await chained()
    received = answer(await call(running))
    assert (received.status, received.body) == (200, b"hello")
    assert corporate.asked == [f"{PUBLIC}:443"]
    # TLS is with the destination, whose certificate names it; the request shows the proxy nothing.
    assert b"Host: upstream.test:443" in running.upstream.heads[0]
    assert b"Proxy-Authorization" not in corporate.heads[0]
    assert running.decide.completions[0].ending.value == "complete"


async def test_plain_http_goes_through_a_tunnel_too(chained, corporate, answer) -> None:
    running = await chained()
    corporate.reach = ("127.0.0.1", running.upstream.plain_port)
    assert answer(await running.plain(absolute(HOST, 8080))).status == 200
    assert corporate.asked == [f"{PUBLIC}:8080"]
    assert running.upstream.heads[0].startswith(b"GET / HTTP/1.1\r\n")


async def test_several_requests_of_one_tunnel_use_one_connection(chained, corporate, answer) -> None:
    running = await chained()
    reader, writer = await running.tunnel(host=HOST, port=443)
    for _ in range(3):
        writer.write(f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        assert answer(await reader.readuntil(b"hello")).status == 200
    writer.close()
    assert len(corporate.asked) == running.upstream.connections == 1


async def test_a_large_answer_and_a_broken_one(chained, answer) -> None:
    running = await chained()
    received = answer(await call(running, path="/large/3000000"))
    assert (received.status, len(received.body)) == (200, 3_000_000)
    received = answer(await call(running, path="/broken"))
    assert not received.complete
    assert [one.ending.value for one in running.decide.completions] == ["complete", "broken"]


async def test_credentials_and_tls_of_the_proxy_itself(start, names, upstream_tls, answer) -> None:
    async with forward_proxy(upstream_tls[0]) as corporate:
        corporate.credentials = "gate:p@ss/word"
        url = Secret(f"https://gate:p%40ss%2Fword@localhost:{corporate.port}")
        running = await start(upstream_proxy=upstream_proxy_of(url, None, "local"))
        corporate.reach = ("127.0.0.1", running.upstream.port)
        for _ in range(2):
            assert answer(await call(running)).status == 200
        assert corporate.asked == [f"{PUBLIC}:443"] * 2
        # TLS within TLS carries more than one record in both directions.
        assert len(answer(await call(running, path="/large/1000000")).body) == 1_000_000


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="x"\r\n\r\n', "(407)"),
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nsays", "refuses this destination (403)"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "could not reach the destination (502)"),
        (b"HTTP/1.1 301 Moved\r\nLocation: http://evil.test/\r\n\r\n", "answered 301"),
        (b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "more than an answer"),
        # As much as is read at once ends with the head.
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * (16384 - 24) + b"\r\n\r\n" + b"z" * 300_000, "more than an answer"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "instead of answering"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 2", "instead of answering"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 5000, "not HTTP"),
    ],
)
async def test_no_tunnel(chained, corporate, answer, given, says) -> None:
    corporate.answer = given
    running = await chained()
    received = answer(await call(running))
    error = json.loads(received.body)["error"]
    assert (received.status, error["code"]) == (502, "UPSTREAM_FAILED")
    assert says in error["message"]
    assert error["details"]["sent"] is False
    assert str(corporate.port) not in received.body.decode()
    assert (running.upstream.connections, running.decide.completions[0].ending.value) == (0, "not_sent")


async def test_a_proxy_that_is_not_there_or_never_answers(chained, corporate, answer, monkeypatch) -> None:
    monkeypatch.setattr(tunnel, "ASK_SECONDS", 0.5)
    running = await chained(url="http://u:hunter2@127.0.0.1:1")
    received = answer(await call(running))
    assert (received.status, "takes no connection" in received.body.decode()) == (502, True)
    assert b"hunter2" not in received.body
    corporate.answer = b""
    running = await chained()
    received = answer(await call(running))
    assert (received.status, "did not answer within 0.5 s" in received.body.decode()) == (502, True)
    assert running.decide.completions[0].ending.value == "not_sent"


async def test_an_ordinary_proxy_that_is_called_over_tls(chained, answer) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    running = await chained(url=f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert "does not speak TLS" in answer(await call(running)).body.decode()
    server.close()


async def test_a_certificate_of_the_proxy_that_nobody_trusts(start, names, authority, upstream_tls, answer) -> None:
    async with forward_proxy(upstream_tls[0]) as corporate:
        # 127.0.0.2 is not among the certificate's names.
        url = Secret(f"https://127.0.0.2:{corporate.port}")
        server = await asyncio.start_server(corporate.serve, "127.0.0.2", corporate.port, ssl=upstream_tls[0])
        running = await start(upstream_proxy=upstream_proxy_of(url, None, "local"))
        assert "certificate that is not trusted" in answer(await call(running)).body.decode()
        assert corporate.asked == []
        server.close()


async def test_another_address_is_tried_where_the_proxy_cannot_reach_the_first(
    chained, corporate, names, answer
) -> None:
    names[HOST] = ["2606:2800:21f:cb07:6820:80da:af6b:8b2c", PUBLIC]
    running = await chained()
    corporate.refused["[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:443"] = b"HTTP/1.1 503 Service Unavailable\r\n\r\n"
    assert answer(await call(running)).status == 200
    assert corporate.asked == ["[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:443", f"{PUBLIC}:443"]


@pytest.mark.parametrize("resolution", ["local", "proxy"])
@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "127.0.0.1", "::ffff:10.0.0.1"])
async def test_a_private_address_is_not_asked_for(chained, corporate, names, answer, resolution, address) -> None:
    names["rebind.test"] = [address]
    running = await chained(resolution)
    for host in ("rebind.test", "10.0.0.1" if ":" in address else address):
        received = answer(await running.plain(absolute(host)))
        assert (received.status, json.loads(received.body)["error"]["code"]) == (403, "DESTINATION_BLOCKED")
    assert corporate.asked == []


async def test_a_private_address_of_the_allowlist(chained, corporate, names, answer) -> None:
    """Through the proxy, unless the operator names it; and no longer than the allowlist names it."""
    names["build.test"] = ["10.0.0.1"]
    running = await chained()
    corporate.reach = ("127.0.0.1", running.upstream.plain_port)
    running.decide.rules = parse_allowlist('{"destinations": [{"host": "build.test", "private": true}]}', None)
    assert answer(await running.plain(absolute("build.test"))).status == 200
    assert corporate.asked == ["10.0.0.1:80"]
    running.decide.rules = PUBLIC_ONLY
    assert answer(await running.plain(absolute("build.test"))).status == 403


@pytest.mark.parametrize("direct", ["build.test", "*.test", "10.0.0.0/8"])
async def test_what_the_operator_names_goes_directly(chained, corporate, names, answer, direct) -> None:
    """127.0.0.1 is always direct, so what is tried is a name that resolves to it, and an address of nobody."""
    names["build.test"] = ["127.0.0.1"] if "." in direct and "/" not in direct else ["10.255.255.1"]
    running = await chained(direct=direct)
    rules = '{"destinations": [{"host": "build.test", "private": true}]}'
    running.decide.rules = parse_allowlist(rules, None)
    async with asyncio.timeout(3):
        try:
            await running.plain(absolute("build.test", running.upstream.plain_port), wait_seconds=1)
        finally:
            assert corporate.asked == []


async def test_what_is_named_and_on_this_machine_is_reached(chained, corporate, names, answer) -> None:
    names["near.test"] = ["127.0.0.1"]
    running = await chained()
    running.decide.rules = parse_allowlist('{"destinations": [{"host": "near.test", "private": true}]}', None)
    assert answer(await running.plain(absolute("near.test", running.upstream.plain_port))).status == 200
    assert corporate.asked == []


async def test_the_name_goes_to_a_proxy_that_resolves(chained, corporate, names, answer) -> None:
    names["api.example.com"] = [PUBLIC]
    running = await chained("proxy")
    assert answer(await call(running)).status == 200
    assert corporate.asked == [f"{PUBLIC}:443"]  # a name that only this network has: by the address that was checked
    corporate.reach = ("127.0.0.1", running.upstream.plain_port)
    for host in ("api.example.com", "unknown.example.com", PUBLIC):
        assert answer(await running.plain(absolute(host))).status == 200
        assert corporate.asked.pop() == f"{host}:80"


@pytest.mark.parametrize("host", ["metadata.google.internal", "vault", "printer.local", "a.localhost", "router.lan"])
async def test_names_that_cannot_be_public_are_not_given_to_the_proxy(chained, corporate, answer, host) -> None:
    running = await chained("proxy")
    received = answer(await running.plain(absolute(host)))
    assert (received.status, json.loads(received.body)["error"]["code"]) == (403, "DESTINATION_BLOCKED")
    assert corporate.asked == []


async def test_a_name_server_that_does_not_answer(chained, corporate, answer, monkeypatch) -> None:
    monkeypatch.setattr(chaining, "LOOK_UP_SECONDS", 0.2)
    running = await chained("proxy")
    loop = asyncio.get_running_loop()
    loop.getaddrinfo._resolve = lambda host, port, **options: asyncio.sleep(60)
    corporate.reach = ("127.0.0.1", running.upstream.plain_port)
    assert answer(await running.plain(absolute("unknown.example.com"))).status == 200
    assert corporate.asked == ["unknown.example.com:80"]


async def test_names_without_an_answer_open_no_other_name(chained, corporate, names, answer, monkeypatch) -> None:
    """An agent that fills its organization's look-ups makes the next one wait, and not pass unchecked."""
    monkeypatch.setattr(chaining, "LOOK_UP_SECONDS", 0.2)
    names["wiki.example.com"] = ["10.0.0.5"]
    running = await chained("proxy")
    corporate.reach = ("127.0.0.1", running.upstream.plain_port)
    resolver = asyncio.get_running_loop().getaddrinfo
    resolve = resolver._resolve

    async def slow(host, port, **options):
        await asyncio.sleep(1 if host.startswith("tar") else 0)
        return await resolve(host, port, **options)

    resolver._resolve = slow
    async with asyncio.TaskGroup() as group:
        for number in range(16):
            group.create_task(running.plain(absolute(f"tar{number}.example.com")))
        await asyncio.sleep(0.1)
        received = answer(await running.plain(absolute("wiki.example.com")))
    assert (received.status, json.loads(received.body)["error"]["code"]) == (403, "DESTINATION_BLOCKED")
    assert "wiki.example.com:80" not in corporate.asked


async def test_a_name_without_an_address_is_refused_where_the_gate_resolves(chained, corporate, answer) -> None:
    running = await chained()
    received = answer(await running.plain(absolute("unknown.example.com")))
    assert (received.status, json.loads(received.body)["error"]["code"]) == (502, "UPSTREAM_FAILED")
    assert corporate.asked == []


async def test_a_client_that_leaves_while_the_proxy_is_asked(chained, corporate) -> None:
    corporate.answer = b""
    running = await chained()
    _, writer = await asyncio.open_connection("127.0.0.1", running.port)
    writer.write(absolute(HOST))
    async with asyncio.timeout(5):
        while not corporate.asked:
            await asyncio.sleep(0.01)
        writer.close()
        await running.settled()
    assert running.decide.completions[0].ending.value == "not_sent"


def test_a_proxy_as_the_settings_say() -> None:
    proxy = upstream_proxy_of(Secret("http://corp.example.com:3128"), "*.example.com, 10.0.0.0/8,::1", "proxy")
    assert proxy == UpstreamProxy(
        "corp.example.com",
        3128,
        tls=False,
        authorization=None,
        names=("*.example.com",),
        networks=(ip_network("10.0.0.0/8"), ip_network("::1")),
        resolves_names=True,
    )
    assert upstream_proxy_of(None, "10.0.0.0/8", "local") is None
    with pytest.raises(ValidationError, match=r'HEADGATE_UPSTREAM_PROXY_DIRECT holds "10.0.0.1/8": a name'):
        upstream_proxy_of(Secret("http://corp.example.com:3128"), "10.0.0.1/8", "local")
