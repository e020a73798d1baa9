"""Receivers, some of which behave badly: each a real server on loopback; and names that lead to them."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from headgate.organizations.addresses import Address

type Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Receiver:
    """``requests``: what arrived, head and body as they came; ``connections``: how often somebody connected."""

    port: int = 0
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    answer: Answer | None = None


class Receivers:
    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._connected: set[asyncio.Task[object]] = set()
        stack.push_async_callback(self._end)

    async def start(self, answer: Answer, *, tls: ssl.SSLContext | None = None, reads: bool = True) -> Receiver:
        """A server that reads one request and then does what ``answer`` (or its attribute, later) says."""
        receiver = Receiver(answer=answer)

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            receiver.connections += 1
            task = asyncio.current_task()
            assert task is not None
            self._connected.add(task)
            try:
                if reads:
                    receiver.requests.append(await _read_request(reader))
                assert receiver.answer is not None
                await receiver.answer(reader, writer)
                await writer.drain()
            except (OSError, asyncio.IncompleteReadError):
                return
            finally:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()

        server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
        receiver.port = server.sockets[0].getsockname()[1]
        self._stack.callback(server.close)
        return receiver

    async def _end(self) -> None:
        for task in self._connected:
            task.cancel()
        await asyncio.gather(*self._connected, return_exceptions=True)


@asynccontextmanager
async def receivers() -> AsyncIterator[Receivers]:
    async with AsyncExitStack() as stack:
        yield Receivers(stack)


async def _read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    return head + await reader.readexactly(int(lengths[0]) if lengths else 0)


def answering(status: int = 200, body: bytes = b"ok", *headers: str) -> Answer:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", *headers, "", ""]
        writer.write("\r\n".join(head).encode() + body)

    return answer


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Says nothing until the other side goes away."""
    await reader.read()


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One byte of an answer every 50 ms: no single read ever times out."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Closes without a word."""


@dataclass
class Flood:
    """An answer of ``size_bytes``; ``sent`` says how far it came."""

    size_bytes: int
    sent: int = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {self.size_bytes}\r\n\r\n".encode())
        piece = b"x" * 65536
        while self.sent < self.size_bytes:
            writer.write(piece)
            await writer.drain()
            self.sent += len(piece)


@dataclass
class NameServer:
    """Answers from ``answers`` in turn, the last one for ever; ``asked`` counts."""

    answers: Sequence[Sequence[str]]
    asked: int = 0
    delay_seconds: float = 0.0

    async def __call__(self, host: str, port: int) -> Sequence[Address]:
        await asyncio.sleep(self.delay_seconds)
        found = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        if not found:
            raise OSError("no such name")
        return [ip_address(one) for one in found]


def write_certificate(folder: Path, *names: str) -> Path:
    """A self-signed certificate for these names, with its key, as PEM: server certificate and root in one."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{names[0]}.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path
