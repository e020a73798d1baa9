"""What the demonstration plays: an agent's read, its model's completion, its deletion, its payment, and their record.

Every line of it really happens: an unmodified HTTP client with a proxy setting, the gate's own API, and a
service that says what reached it.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import httpx
from msgspec import Struct

from headgate.demo.completions import COMPLETIONS, Completion
from headgate.demo.service import InvoiceService

_COMPLETION: Final = {"model": "demo", "messages": [{"role": "user", "content": "Say hello."}], "stream": True}
_PAYMENT: Final = {"to": "Globex", "amount": 9000}
_IMPATIENT_POLICY: Final = """package demo.impatient

# Payments wait for a reviewer, but the agent gets a retry answer after two seconds.
require_approval contains "payments wait for a reviewer" if {
    input.http.method == "POST"
    endswith(input.http.path, "/payments")
}

approval := {"hold_seconds": 2}
"""


class Gate(Struct, frozen=True):
    """A running instance: where its parts are, and the credentials of both sides."""

    api_url: str
    proxy_url: str
    ca_cert: str
    agent_key: str
    admin_token: str
    runtime_file: Path


class Story:
    """Plays and tells. ``say`` prints one line."""

    def __init__(self, gate: Gate, service: InvoiceService, say: Callable[[str], None]) -> None:
        self._gate = gate
        self._service = service
        self._say = say
        proxy = httpx.Proxy(gate.proxy_url, auth=("agent", gate.agent_key))
        context = httpx.create_ssl_context(verify=gate.ca_cert, trust_env=False)
        self._agent = httpx.Client(proxy=proxy, verify=context, timeout=70, trust_env=False)
        self._admin = httpx.Client(
            base_url=gate.api_url, headers={"authorization": f"Bearer {gate.admin_token}"}, trust_env=False
        )

    def play(self) -> bool:
        """Returns whether everything went as it should."""
        self._prepare()
        steps = [
            self._read,
            self._complete,
            self._delete,
            self._held_and_approved,
            self._told_to_come_back,
            self._record,
        ]
        went_well = [step() for step in steps]
        self._agent.close()
        self._admin.close()
        return all(went_well)

    def _prepare(self) -> None:
        self._say(f"An invoice service runs at {self._service.url}. Headgate refuses private addresses,")
        self._say("so an administrator adds this address to the allowlist.")
        entry = {"host": "127.0.0.1", "ports": [self._service.port], "private": True, "note": "demonstration"}
        document = {"destinations": [entry], "tools": []}
        self._admin.put("/admin/settings/allowlist", json=document).raise_for_status()
        policy = {"name": "Impatient payments", "rego_policy": _IMPATIENT_POLICY, "priority": 10}
        self._admin.post("/admin/policies", json=policy).raise_for_status()

    def _read(self) -> bool:
        self._heading("1. The agent reads")
        answer = self._call("GET", "/invoices")
        return self._check(answer.status_code == 200, "allowed, recorded, forwarded")

    def _complete(self) -> bool:
        self._heading("2. The agent asks its model, streamed")
        installed = [one for one in COMPLETIONS if find_spec(one.package) is not None]
        if not installed:
            answer = self._call("POST", "/v1/chat/completions", _COMPLETION)
            return self._check(
                answer.status_code == 200, "allowed without an approval: a completion of a listed server"
            )
        texts = [self._complete_with(one) for one in installed]
        return self._check(
            all(text == "Hello from a local model." for text in texts),
            "allowed without an approval: completions of a listed server, recorded like every call",
        )

    def _complete_with(self, completion: Completion) -> str:
        """In a program of its own, as ``headgate run`` starts it."""
        self._say(f" > headgate run -- python -m {completion.module}")
        run = [sys.executable, "-P", "-m", "headgate.cli.main", "run"]
        run += ["--runtime-file", str(self._gate.runtime_file), "--"]
        done = subprocess.run(
            [*run, sys.executable, "-P", "-m", completion.module],
            env={**os.environ, **completion.environment(self._service.url)},
            capture_output=True,
            text=True,
            check=False,
        )
        self._say(f" < {done.stdout.strip() or done.stderr.strip()[-300:]}")
        return done.stdout.strip()

    def _delete(self) -> bool:
        self._heading("3. The agent deletes")
        answer = self._call("DELETE", "/invoices/42")
        refused = answer.status_code == 403 and "DELETE /invoices/42" not in self._service.received
        return self._check(refused, "denied by policy; the service saw nothing")

    def _held_and_approved(self) -> bool:
        self._heading("4. The agent writes; a reviewer approves while it waits")
        reviewer = threading.Thread(target=self._approve_next, name="demo-reviewer")
        reviewer.start()
        answer = self._call("POST", "/invoices", _PAYMENT)
        reviewer.join()
        return self._check(answer.status_code == 201, "held, approved, forwarded: the agent only waited")

    def _told_to_come_back(self) -> bool:
        self._heading("5. No reviewer answers in time; the agent sends the same call again later")
        first = self._call("POST", "/payments", _PAYMENT)
        pending = first.status_code == 403 and first.json()["error"]["code"] == "APPROVAL_PENDING"
        self._say(f"   Retry-After: {first.headers.get('retry-after')}; the approval stays open")
        self._approve_next()
        second = self._call("POST", "/payments", _PAYMENT)
        once = self._service.received.count("POST /payments") == 1
        return self._check(
            pending and second.status_code == 201 and once, "the retry used the approval, once, and went through"
        )

    def _record(self) -> bool:
        self._heading("6. The audit log")
        verified = self._admin.post("/admin/audit/verify", json={}).json()
        events = self._admin.get("/admin/audit", params={"limit": 60}).json()["data"]
        for event in reversed(events):
            if event.get("action_id"):
                data = event["data"]
                what = data.get("decision") or data.get("tool", "")
                line = f"   {event['created_at'][11:19]}  {event['event_type']:<20} {event['action_id'][-12:]}  {what}"
                self._say(line.rstrip())
        return self._check(verified["valid"], f"the chain is valid: {verified['events_verified']} events verified")

    def _call(self, method: str, path: str, body: dict[str, object] | None = None) -> httpx.Response:
        self._say(f" > {method} {self._service.url}{path}" + (f"  {json.dumps(body)}" if body else ""))
        began = time.monotonic()
        answer = self._agent.request(method, self._service.url + path, json=body)
        self._say(f" < {answer.status_code} {answer.reason_phrase}   ({time.monotonic() - began:.2f} s)")
        if answer.status_code == 403:
            self._say(f"   {answer.json()['error']['message']}")
        return answer

    def _approve_next(self) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            waiting: list[dict[str, Any]] = self._admin.get("/v1/approvals", params={"status": "pending"}).json()[
                "data"
            ]
            if waiting:
                approval = waiting[0]
                action = approval["action"]
                self._say(f"   reviewer sees {approval['id']}: {action['tool']}.{action['operation']}, and approves")
                decision = {"comment": "looks right"}
                self._admin.post(f"/v1/approvals/{approval['id']}/approve", json=decision).raise_for_status()
                return
            time.sleep(0.2)

    def _heading(self, text: str) -> None:
        self._say("")
        self._say(text)

    def _check(self, went_well: bool, text: str) -> bool:
        self._say(f"   {'ok' if went_well else 'FAILED'}: {text}")
        return went_well
