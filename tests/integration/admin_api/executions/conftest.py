"""An API, a worker and a service on loopback that answers as a test says; a catalogue that names it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from headgate.kernel.secrets import Secret
from headgate.worker.main import run_until
from headgate.worker.settings import WorkerSettings

CATALOGUE = """
tool: shop
description: A service of these tests
hosts: [127.0.0.1]
send:
  origin: http://127.0.0.1:{port}
  credential: {{name: shop}}
entries:
  - operation: get_order
    method: GET
    path: /orders/{{order}}
    effect: read
    description: Read an order
    send: {{keep: [id, state]}}
  - operation: create_order
    method: POST
    path: /orders
    effect: write
    expected_status: [201]
    description: Order something
  - operation: put_order
    method: PUT
    path: /orders/{{order}}
    effect: write
    description: Replace an order
    send: {{repeatable: true}}
  - operation: refund_order
    protocol: graphql
    path: /graphql
    mutation: orderRefund
    effect: write
    success: {{body: {{success: true}}}}
    description: Give the money back
    document: "mutation($id: ID!, $note: String) {{orderRefund(id: $id, note: $note) {{success}}}}"
"""


@dataclass
class Service:
    """``answers``: what the next requests get, each (status, headers, body), or bytes to send raw, or None to hang up
    without a word; then 201 with an order. ``then_closes``: after the first of them nobody listens any more."""

    port: int = 0
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str], object] | None] = field(default_factory=list)
    wait_seconds: float = 0.0
    in_flight: int = 0
    most_in_flight: int = 0
    then_closes: bool = False
    server: asyncio.Server = field(init=False)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-2])}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            method, path, _ = head[0].split(" ")
            self.requests.append((method, path, headers, body))
            if self.then_closes:
                self.server.close()
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            await asyncio.sleep(self.wait_seconds)
            self.in_flight -= 1
            status = 201 if method == "POST" else 200
            answer = (
                self.answers.pop(0) if self.answers else (status, {}, {"id": "ord_1", "state": "open", "more": "x"})
            )
            if answer is not None:
                status, extra, content = answer
                text = json.dumps(content).encode()
                named = {"Content-Type": "application/json", "Content-Length": str(len(text)), **extra}
                lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in named.items())]
                writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + text)
                await writer.drain()
        writer.close()


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    made = Service()
    made.server = await asyncio.start_server(made.connected, "127.0.0.1", 0)
    made.port = made.server.sockets[0].getsockname()[1]
    yield made
    made.server.close()


@pytest.fixture
def data_dir(tmp_path: Path, service: Service) -> Path:
    folder = tmp_path / "catalogues"
    folder.mkdir()
    (folder / "shop.yaml").write_text(CATALOGUE.format(port=service.port))
    return tmp_path


@pytest.fixture
async def running_api(data_dir: Path, start_api):
    """With the catalogue in place."""
    return await start_api()


type Working = Callable[..., AbstractAsyncContextManager[None]]


@pytest.fixture
def working(cluster, data_dir: Path) -> Working:
    @asynccontextmanager
    async def run(**changed: int) -> AsyncIterator[None]:
        stop = asyncio.Event()
        settings = replace(WorkerSettings(Secret(cluster.dsn("headgate_worker")), None, data_dir), **changed)
        async with asyncio.TaskGroup() as group:
            group.create_task(run_until(settings, stop))
            try:
                yield
            finally:
                stop.set()

    return run


@pytest.fixture
def reach(service: Service) -> Callable[..., Awaitable[None]]:
    """Lets an organization reach the service, with these limits."""

    async def allow(gate, **limits: int) -> None:
        entry = {"host": "127.0.0.1", "ports": [service.port], "private": True}
        admin = gate.person()
        answer = await admin.put("/admin/settings/allowlist", json={"destinations": [entry]})
        assert answer.status_code == 200, answer.text
        quick = {"first_retry_seconds": 1, "last_retry_seconds": 1} | limits
        answer = await admin.put("/admin/settings/executions", json=quick)
        assert answer.status_code == 200, answer.text

    return allow


@pytest.fixture
def ended() -> Callable[..., Awaitable[dict[str, object]]]:
    async def wait(client: httpx.AsyncClient, action_id: str, *, within_seconds: float = 25) -> dict[str, object]:
        async with asyncio.timeout(within_seconds):
            while True:
                action = (await client.get(f"/v1/actions/{action_id}?expand=all")).json()
                if action["status"] in ("completed", "failed"):
                    return action
                await asyncio.sleep(0.05)

    return wait
