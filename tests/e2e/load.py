"""Traffic of every kind, with what each side was told: what a fault must not make untrue."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import httpx

from headgate.kernel.public_roots import public_roots
from tests.e2e.clients import Administrator, Agent
from tests.e2e.instance import Instance
from tests.e2e.upstream import Upstream
from tests.e2e.waiting import wait_for

_PAUSE_SECONDS = 0.05
_READERS, _WRITERS = 3, 2


@dataclass
class Told:
    """What was acknowledged. Times are monotonic, of when the request began."""

    forwarded: list[tuple[float, str]] = field(default_factory=list)
    """Paths that were answered by the upstream."""
    submitted: list[tuple[float, str]] = field(default_factory=list)
    """Explicit actions, by id."""
    approved: list[str] = field(default_factory=list)
    """Approvals, by id."""
    unexpected: list[str] = field(default_factory=list)
    """Answers that no fault explains."""


class Load:
    """Readers and writers through the proxies, explicit submissions, and a reviewer who approves everything."""

    def __init__(self, instance: Instance, upstream: Upstream, prefix: str) -> None:
        self.told = Told()
        self._instance = instance
        self._agent = Agent(instance)
        self._url = upstream.url
        self._prefix = prefix
        self._numbers = itertools.count(1)
        self._stop = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        work = [self._reads] * _READERS + [self._writes] * _WRITERS + [self._submissions, self._reviews]
        threads = [threading.Thread(target=one, name=one.__name__) for one in work]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()
            self._agent.close()

    def wait_for_answers(self) -> None:
        """Until everything has been done that begins from now on: reads, writes and submissions."""
        now, told = time.monotonic(), self.told

        def all_work() -> bool:
            paths = [path for began, path in told.forwarded if began > now]
            writes = [path for path in paths if "/write/" in path]
            return len(paths) - len(writes) >= 20 and len(writes) >= 2 and any(at > now for at, _ in told.submitted)

        wait_for(all_work, "reads, writes and submissions are answered", seconds=90)

    def _repeat(self, new_client: Callable[[], httpx.Client], once: Callable[[httpx.Client], None]) -> None:
        """With a new connection after each that broke."""
        while not self._stop.is_set():
            with suppress(httpx.HTTPError), new_client() as client:
                while not self._stop.is_set():
                    once(client)
            self._stop.wait(_PAUSE_SECONDS)

    def _reads(self) -> None:
        def read(client: httpx.Client) -> None:
            began, path = time.monotonic(), f"{self._prefix}/read/{next(self._numbers)}"
            self._note(began, path, client.get(self._url + path), {200, 503})

        self._repeat(self._agent.client, read)

    def _writes(self) -> None:
        path = self._next_write()

        def write(client: httpx.Client) -> None:
            nonlocal path
            began = time.monotonic()
            response = client.post(self._url + path, content=b"amount=1")
            self._note(began, path, response, {200, 403, 503})
            if response.status_code == 200:
                path = self._next_write()

        self._repeat(self._agent.client, write)

    def _next_write(self) -> str:
        return f"{self._prefix}/write/{next(self._numbers)}"

    def _note(self, began: float, path: str, response: httpx.Response, expected: set[int]) -> None:
        status = response.status_code
        if status == 200:
            self.told.forwarded.append((began, path))
        elif status not in expected or (status == 403 and "APPROVAL_PENDING" not in response.text):
            self.told.unexpected.append(f"{status} {path}: {response.text[:300]}")
        if status == 503:
            self._stop.wait(_PAUSE_SECONDS)

    def _submissions(self) -> None:
        key = self._new_key()

        def submit(client: httpx.Client) -> None:
            # The same key until it is answered: however often it was sent, it is one action.
            nonlocal key
            began = time.monotonic()
            body = {"tool": "calendar", "operation": "list_events", "params": {"key": key}, "idempotency_key": key}
            response = client.post("/v1/actions", json=body)
            if response.status_code in (200, 201):
                self.told.submitted.append((began, response.json()["id"]))
                key = self._new_key()
            elif response.status_code != 503:
                self.told.unexpected.append(f"{response.status_code} POST /v1/actions: {response.text[:300]}")
            self._stop.wait(_PAUSE_SECONDS)

        headers = {"authorization": f"Bearer {self._agent.key}"}
        api_url = self._instance.runtime["api_url"]
        self._repeat(
            lambda: httpx.Client(verify=public_roots(), base_url=api_url, headers=headers, timeout=10, trust_env=False),
            submit,
        )

    def _new_key(self) -> str:
        return f"{self._prefix}/{next(self._numbers)}"

    def _reviews(self) -> None:
        def review(client: httpx.Client) -> None:
            waiting = client.get("/v1/approvals", params={"status": "pending", "limit": 100})
            for approval in waiting.json()["data"] if waiting.status_code == 200 else []:
                if client.post(f"/v1/approvals/{approval['id']}/approve").status_code == 200:
                    self.told.approved.append(approval["id"])
            self._stop.wait(_PAUSE_SECONDS)

        self._repeat(lambda: Administrator(self._instance).api, review)
