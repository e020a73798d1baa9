"""Clients that do not accept the gate's certificate, in each way there is, and those that accept it."""

import asyncio
import hashlib
import socket
import ssl
from collections.abc import Callable

import pytest

from addons import refused_certificate
from addons.refused_certificate import RefusedCertificates
from addons.verdict import flow_state
from headgate.audit.count_refusals import RefusedCall, RefusedRequest
from tests.integration.proxy.conftest import caller_named

HOST = "localhost"


class Heard:
    """In place of ``RefusalCounts``: keeps all that is counted."""

    def __init__(self) -> None:
        self.counted: list[tuple[RefusedRequest, RefusedCall]] = []

    def add(self, refused: RefusedRequest, call: Callable[[], RefusedCall]) -> None:
        self.counted.append((refused, call()))

    async def one(self, host: str = HOST) -> str:
        """What is said of the only one, once it is there."""
        async with asyncio.timeout(5):
            while not self.counted:
                await asyncio.sleep(0.01)
        ((refused, call),) = self.counted
        assert refused == RefusedRequest("org_1", "agt_1", None, "CERTIFICATE_REFUSED")
        assert (call.method, call.host, call.path) == ("CONNECT", host, None)
        self.counted.clear()
        return call.reason


class Known:
    """As if each client had shown the same agent's key."""

    def http_connect(self, flow) -> None:
        flow_state(flow).client.identify(caller_named("agt_1"))


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def running(start, heard):
    return await start(RefusedCertificates(heard), before=[Known()])


async def handshake(running, context: ssl.SSLContext, *, host: str = HOST) -> asyncio.StreamWriter:
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    target = f"{host}:{running.upstream.port}"
    writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    try:
        await writer.start_tls(context, server_hostname=host)
    except BaseException:
        writer.close()
        raise
    return writer


def refuse_with_alert(running, version: ssl.TLSVersion | None = None) -> None:
    """As urllib and requests do it. asyncio closes the connection and sends no alert."""
    context = ssl.create_default_context()
    if version is not None:
        context.minimum_version = context.maximum_version = version
    target = f"{HOST}:{running.upstream.port}"
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as raw:
        raw.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        assert b" 200 " in raw.recv(4096)
        with pytest.raises(ssl.SSLCertVerificationError):
            context.wrap_socket(raw, server_hostname=HOST)


async def accept(running, host: str = HOST) -> None:
    """A whole call by a client that trusts the gate."""
    reader, writer = await running.tunnel(host=host)
    writer.write(f"GET / HTTP/1.1\r\nHost: {host}:{running.upstream.port}\r\nConnection: close\r\n\r\n".encode())
    assert b" 200 " in await reader.read()
    writer.close()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_an_alert(running, heard, version) -> None:
    await asyncio.to_thread(refuse_with_alert, running, version)
    reason = await heard.one()
    assert reason.startswith("client does not accept Headgate's certificate (the alert unknown ca)")
    assert reason.endswith("so it probably does not trust Headgate's authority")


async def test_curl(running, heard) -> None:
    command = ["curl", "-sS", "-x", f"http://127.0.0.1:{running.port}", f"https://{HOST}:{running.upstream.port}/"]
    process = await asyncio.create_subprocess_exec(
        *command, stderr=asyncio.subprocess.PIPE, env={"PATH": "/usr/bin:/bin"}
    )
    _, said = await process.communicate()
    assert process.returncode == 60, said
    assert "the alert unknown ca" in await heard.one()
    assert running.upstream.connections == 0


async def test_a_client_that_verifies_after_the_handshake(running, heard) -> None:
    """git and wget on Debian (GnuTLS). It has accepted nothing, though its handshake was complete."""
    url = f"https://upstream.test:{running.upstream.port}/"
    process = await asyncio.create_subprocess_exec(
        "git", "ls-remote", url, stderr=asyncio.subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "HTTPS_PROXY": f"http://127.0.0.1:{running.port}"},
    )  # fmt: skip
    _, said = await process.communicate()
    assert b"certificate" in said
    reason = await heard.one("upstream.test")
    assert reason.endswith("so it probably does not trust Headgate's authority")


async def test_a_client_that_is_pinned_to_another_certificate(running, heard) -> None:
    """It compares the certificate itself, after the handshake, and trusts the gate for other hosts."""
    await accept(running, "127.0.0.1")
    writer = await handshake(running, running.trust)
    certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    assert hashlib.sha256(certificate).hexdigest() != "0" * 64
    writer.close()
    reason = await heard.one()
    assert "ended the connection after the handshake and sent nothing" in reason
    assert reason.endswith("so the client is probably pinned to this host's own certificate")


async def test_a_pinned_client_that_sends_an_alert(running, heard) -> None:
    await accept(running, "127.0.0.1")
    await asyncio.to_thread(refuse_with_alert, running)
    assert "(the alert unknown ca): this agent accepts it for other hosts" in await heard.one()


async def test_another_program_of_the_same_agent(running, heard) -> None:
    await accept(running)
    with pytest.raises(ssl.SSLCertVerificationError):
        await handshake(running, ssl.create_default_context())
    reason = await heard.one()
    assert (
        "(ended the connection when it saw the certificate): a program of this agent accepts it for this host" in reason
    )


async def test_an_end_where_the_certificate_is_seen(running, heard) -> None:
    """A client that sends no alert: it reads the server's first flight and closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    target = f"{HOST}:{running.upstream.port}"
    writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    hello = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname=HOST)
    with pytest.raises(ssl.SSLWantReadError):
        hello.do_handshake()
    writer.write(outgoing.read())
    await reader.read(1)
    writer.close()
    assert "ended the connection when it saw the certificate" in await heard.one()


async def test_what_is_no_refusal(running, heard, monkeypatch) -> None:
    await accept(running)
    # No certificate was shown: half of a ClientHello, and a version that the gate does not speak.
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    target = f"{HOST}:{running.upstream.port}"
    writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"\x16\x03\x01\x02\x00\x01\x00")
    await writer.drain()
    writer.close()
    # A spare connection that is given up later.
    monkeypatch.setattr(refused_certificate, "_AT_ONCE_SECONDS", 0.0)
    (await handshake(running, running.trust)).close()
    await running.settled()
    assert heard.counted == []


async def test_a_client_without_a_key_is_a_line_in_the_log(start, heard) -> None:
    running = await start(RefusedCertificates(heard))
    with pytest.raises(ssl.SSLCertVerificationError):
        await handshake(running, ssl.create_default_context())
    await running.settled()
    assert heard.counted == []
