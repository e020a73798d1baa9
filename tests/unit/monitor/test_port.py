"""What a probe is told, and that a client which is no probe takes nothing from the process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from headgate.kernel.errors import UnavailableError
from headgate.monitor import port as module
from headgate.monitor.port import MonitorPort
from headgate.monitor.settings import MonitorSettings


async def yes() -> bool:
    return True


async def no() -> bool:
    return False


async def broken() -> bool:
    raise OSError("the database is gone")


@asynccontextmanager
async def listening(ready: Callable[[], Awaitable[bool]] = yes, drain_seconds: int = 0) -> AsyncIterator[MonitorPort]:
    port = MonitorPort(MonitorSettings(("127.0.0.1", 0), drain_seconds), ready)
    await port.open()
    try:
        yield port
    finally:
        await port.close()


async def ask(port: MonitorPort, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*port.address)
    writer.write(request)
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def get(port: MonitorPort, path: str, method: str = "GET") -> tuple[int, str]:
    answer = await ask(port, f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


async def test_alive_ready_and_measured() -> None:
    async with listening() as port:
        assert await get(port, "/healthz") == (200, "ok\n")
        assert await get(port, "/readyz?verbose") == (200, "ready\n")
        status, text = await get(port, "/metrics")
        assert (status, "# TYPE python_info gauge" in text) == (200, True)
        assert await get(port, "/readyz", "HEAD") == (200, "")
        assert (await get(port, "/"))[0] == 404
        assert (await get(port, "/healthz", "POST"))[0] == 405


@pytest.mark.parametrize("ready", [no, broken])
async def test_a_process_that_cannot_record_is_alive_and_not_ready(ready) -> None:
    async with listening(ready) as port:
        assert await get(port, "/readyz") == (503, "not ready\n")
        assert await get(port, "/healthz") == (200, "ok\n")


async def test_a_process_that_drains_is_not_ready_and_goes_on_for_a_while() -> None:
    async with listening(drain_seconds=1) as port:
        draining = asyncio.ensure_future(port.drain())
        await asyncio.sleep(0)
        assert await get(port, "/readyz") == (503, "draining\n")
        assert not draining.done()
        await port.drain()  # a second signal does not wait
        assert not draining.done()
        await draining


async def test_without_an_address_there_is_nothing_to_ask() -> None:
    port = MonitorPort(MonitorSettings(), yes)
    await port.open()
    assert port.address is None
    await port.drain()
    assert port.is_draining
    await port.close()


async def test_an_address_that_cannot_be_used_is_named() -> None:
    blocked = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    number = blocked.sockets[0].getsockname()[1]
    with pytest.raises(UnavailableError, match=rf"HEADGATE_MONITOR_ADDRESS: 127.0.0.1:{number} is in use"):
        await MonitorPort(MonitorSettings(("127.0.0.1", number)), yes).open()
    blocked.close()


@pytest.mark.parametrize("request_bytes", [b"GET /" + b"a" * 20_000, b"\xff\xfe\r\n\r\n", b"\r\n\r\n", b"GET\r\n\r\n"])
async def test_what_is_no_request_gets_no_answer_or_a_refusal(request_bytes: bytes) -> None:
    async with listening() as port:
        answer = await ask(port, request_bytes)
        assert answer == b"" or int(answer.split()[1]) in (404, 405)
        assert await get(port, "/healthz") == (200, "ok\n")


async def test_slow_and_many_clients_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(module, "_CONNECTIONS_MAX", 2)
    async with listening() as port:
        slow = [await asyncio.open_connection(*port.address) for _ in range(2)]
        assert await ask(port, b"GET /healthz HTTP/1.1\r\n\r\n") == b""
        assert [await reader.read() for reader, _ in slow] == [b"", b""]
        assert await get(port, "/healthz") == (200, "ok\n")
        for _, writer in slow:
            writer.close()
