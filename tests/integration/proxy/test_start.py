"""Rules 3 and 9: a gate that cannot start as it should does not listen; one that runs does not change."""

import asyncio
import shutil
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from mitmproxy.exceptions import AddonManagerError, OptionsError

from headgate.kernel.errors import UnavailableError
from proxy.listener import reserve_port
from proxy.master import Gate, ProxySettings


class FailsIn:
    def __init__(self, event: str, error: BaseException) -> None:
        def fail(*_: object) -> None:
            raise error

        setattr(self, event, fail)


class FailsLater:
    async def running(self) -> None:
        await asyncio.sleep(0)
        raise ValueError("boom")


@pytest.mark.parametrize(
    "addon",
    [
        FailsIn("load", ValueError("boom")),
        FailsIn("configure", ValueError("boom")),
        FailsIn("configure", OptionsError("boom")),
        FailsIn("running", ValueError("boom")),
        FailsLater(),
    ],
)
async def test_a_part_that_fails_at_the_start(start, addon) -> None:
    with pytest.raises((ValueError, OptionsError), match="boom"):
        await start(before=[addon])


@pytest.mark.parametrize("hook", ["responseheaders", "server_connect", "next_layer"])
async def test_hooks_that_must_not_wait(start, hook) -> None:
    async def waits(_: object) -> None:
        await asyncio.sleep(0)

    class Waits:
        def __init__(self) -> None:
            setattr(self, hook, waits)

    with pytest.raises(TypeError, match=hook):
        await start(before=[Waits()])


@pytest.mark.parametrize(
    "change", [{"ssl_insecure": True}, {"ignore_hosts": [".*"]}, {"rawtcp": True}, {"http2": False}, {"key_size": 1024}]
)
async def test_options_of_a_running_gate(start, answer, change) -> None:
    running = await start()
    options = running.gate._master.options
    before = {name: getattr(options, name) for name in change}
    with pytest.raises(OptionsError, match="frozen"):
        options.update(**change)
    assert {name: getattr(options, name) for name in change} == before
    assert answer(await running.secure(running.get())).status == 200


async def test_there_are_no_scripts(start) -> None:
    running = await start()
    assert "scripts" not in running.gate._master.options
    with pytest.raises((KeyError, OptionsError)):
        running.gate._master.options.update(scripts=["/tmp/x.py"])
    names = {type(addon).__name__ for addon in running.gate._master.addons.chain}
    assert not names & {"ScriptLoader", "Onboarding", "Core", "View", "Save"}


async def test_an_addon_of_a_name_that_exists(start) -> None:
    class Latch:
        pass

    with pytest.raises(AddonManagerError):
        await start(before=[Latch()])


async def test_a_port_that_somebody_else_has(authority, tmp_path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UnavailableError, match=str(port)):
            reserve_port("127.0.0.1", port)
        (tmp_path / "roots.pem").touch()
        gate = Gate(ProxySettings("127.0.0.1", port, authority.private_dir, tmp_path / "roots.pem"))
        with pytest.raises(UnavailableError, match=str(port)):
            await gate.run([])


async def test_two_workers_on_one_port(start) -> None:
    running = await start()
    with reserve_port("127.0.0.1", running.port) as reserved:
        assert reserved.getsockname()[1] == running.port
        # The reserved socket does not listen, so every connection still arrives.
        for _ in range(20):
            assert b" 200 " in await running.secure(running.get())
    second = await asyncio.start_server(lambda *_: None, "127.0.0.1", running.port, reuse_port=True)
    second.close()
    await second.wait_closed()


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_the_certificate_at_a_plain_address(start, answer, method) -> None:
    running = await start()
    raw = f"{method} /ca.pem HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\nConnection: close\r\n\r\n"
    received = answer(await running.plain(raw.encode()))
    assert (received.status, received.headers["content-type"]) == (200, "application/x-pem-file")
    assert received.body == (running.authority.certificate_file.read_bytes() if method == "GET" else b"")


async def test_strict_clients_accept_the_certificates(start) -> None:
    running = await start()
    context = ssl.create_default_context(cafile=str(running.authority.certificate_file))
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    for name in ("127.0.0.1", "localhost"):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(f"CONNECT {name}:{running.upstream.port} HTTP/1.1\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        await writer.start_tls(context, server_hostname=name)
        writer.close()
        await writer.wait_closed()


async def test_tls_to_the_proxy_itself(start) -> None:
    running = await start()
    context = ssl.create_default_context(cafile=str(running.authority.certificate_file))
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port, ssl=context, server_hostname="127.0.0.1")
    host = f"127.0.0.1:{running.upstream.plain_port}"
    writer.write(f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert b"hello" in await reader.read()
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
async def test_an_unmodified_client(start, version) -> None:
    curl = shutil.which("curl")
    if curl is None:
        pytest.fail("curl is one of the clients that the gate is tested with")
    running = await start()
    process = await asyncio.create_subprocess_exec(
        curl, "-sS", version, "--max-time", "10", "--proxy", f"http://127.0.0.1:{running.port}",
        "--cacert", str(running.authority.certificate_file), "--write-out", "%{http_code}",
        f"https://localhost:{running.upstream.port}/", "--data", "x=1",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    output, _ = await process.communicate()
    assert output == b"hello200"
    assert running.upstream.bodies == [b"x=1"]


def test_no_module_of_the_gate_loads_what_it_does_not_need() -> None:
    code = "import sys, proxy.master; print([m for m in sys.modules if m.startswith(('fastapi', 'starlette'))])"
    root = Path(__file__).parents[3]
    output = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True, cwd=root, timeout=60
    ).stdout
    assert output.strip() == "[]"
