"""TLS to the proxy itself (an ``https://`` proxy address) and SOCKS5, on the same port, with real clients: everything
behind the entrance is what it is for CONNECT."""

import asyncio
import json
import os
import sys
from pathlib import Path

import certifi
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addons.identify import as_proxy_refusal
from addons.refuse import refuse_with
from addons.verdict import flow_state
from headgate.cli.diagnosis import check_proxy
from headgate.cli.finding import Verdict
from headgate.kernel.errors import UnauthorizedError
from headgate.organizations.destinations import PUBLIC_ONLY
from proxy.socks_handshake import Handshake, RefusedHandshakeError


class Entrance:
    """Keeps how the key arrived: over which TLS, and in which header; asks for one where there is none."""

    def __init__(self) -> None:
        self.keys: list[tuple[str | None, str | None]] = []

    def http_connect(self, flow) -> None:
        key = flow.request.headers.get("proxy-authorization")
        self.keys.append((flow.client_conn.tls_version, key))
        if key is None:
            refuse_with(flow, as_proxy_refusal(UnauthorizedError("no key")))

    def requestheaders(self, flow) -> None:
        if not flow_state(flow).tunnelled:
            self.http_connect(flow)
            flow.request.headers.pop("proxy-authorization", None)


@pytest.fixture
def entrance() -> Entrance:
    return Entrance()


@pytest.fixture
async def running(start, entrance):
    return await start(before=[entrance])


async def run(running, folder: Path, *command: str) -> str:
    bundle = folder / "bundle.pem"
    roots = [Path(certifi.where()), running.authority.certificate_file]
    bundle.write_bytes(b"\n".join(one.read_bytes() for one in roots))
    proxy = f"https://agent:key@localhost:{running.port}"
    environment = {
        **dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"), proxy),
        **dict.fromkeys(("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "BUNDLE"), str(bundle)),
        "PATH": os.environ["PATH"],
    }
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    said, problem = await process.communicate()
    assert process.returncode == 0, problem.decode()
    return said.decode().strip()


CLIENTS = {
    "curl": ("sh", "-c", 'curl -sS --proxy-cacert "$BUNDLE" {url}'),
    "requests": (sys.executable, "-W", "ignore", "-c", "import requests; print(requests.get('{url}').text)"),
    "httpx": (sys.executable, "-c", "import httpx; print(httpx.get('{url}').text)"),
}


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_client_that_speaks_tls_to_the_proxy(running, entrance, tmp_path, client) -> None:
    for url in (f"https://127.0.0.1:{running.upstream.port}/", f"http://127.0.0.1:{running.upstream.plain_port}/"):
        entrance.keys.clear()
        assert await run(running, tmp_path, *(one.format(url=url) for one in CLIENTS[client])) == "hello"
        assert entrance.keys == [("TLSv1.3", "Basic YWdlbnQ6a2V5")]
    assert not [head for head in running.upstream.heads if b"YWdlbnQ6a2V5" in head]


async def test_the_rules_of_addresses_are_the_same(running, tmp_path) -> None:
    running.decide.rules = PUBLIC_ONLY
    url = f"https://127.0.0.1:{running.upstream.port}/"
    said = await run(running, tmp_path, *(one.format(url=url) for one in CLIENTS["curl"]))
    assert json.loads(said)["error"]["code"] == "DESTINATION_BLOCKED"
    assert running.upstream.connections == 0


async def test_the_doctor_speaks_tls_too(running) -> None:
    for scheme in ("http", "https"):
        found = await asyncio.to_thread(
            check_proxy, f"{scheme}://localhost:{running.port}", running.authority.certificate_file
        )
        assert found.verdict is Verdict.OK, found.text
    # Another authority's certificate says nothing of this proxy.
    found = await asyncio.to_thread(check_proxy, f"https://localhost:{running.port}", Path(certifi.where()))
    assert found.verdict is Verdict.WRONG


def socks(host: bytes, port: int, *, command: int = 1, kind: int = 3, key: bytes = b"key") -> tuple[bytes, ...]:
    """Greeting, password and request, as a client sends them one after the other."""
    address = bytes((len(host),)) + host if kind == 3 else host
    request = bytes((5, command, 0, kind)) + address + port.to_bytes(2, "big")
    return b"\x05\x02\x00\x02", b"\x01\x05agent" + bytes((len(key),)) + key, request


async def shake_hands(running, *parts: bytes) -> tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]:
    """All that is answered; each part is sent when the one before was answered, or at once where nothing is."""
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    received = b""
    for part in parts:
        writer.write(part)
        try:
            received += await asyncio.wait_for(reader.read(100), 5)
        except TimeoutError:
            break
    return received, reader, writer


OPENED = b"\x05\x02\x01\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"


async def test_curl_through_socks(running, entrance) -> None:
    for url in (f"https://localhost:{running.upstream.port}/", f"http://localhost:{running.upstream.plain_port}/"):
        command = ["curl", "-sS", "-x", f"socks5h://agent:key@127.0.0.1:{running.port}", url]
        process = await asyncio.create_subprocess_exec(
            *command, "--cacert", str(running.authority.certificate_file), stdout=asyncio.subprocess.PIPE
        )
        said, _ = await process.communicate()
        assert (process.returncode, said) == (0, b"hello")
    assert entrance.keys == [(None, "Basic YWdlbnQ6a2V5")] * 2


async def test_a_socks_client_that_resolves_names_itself(running) -> None:
    """Its tunnel names an address, and its TLS a host."""
    url = f"https://localhost:{running.upstream.port}/"
    command = ["curl", "-sS", "-4", "-x", f"socks5://agent:key@127.0.0.1:{running.port}", url]
    process = await asyncio.create_subprocess_exec(
        *command, "--cacert", str(running.authority.certificate_file), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert json.loads(said)["error"]["code"] == "REQUEST_AMBIGUOUS"
    assert running.upstream.connections == 0


async def test_several_calls_over_one_socks_tunnel(running, answer) -> None:
    received, reader, writer = await shake_hands(running, *socks(b"localhost", running.upstream.port))
    assert received == OPENED
    await writer.start_tls(running.trust, server_hostname="localhost")
    for _ in range(3):
        writer.write(f"GET / HTTP/1.1\r\nHost: localhost:{running.upstream.port}\r\n\r\n".encode())
        assert answer(await reader.readuntil(b"hello")).status == 200
    writer.close()
    assert running.upstream.connections == 1


async def test_a_handshake_that_arrives_byte_by_byte(running) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    for byte in b"".join(socks(b"localhost", running.upstream.port)):
        writer.write(bytes((byte,)))
        await writer.drain()
    assert await asyncio.wait_for(reader.readexactly(len(OPENED)), 5) == OPENED
    writer.close()


@pytest.mark.parametrize(
    ("parts", "ends"),
    [
        ((b"\x05\x01\x00",), b"\x05\xff"),
        (socks(b"localhost", 443, command=2), b"\x05\x07\x00\x01" + bytes(6)),
        (socks(b"localhost", 443, command=3), b"\x05\x07\x00\x01" + bytes(6)),
        (socks(b"a", 443, kind=9), b"\x05\x08\x00\x01" + bytes(6)),
        (socks(b"a b", 443), b"\x05\x08\x00\x01" + bytes(6)),
        (socks(b"a\r\nX-Agent-Key: k", 443), b"\x05\x08\x00\x01" + bytes(6)),
        (socks(b"a:1@b", 443), b"\x05\x08\x00\x01" + bytes(6)),
        (socks("ü.test".encode(), 443), b"\x05\x08\x00\x01" + bytes(6)),
        (socks(b"", 443), b"\x05\x08\x00\x01" + bytes(6)),
        (socks(b"localhost", 0), b"\x05\x02\x00\x01" + bytes(6)),
        (socks(b"0x7f.1", 443), b"\x05\x02\x00\x01" + bytes(6)),
        (
            (*socks(b"localhost", 443)[:2], socks(b"localhost", 443)[2] + b"GET / HTTP/1.1"),
            b"\x05\x01\x00\x01" + bytes(6),
        ),
        ((b"\x05\x02\x00\x02", b"\x02\x01a\x01b"), b"\x01\x01"),
    ],
)
async def test_other_forms_of_socks_are_refused(running, entrance, parts, ends) -> None:
    received, reader, writer = await shake_hands(running, *parts)
    received += await asyncio.wait_for(reader.read(), 5)
    assert received.endswith(ends)
    writer.close()
    assert running.upstream.connections == 0
    await running.settled()


async def test_a_socks_client_whose_tunnel_is_refused(start) -> None:
    class Nobody:
        def http_connect(self, flow) -> None:
            refuse_with(flow, as_proxy_refusal(UnauthorizedError("not a key")))

    running = await start(before=[Nobody()])
    received, reader, writer = await shake_hands(running, *socks(b"localhost", running.upstream.port))
    assert received + await asyncio.wait_for(reader.read(), 5) == b"\x05\x02\x01\x00\x05\x02\x00\x01" + bytes(6)
    writer.close()


@pytest.mark.parametrize(("kind", "host"), [(1, b"\x7f\x00\x00\x01"), (4, bytes(15) + b"\x01"), (3, b"localhost")])
async def test_the_rules_of_addresses_are_the_same_through_socks(running, answer, kind, host) -> None:
    running.decide.rules = PUBLIC_ONLY
    received, reader, writer = await shake_hands(running, *socks(host, running.upstream.plain_port, kind=kind))
    assert received == OPENED
    named = {1: "127.0.0.1", 4: "[::1]", 3: "localhost"}[kind]
    writer.write(f"GET / HTTP/1.1\r\nHost: {named}:{running.upstream.plain_port}\r\nConnection: close\r\n\r\n".encode())
    received = answer(await asyncio.wait_for(reader.read(), 5))
    assert (received.status, json.loads(received.body)["error"]["code"]) == (403, "DESTINATION_BLOCKED")
    writer.close()
    assert running.upstream.connections == 0


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_a_handshake_becomes_one_request_or_nothing(pieces: list[bytes]) -> None:
    handshake = Handshake()
    try:
        for piece in (b"\x05\x01\x02", b"\x01\x00\x03key", *pieces):
            handshake.feed(piece)
    except RefusedHandshakeError as refused:
        assert refused.answer[:1] in (b"\x05", b"\x01")
    if handshake.connect is not None:
        head, _, rest = handshake.connect.partition(b"\r\n\r\n")
        assert (rest, len(head.split(b"\r\n")), head.count(b"\n"), head.count(b" ")) == (b"", 3, 2, 5)
