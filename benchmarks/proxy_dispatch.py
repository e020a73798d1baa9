"""What the gate's dispatch costs: the gate without decisions, a bare mitmproxy master, and a stock mitmdump.

    python -m benchmarks.proxy_dispatch [--seconds 4] [--rounds 3] [--connections 1 8 64]

HTTPS through CONNECT, keep-alive, GET of 1 KB and POST of 4 KB, a process each for proxy, upstream and client on
one machine. Set-ups alternate within each round; the figures are medians. CPU is the proxy's own (user and
system), which varies least when the machine is busy.
"""

import argparse
import asyncio
import os
import resource
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.load.processes import processor_seconds

RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1024\r\n\r\n" + b"x" * 1024
REQUESTS = {
    "GET 1 KB": b"GET /v1/items?page=1 HTTP/1.1\r\nHost: %b\r\nUser-Agent: bench\r\nAccept: application/json\r\n\r\n",
    "POST 4 KB": (
        b"POST /v1/items HTTP/1.1\r\nHost: %b\r\nUser-Agent: bench\r\nContent-Type: application/json\r\n"
        b"Content-Length: 4096\r\n\r\n" + b"y" * 4096
    ),
}
SET_UPS = ("gate", "bare", "mitmdump")


@dataclass(frozen=True)
class Window:
    requests: int
    seconds: float
    cpu_seconds: float
    latencies: list[float]


class Upstream(asyncio.Protocol):
    """Answers each request with the same 1 KB; looks at Content-Length only to find the next one."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            body = 4096 if self.buffer.startswith(b"POST") else 0
            if len(self.buffer) < end + 4 + body:
                return
            self.buffer = self.buffer[end + 4 + body :]
            self.transport.write(RESPONSE)  # type: ignore[attr-defined] # a transport of a stream can write


async def upstream(directory: Path) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(directory / "leaf.pem")
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", 0, ssl=context)
    (directory / "upstream.port").write_text(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


async def proxy(directory: Path, set_up: str) -> None:
    """A proxy in this process; says its port in a file."""
    from headgate.organizations.destinations import parse_allowlist  # noqa: PLC0415 - only this process needs them

    if set_up == "gate":
        from addons.certificate import Certificate  # noqa: PLC0415
        from addons.guard import Guard, OwnPlaces  # noqa: PLC0415
        from addons.limits import Limits, RequestLimits  # noqa: PLC0415
        from addons.streaming import Streaming  # noqa: PLC0415
        from addons.verdict import allow, flow_state, is_open  # noqa: PLC0415
        from proxy.master import Gate, ProxySettings  # noqa: PLC0415

        rules = parse_allowlist('{"destinations": [{"host": "127.0.0.1", "private": true}]}', None)

        class Allow:
            def http_connect(self, flow: object) -> None:
                allow(flow)  # type: ignore[arg-type]

            def request(self, flow: object) -> None:
                if is_open(flow):  # type: ignore[arg-type]
                    flow_state(flow).client.rules = rules  # type: ignore[arg-type]
                    allow(flow, lambda completion: None)  # type: ignore[arg-type]

        gate = Gate(ProxySettings("127.0.0.1", 0, directory / "private", directory / "roots.pem"))
        limits = RequestLimits()
        addons = [
            Limits(limits),
            Certificate(lambda: b""),
            Guard(OwnPlaces(lambda: gate.listener.ports)),
            Streaming(),
            Allow(),
        ]
        await gate.run(
            addons,
            ready=lambda listener: (directory / "proxy.port").write_text(str(next(iter(listener.ports)))) and None,
        )
        return
    from mitmproxy import options  # noqa: PLC0415
    from mitmproxy.addons import core, errorcheck, next_layer, proxyserver, tlsconfig  # noqa: PLC0415
    from mitmproxy.master import Master  # noqa: PLC0415
    from mitmproxy.tools.dump import DumpMaster  # noqa: PLC0415

    chosen = options.Options(confdir=str(directory / "private"), listen_host="127.0.0.1", listen_port=0)
    master: Master
    if set_up == "bare":
        master = Master(chosen)
        master.addons.add(
            core.Core(),
            proxyserver.Proxyserver(),
            next_layer.NextLayer(),
            tlsconfig.TlsConfig(),
            errorcheck.ErrorCheck(),
        )
        chosen.update(connection_strategy="lazy")
    else:
        master = DumpMaster(chosen, with_termlog=True, with_dumper=True)
        chosen.update(flow_detail=0)
    chosen.update(ssl_verify_upstream_trusted_ca=str(directory / "roots.pem"))

    class Ready:
        def running(self) -> None:
            server = master.addons.get("proxyserver")
            (directory / "proxy.port").write_text(str(server.listen_addrs()[0][1]))

    master.addons.add(Ready())
    await master.run()


async def load(directory: Path, request: bytes, connections: int, seconds: float, cpu: Callable[[], float]) -> Window:
    """Keeps ``connections`` requests in flight for ``seconds``, after a warm-up of a quarter of that."""
    target = f"127.0.0.1:{(directory / 'upstream.port').read_text()}".encode()
    port = int((directory / "proxy.port").read_text())
    context = ssl.create_default_context(cafile=str(directory / "public" / "ca.pem"))
    latencies: list[float] = []
    counting = stop = False
    size = RESPONSE.find(b"\r\n\r\n") + 4 + 1024

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n\r\n" % (target, target))
        await reader.readuntil(b"\r\n\r\n")
        await writer.start_tls(context, server_hostname="127.0.0.1")
        message = request % target
        while not stop:
            began = time.perf_counter()
            writer.write(message)
            await reader.readexactly(size)
            if counting:
                latencies.append(time.perf_counter() - began)
        writer.close()

    tasks = [asyncio.ensure_future(one()) for _ in range(connections)]
    await asyncio.sleep(seconds / 4)
    counting, began, cpu_began = True, time.perf_counter(), cpu()
    await asyncio.wait(tasks, timeout=seconds)
    counting, ended, cpu_ended = False, time.perf_counter(), cpu()
    stop = True
    await asyncio.gather(*tasks)
    return Window(len(latencies), ended - began, cpu_ended - cpu_began, latencies)


def start(directory: Path, role: str, port_file: str) -> subprocess.Popen[bytes]:
    (directory / port_file).unlink(missing_ok=True)
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.proxy_dispatch", "--role", role, str(directory)])
    while not (directory / port_file).exists():
        if process.poll() is not None:
            raise SystemExit(f"{role} did not start")
        time.sleep(0.05)
    time.sleep(0.2)
    return process


def prepare(directory: Path) -> None:
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    from proxy.authority import Authority, make_certificate  # noqa: PLC0415
    from proxy.trust import write_upstream_roots  # noqa: PLC0415

    now = datetime.now(UTC)
    Authority(directory / "private", directory / "public").open(now)
    root_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root = make_certificate(root_key, now)
    import ipaddress  # noqa: PLC0415

    leaf = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")]))
        .issuer_name(root.subject)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(root.not_valid_before_utc)
        .not_valid_after(root.not_valid_after_utc)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(root_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (directory / "leaf.pem").write_bytes(private + leaf.public_bytes(pem))
    (directory / "root.pem").write_bytes(root.public_bytes(pem))
    write_upstream_roots(directory / "roots.pem", directory / "root.pem")


def measure(seconds: float, rounds: int, connections: Sequence[int]) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        prepare(directory)
        server = start(directory, "upstream", "upstream.port")
        windows: dict[tuple[str, str, int], list[Window]] = {}
        try:
            for _ in range(rounds):
                for set_up in SET_UPS:
                    process = start(directory, set_up, "proxy.port")
                    try:
                        for kind, request in REQUESTS.items():
                            for count in connections:
                                window = asyncio.run(
                                    load(directory, request, count, seconds, partial(processor_seconds, process.pid))
                                )
                                windows.setdefault((kind, set_up, count), []).append(window)
                    finally:
                        process.terminate()
                        process.wait()
        finally:
            server.terminate()
            server.wait()
    report(windows, connections)


def report(windows: dict[tuple[str, str, int], list[Window]], connections: Sequence[int]) -> None:
    load_average = " ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, load average {load_average}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC\n")
    print("| request | connections | set-up | requests/s | of bare | CPU µs | of bare | p50 ms |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in REQUESTS:
        for count in connections:
            rate = {s: statistics.median(w.requests / w.seconds for w in windows[kind, s, count]) for s in SET_UPS}
            cpu = {
                s: statistics.median(w.cpu_seconds / w.requests * 1e6 for w in windows[kind, s, count]) for s in SET_UPS
            }
            for s in SET_UPS:
                p50 = statistics.median(statistics.median(w.latencies) for w in windows[kind, s, count]) * 1000
                print(
                    f"| {kind} | {count} | {s} | {rate[s]:.0f} | {rate[s] / rate['bare']:.2f} |"
                    f" {cpu[s]:.0f} | {cpu[s] / cpu['bare']:.2f} | {p50:.2f} |"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--role", nargs=2, metavar=("ROLE", "DIRECTORY"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.role is None:
        measure(arguments.seconds, arguments.rounds, arguments.connections)
        return
    role, directory = arguments.role
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    work = upstream(Path(directory)) if role == "upstream" else proxy(Path(directory), role)
    asyncio.run(work)


if __name__ == "__main__":
    main()
