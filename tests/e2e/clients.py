"""The two sides of the gate: an agent that calls through it, and an administrator who looks and decides."""

import contextlib
import json
import socket
import ssl
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx

from headgate.kernel.public_roots import public_roots
from tests.e2e.instance import Instance
from tests.e2e.waiting import wait_for


class Agent:
    """An unmodified HTTP client with a proxy setting. Every call has a connection of its own."""

    def __init__(self, instance: Instance, *, key: str | None = None, proxy_url: str | None = None) -> None:
        runtime = instance.runtime
        self.key: str = key or runtime["agent_key"]
        self.proxy_url: str = proxy_url or runtime["proxy_url"]
        self.trust = ssl.create_default_context(cafile=runtime["ca_cert"])
        self._pool = ThreadPoolExecutor(32, thread_name_prefix="agent")

    def call(self, method: str, url: str, **options: Any) -> httpx.Response:
        with self.client() as client:
            return client.request(method, url, **options)

    def call_later(self, method: str, url: str, **options: Any) -> Future[httpx.Response]:
        """The same in a thread: for calls that are held."""
        return self._pool.submit(self.call, method, url, **options)

    def client(self) -> httpx.Client:
        proxy = httpx.Proxy(self.proxy_url, auth=("agent", self.key))
        return httpx.Client(proxy=proxy, verify=self.trust, timeout=90, trust_env=False)

    @contextlib.contextmanager
    def tunnel(self, origin: str, *, key: str | None = None) -> Iterator[ssl.SSLSocket]:
        """TLS through CONNECT, for bytes that a well-behaved client does not write."""
        target, proxy = urlsplit(origin), urlsplit(self.proxy_url)
        with socket.create_connection((proxy.hostname or "", proxy.port or 0), timeout=60) as raw:
            credentials = b64encode(f"agent:{key or self.key}".encode()).decode()
            head = f"CONNECT {target.netloc} HTTP/1.1\r\nHost: {target.netloc}\r\n"
            raw.sendall(f"{head}Proxy-Authorization: Basic {credentials}\r\n\r\n".encode())
            answer = read_head(raw)
            assert answer.startswith(b"HTTP/1.1 200"), answer
            with self.trust.wrap_socket(raw, server_hostname=target.hostname) as secure:
                yield secure

    def close(self) -> None:
        self._pool.shutdown()


def read_head(connection: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(1)
        if not piece:
            break
        head += piece
    return head


def error_of(response: httpx.Response) -> dict[str, Any]:
    """The ``error`` of a refusal."""
    error: dict[str, Any] = response.json()["error"]
    return error


class Administrator:
    """Speaks to the API with a token of all rights."""

    def __init__(self, instance: Instance, *, token: str | None = None) -> None:
        self._instance = instance
        runtime = instance.runtime
        headers = {"authorization": f"Bearer {token or runtime['admin_token']}"}
        self.api = httpx.Client(
            verify=public_roots(), base_url=runtime["api_url"], headers=headers, timeout=30, trust_env=False
        )

    def close(self) -> None:
        self.api.close()

    def get(self, path: str, **params: str | int) -> Any:
        response = self.api.get(path, params=params)
        assert response.status_code == 200, response.text
        return response.json()

    def approve(self, approval_id: str) -> httpx.Response:
        return self.api.post(f"/v1/approvals/{approval_id}/approve", json={"comment": "looks right"})

    def deny(self, approval_id: str, reason: str) -> httpx.Response:
        return self.api.post(f"/v1/approvals/{approval_id}/deny", json={"reason": reason})

    def pending(self, path: str) -> dict[str, Any]:
        """The open approval of the call to this path, as soon as there is one."""

        def look() -> dict[str, Any] | None:
            waiting = self.get("/v1/approvals", status="pending", limit=100)["data"]
            return next((one for one in waiting if one["action"]["params"].get("path") == path), None)

        return wait_for(look, f"an approval of {path} is pending")

    def approval(self, approval_id: str) -> dict[str, Any]:
        approval: dict[str, Any] = self.get(f"/v1/approvals/{approval_id}")
        return approval

    def action(self, action_id: str) -> dict[str, Any]:
        action: dict[str, Any] = self.get(f"/v1/actions/{action_id}")
        return action

    def actions_of(self, path: str) -> list[dict[str, Any]]:
        """Every action of a call to this path, oldest first."""
        self.get("/v1/actions?limit=1")  # applies the journal
        rows = self._instance.rows(
            "SELECT action_id FROM actions WHERE request::json #>> '{http,path}' = %s ORDER BY action_id", path
        )
        return [self.action(row["action_id"]) for row in rows]

    def settled(self, action_id: str) -> dict[str, Any]:
        """The action once its execution has ended."""

        def look() -> dict[str, Any] | None:
            action = self.action(action_id)
            return action if action["status"] in ("completed", "failed") else None

        return wait_for(look, f"{action_id} has ended")

    def events(self, action_id: str) -> list[dict[str, Any]]:
        """The sealed events of an action, oldest first."""
        events: list[dict[str, Any]] = self.get("/admin/audit", action_id=action_id, limit=100)["data"]
        return events[::-1]

    def event_types(self, action_id: str) -> list[str]:
        return [event["event_type"] for event in self.events(action_id)]

    @contextlib.contextmanager
    def without_content_policies(self) -> Iterator[None]:
        """Of calls that carry what the default policies about content refuse."""
        enabled = self.api.get("/admin/nlp-policies", params={"enabled": True}).raise_for_status().json()["data"]
        self._switch(enabled, on=False)
        try:
            yield
        finally:
            self._switch(enabled, on=True)

    def _switch(self, policies: list[dict[str, Any]], *, on: bool) -> None:
        for one in policies:
            self.api.patch(f"/admin/nlp-policies/{one['id']}", json={"enabled": on}).raise_for_status()

    def add_policy(self, rego: str, *, priority: int = 10) -> dict[str, Any]:
        name = rego.split()[1]
        created = self.api.post("/admin/policies", json={"name": name, "rego_policy": rego, "priority": priority})
        assert created.status_code == 201, created.text
        policy: dict[str, Any] = created.json()
        return policy

    @contextlib.contextmanager
    def policy(self, rego: str, *, priority: int = 10) -> Iterator[dict[str, Any]]:
        """A policy for as long as the block runs."""
        policy = self.add_policy(rego, priority=priority)
        try:
            yield policy
        finally:
            self.api.delete(f"/admin/policies/{policy['id']}")

    def allow_destinations(self, *entries: dict[str, Any]) -> None:
        document = {"destinations": list(entries), "tools": []}
        response = self.api.put("/admin/settings/allowlist", content=json.dumps(document))
        assert response.status_code == 200, response.text

    def new_agent(self, name: str) -> dict[str, Any]:
        created = self.api.post("/admin/agents", json={"name": name})
        assert created.status_code == 201, created.text
        agent: dict[str, Any] = created.json()
        return agent
