"""A real gate, a real HTTPS upstream that counts what reaches it, and a client that writes raw bytes."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from mitmproxy.http import HTTPFlow

from addons.certificate import Certificate
from addons.guard import Guard, OwnPlaces
from addons.limits import Limits, RequestLimits
from addons.streaming import Streaming
from addons.verdict import Completion, allow, flow_state, is_open
from headgate.agents.model import KeyIdentity
from headgate.agents.scopes import KeyKind
from headgate.gate.caller import Caller
from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import DestinationRules, parse_allowlist
from headgate.outgoing.upstream_proxy import UpstreamProxy
from proxy.authority import Authority, make_certificate
from proxy.master import Gate, ProxySettings
from proxy.trust import write_upstream_roots

LOOPBACK = parse_allowlist('{"destinations": [{"host": "127.0.0.0/8", "private": true}]}', None)


@dataclass(frozen=True)
class Answer:
    """An HTTP/1.1 response as the client saw it; ``complete`` says whether its body ended as announced."""

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes
    complete: bool


class Upstream:
    """Counts connections and requests; answers by path."""

    def __init__(self) -> None:
        self.connections = 0
        self.written_bytes = 0
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.rest: list[bytes] = []
        """What a connection brought after its last request."""
        self.scripts: dict[bytes, list[bytes]] = {}
        self.gate = asyncio.Event()
        self.port = 0
        self.plain_port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                self.bodies.append(await _read_body(head.lower(), reader))
                path = head.split(b" ", 2)[1]
                if not await (self._play(path, writer) if path in self.scripts else self._answer(path, head, writer)):
                    break
        except asyncio.IncompleteReadError as end:
            self.rest.append(end.partial)
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def _play(self, path: bytes, writer: asyncio.StreamWriter) -> bool:
        """Piece by piece; one that ends in three line feeds is followed by the connection's end."""
        for piece in self.scripts[path]:
            writer.write(piece)
            await writer.drain()
            self.written_bytes += len(piece)
            await asyncio.sleep(0.02)
        return not self.scripts[path][-1].endswith(b"\n\n\n")

    async def _answer(self, path: bytes, head: bytes, writer: asyncio.StreamWriter) -> bool:
        if path.startswith(b"/events"):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            writer.write(b"9\r\ndata: 1\n\n\r\n")
            await self.gate.wait()
            writer.write(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n")
        elif path.startswith(b"/broken"):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this")
            await writer.drain()
            return False
        elif path.startswith(b"/garbage"):
            writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
            await writer.drain()
            return False
        elif path.startswith(b"/no-head/"):
            mebibytes = int(path.rpartition(b"/")[2])
            while self.written_bytes < mebibytes << 20 and not writer.transport.is_closing():
                writer.write(b"x" * (1 << 20))
                await writer.drain()
                self.written_bytes += 1 << 20
            return False
        elif path.startswith(b"/switch"):
            writer.write(b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: secret\r\n\r\nraw bytes")
            await writer.drain()
            await asyncio.sleep(0.2)
            return False
        elif path.startswith(b"/large"):
            size = int(path.rpartition(b"/")[2])
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
            for _ in range(size // 65536):
                writer.write(bytes(65536))
                await writer.drain()
                self.written_bytes += 65536
            writer.write(bytes(size % 65536))
        elif path.startswith(b"/empty"):
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        elif path.startswith(b"/odd-type"):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/\xff\r\ncontent-length: 5\r\n\r\nhello")
        elif head.startswith(b"HEAD"):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")
        await writer.drain()
        return True


async def _read_body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    for line in head.split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return await reader.readexactly(int(line.partition(b":")[2]))
    if b"transfer-encoding: chunked" not in head:
        return b""
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


def caller_named(agent_id: str) -> Caller:
    """As if this agent had shown a key that works."""
    identity = KeyIdentity("org_1", "key_1", KeyKind.AGENT, agent_id, None, None, frozenset(), None, 1)
    return Caller(Secret("a key"), identity)


@dataclass
class Allow:
    """In place of identify and enforce: lets everything pass, and keeps how each request ended."""

    rules: DestinationRules = LOOPBACK
    completions: list[Completion] = field(default_factory=list)
    before: Callable[[HTTPFlow], Awaitable[None]] | None = None

    def http_connect(self, flow: HTTPFlow) -> None:
        if is_open(flow):
            allow(flow)

    async def request(self, flow: HTTPFlow) -> None:
        if not is_open(flow):
            return
        if self.before is not None:
            await self.before(flow)
        flow_state(flow).client.rules = self.rules
        allow(flow, self.completions.append)


@dataclass
class Running:
    """A gate that runs, and everything around it."""

    gate: Gate
    port: int
    upstream: Upstream
    trust: ssl.SSLContext
    decide: Allow
    authority: Authority

    async def plain(self, request: bytes, *, wait_seconds: float = 5) -> bytes:
        """What comes back for bytes sent to the proxy itself, until it closes or stays silent."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        return await _exchange(reader, writer, request, wait_seconds)

    async def tunnel(
        self, *, host: str = "127.0.0.1", port: int | None = None, alpn: Sequence[str] = (), sni: str | None = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A TLS connection through CONNECT; raises ConnectionRefusedError where the proxy refuses it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        target = f"{host}:{port or self.upstream.port}"
        context = ssl.create_default_context(cafile=str(self.authority.certificate_file))
        if alpn:
            context.set_alpn_protocols(list(alpn))
        if sni is not None:
            context.check_hostname = False
        try:
            writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            if b" 200 " not in head.split(b"\r\n")[0]:
                raise ConnectionRefusedError(head)
            await writer.start_tls(context, server_hostname=sni or host)
        except BaseException:
            writer.close()
            raise
        return reader, writer

    async def secure(self, request: bytes, *, wait_seconds: float = 5, sni: str | None = None) -> bytes:
        """As ``plain``, inside of a tunnel to the upstream."""
        reader, writer = await self.tunnel(sni=sni)
        return await _exchange(reader, writer, request, wait_seconds)

    async def settled(self) -> None:
        """Wait until the gate has no client connection any more."""
        async with asyncio.timeout(60):
            while self.gate.listener.connection_count:
                await asyncio.sleep(0.01)

    def get(self, path: str = "/", *, method: str = "GET", headers: str = "", body: str = "") -> bytes:
        """A well-formed request for inside of a tunnel, with Connection: close."""
        host = f"127.0.0.1:{self.upstream.port}"
        return f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n{body}".encode("latin-1")


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes, wait_seconds: float
) -> bytes:
    received = b""
    try:
        async with asyncio.timeout(wait_seconds):
            writer.write(request)
            while data := await reader.read(65536):
                received += data
                if b"content-length" in received and b"\r\n\r\n" in received and parse(received).complete:
                    # The rest, if the proxy answers twice.
                    wait_seconds = min(wait_seconds, 0.05)
                    received += await asyncio.wait_for(reader.read(65536), wait_seconds)
                    break
    except (TimeoutError, ConnectionError):
        pass
    finally:
        await _closed(writer)
    return received


async def _closed(writer: asyncio.StreamWriter) -> None:
    """Closes to the end: a socket that is open when its loop ends is collected in a later test, and fails that one."""
    writer.close()
    try:
        async with asyncio.timeout(1):
            await writer.wait_closed()
    except (TimeoutError, OSError):
        writer.transport.abort()


def parse(received: bytes) -> Answer:
    """The first final response in ``received``."""
    head, _, rest = received.partition(b"\r\n\r\n")
    if head.startswith(b"HTTP/1.1 100"):
        return parse(rest)
    lines = head.decode("latin-1").split("\r\n")
    _, status, reason = [*lines[0].split(" ", 2), ""][:3]
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    complete = True
    if "content-length" in headers:
        complete = len(rest) >= int(headers["content-length"])
    elif headers.get("transfer-encoding") == "chunked":
        complete = rest.endswith(b"0\r\n\r\n")
    return Answer(int(status), reason, headers, rest, complete)


@pytest.fixture(scope="session")
def upstream_tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    """The upstream's own TLS, and the file with the root that signed it."""
    directory = tmp_path_factory.mktemp("upstream")
    now = datetime.now(UTC)
    root_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root = make_certificate(root_key, now)
    names = x509.SubjectAlternativeName(
        [x509.DNSName("localhost"), x509.DNSName("upstream.test"), x509.IPAddress(ip_address("127.0.0.1"))]
    )
    leaf = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]))
        .issuer_name(root.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(root_key, hashes.SHA256())
    )
    (directory / "root.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))
    chain = directory / "leaf.pem"
    chain.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + leaf.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain)
    return context, directory / "root.pem"


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    directory = tmp_path_factory.mktemp("authority")
    made = Authority(directory / "private", directory / "public")
    made.open(datetime.now(UTC))
    return made


type Start = Callable[..., Awaitable[Running]]


@pytest.fixture
async def start(
    upstream_tls: tuple[ssl.SSLContext, Path], authority: Authority, tmp_path: Path
) -> AsyncIterator[Start]:
    """Starts gates: ``await start(extra addon, …, limits=…, decide=…, before=(addons ahead of decide))``."""
    async with AsyncExitStack() as stack:

        async def begin(
            *after: object,
            before: Sequence[object] = (),
            decide: Allow | None = None,
            limits: RequestLimits | None = None,
            api_origin: tuple[str, int] | None = None,
            max_connections: int = 1000,
            upstream_proxy: UpstreamProxy | None = None,
        ) -> Running:
            return await stack.enter_async_context(
                _running(
                    upstream_tls,
                    authority,
                    tmp_path,
                    before,
                    after,
                    decide or Allow(),
                    limits,
                    api_origin,
                    max_connections,
                    upstream_proxy,
                )
            )

        yield begin


@asynccontextmanager
async def _running(
    upstream_tls: tuple[ssl.SSLContext, Path],
    authority: Authority,
    directory: Path,
    before: Sequence[object],
    after: Sequence[object],
    decide: Allow,
    limits: RequestLimits | None,
    api_origin: tuple[str, int] | None,
    max_connections: int,
    upstream_proxy: UpstreamProxy | None,
) -> AsyncIterator[Running]:
    context, root = upstream_tls
    limits = limits or RequestLimits()
    upstream = Upstream()
    secure = await asyncio.start_server(upstream.serve, "127.0.0.1", 0, ssl=context)
    plain = await asyncio.start_server(upstream.serve, "127.0.0.1", 0)
    upstream.port = secure.sockets[0].getsockname()[1]
    upstream.plain_port = plain.sockets[0].getsockname()[1]
    write_upstream_roots(directory / "roots.pem", root)
    settings = ProxySettings(
        "127.0.0.1",
        0,
        authority.private_dir,
        directory / "roots.pem",
        limits=limits,
        drain_seconds=0.2,
        max_connections=max_connections,
        upstream_proxy=upstream_proxy,
    )
    gate = Gate(settings)
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    addons = [
        Limits(limits),
        Certificate(authority.certificate_file.read_bytes),
        *before,
        Guard(OwnPlaces(lambda: gate.listener.ports, api_origin)),
        Streaming(),
        decide,
        *after,
    ]
    task = asyncio.ensure_future(gate.run(addons, ready=lambda _: ready.set_result(None)))
    await asyncio.wait([task, ready], return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        ready.cancel()
        secure.close()
        plain.close()
        task.result()
    trust = ssl.create_default_context(cafile=str(authority.certificate_file))
    try:
        yield Running(gate, next(iter(gate.listener.ports)), upstream, trust, decide, authority)
    finally:
        upstream.gate.set()
        gate.stop()
        await task
        secure.close()
        plain.close()


@pytest.fixture
async def grpc_server(upstream_tls: tuple[ssl.SSLContext, Path]) -> AsyncIterator[int]:
    """The port of a server of gRPC."""
    from tests.integration.proxy.bidirectional_call import Server  # noqa: PLC0415 - which has Running from here

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(upstream_tls[1].parent / "leaf.pem")
    context.set_alpn_protocols(["h2"])
    served = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, ssl=context)
    yield served.sockets[0].getsockname()[1]
    served.close()


@pytest.fixture(scope="session")
def answer() -> Callable[[bytes], Answer]:
    return parse
