"""Calls of every kind at a steady rate, as an instance meets them for days: through the proxy and explicit, allowed,
denied, held and decided, messages of sockets, connections that come and go, a person who reads lists.

``python -m benchmarks.load.mixed '{"runtime": …}'`` prints one JSON object: how many calls of each kind, and how many
answers were not the expected ones. Only loopback is ever a target.
"""

import asyncio
import itertools
import json
import ssl
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

HELD_PATH: Final = "/bytes/7"
_CALLS_PER_CLIENT: Final = 500
"""Then its connections are closed, and others are opened."""
_LONGEST_CALL_SECONDS: Final = 60
_RUNNING_MAX: Final = 64
_LIMITS: Final = httpx.Limits(max_connections=_RUNNING_MAX, max_keepalive_connections=_RUNNING_MAX)
"""As many kept as can be in use: with fewer, a machine that is busy for a moment opens connections for most calls, is
busier by that, and stays so."""
_LISTS: Final = (
    "/v1/actions?limit=50",
    "/v1/approvals?limit=50",
    "/admin/audit?limit=50",
    "/admin/overview",
    "/v1/executions?limit=50",
)
_ITEMS: Final = [{"sku": f"item-{n}", "quantity": n, "note": "x" * 40} for n in range(50)]


@dataclass(frozen=True)
class Mixed:
    """``runtime``: what the runtime file says."""

    runtime: dict[str, Any]
    http_port: int
    socket_port: int
    per_second: float
    seconds: float

    @property
    def proxy_url(self) -> str:
        return str(self.runtime["proxy_url"]).replace("http://", f"http://agent:{self.runtime['agent_key']}@")

    @property
    def upstream(self) -> str:
        return f"https://127.0.0.1:{self.http_port}"


@dataclass
class Answers:
    calls: Counter[str] = field(default_factory=Counter)
    unexpected: Counter[str] = field(default_factory=Counter)

    async def of(self, kind: str, answer: Awaitable[int], *expected: int) -> None:
        self.calls[kind] += 1
        try:
            status = await answer
        except (httpx.HTTPError, WebSocketException, OSError) as error:
            self.unexpected[f"{kind}: {type(error).__name__}"] += 1
        else:
            if status not in expected:
                self.unexpected[f"{kind}: {status}"] += 1


class Agent:
    """Its calls, each by a client that is replaced after some hundred."""

    def __init__(self, load: Mixed) -> None:
        self._load = load
        self._trust = ssl.create_default_context(cafile=load.runtime["ca_cert"])
        self._client = self._open()
        self._left = _CALLS_PER_CLIENT

    def _open(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            proxy=self._load.proxy_url,
            verify=self._trust,
            trust_env=False,
            timeout=_LONGEST_CALL_SECONDS,
            limits=_LIMITS,
        )

    async def send(self, method: str, path: str, **content: Any) -> int:
        self._left -= 1
        if not self._left:
            asyncio.get_running_loop().call_later(_LONGEST_CALL_SECONDS, self._end, self._client)
            self._client, self._left = self._open(), _CALLS_PER_CLIENT
        return (await self._client.request(method, self._load.upstream + path, **content)).status_code

    async def echo(self) -> int:
        url = f"wss://127.0.0.1:{self._load.socket_port}/"
        async with connect(url, proxy=self._load.proxy_url, ssl=self._trust) as socket:
            for _ in range(5):
                await socket.send("a message")
                await socket.recv()
        return 200

    def _end(self, client: httpx.AsyncClient) -> None:
        self._ending = asyncio.ensure_future(client.aclose())

    async def close(self) -> None:
        await self._client.aclose()


async def decide(api: httpx.AsyncClient, numbers: "itertools.count[int]") -> None:
    """All that wait; each tenth is denied."""
    page = (await api.get("/v1/approvals?status=pending&limit=100")).raise_for_status().json()
    for one in page["data"]:
        deed = "deny" if next(numbers) % 10 == 9 else "approve"
        await api.post(f"/v1/approvals/{one['id']}/{deed}", json={"reason": "as every tenth"} if deed == "deny" else {})


async def every(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        await work()


def calls(
    agent: Agent, api: httpx.AsyncClient, key: str
) -> list[tuple[str, Callable[[int], Awaitable[int]], tuple[int, ...]]]:
    """Twenty calls: of which kind, how it is sent, and which statuses its answer may have."""

    async def explicit(number: int) -> int:
        params = {"id": number, "fields": ["name", "city"]}
        body = {"tool": "crm", "operation": "get_customer", "params": params}
        return (await api.post("/v1/actions", json=body, headers={"x-agent-key": key})).status_code

    get = "GET", lambda n: agent.send("GET", "/bytes/1024"), (200,)
    post = "POST", lambda n: agent.send("POST", "/bytes/1024", json={"n": n, "items": _ITEMS}), (200,)
    own = "explicit", explicit, (201,)
    denied = "denied", lambda n: agent.send("DELETE", "/bytes/1"), (403,)
    held = "held", lambda n: agent.send("POST", HELD_PATH, json={"n": n}), (200, 403)
    socket = "socket", lambda n: agent.echo(), (200,)
    return [get] * 10 + [post] * 4 + [own] * 3 + [denied, held, socket]


async def run(load: Mixed) -> Answers:
    answers, agent = Answers(), Agent(load)
    headers = {"authorization": f"Bearer {load.runtime['admin_token']}"}
    async with (
        httpx.AsyncClient(base_url=load.runtime["api_url"], headers=headers, trust_env=False, timeout=60) as person,
        httpx.AsyncClient(base_url=load.runtime["api_url"], trust_env=False, timeout=60) as explicit,
    ):
        numbers, lists = itertools.count(), itertools.cycle(_LISTS)

        async def read() -> None:
            async def answer() -> int:
                return (await person.get(next(lists))).status_code

            await answers.of("list", answer(), 200)

        beside = [
            asyncio.create_task(every(0.5, lambda: decide(person, numbers))),
            asyncio.create_task(every(2, read)),
        ]
        began, mix = time.perf_counter(), calls(agent, explicit, load.runtime["agent_key"])
        running: set[asyncio.Task[None]] = set()
        for number in itertools.count():
            due = began + number / load.per_second
            if max(due, time.perf_counter()) > began + load.seconds:
                break
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if len(running) >= _RUNNING_MAX:  # the machine is too busy for this rate
                await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            kind, send, expected = mix[number * 7 % len(mix)]  # without a common divisor: each has its turn
            task = asyncio.create_task(answers.of(kind, send(number), *expected))
            running.add(task)
            task.add_done_callback(running.discard)
            for one in beside:
                if one.done():
                    one.result()
        await asyncio.gather(*running)
        for one in beside:
            one.cancel()
    await agent.close()
    return answers


if __name__ == "__main__":
    answers = asyncio.run(run(Mixed(**json.loads(sys.argv[1]))))
    print(json.dumps({"calls": answers.calls, "unexpected": answers.unexpected}))
