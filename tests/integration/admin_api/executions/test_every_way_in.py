"""What each step of the decision pipeline refuses, through each way into it.

Everything is set up while a policy allows reading and asks for approval of writing; then one obstacle is put in place,
and each way in is asked: an intercepted call, an explicit action, one that waits for its execution, one that a reviewer
edits, a dry run, a simulation and a replay. The intercepted call has its destination judged where it is connected to
(``tests/integration/proxy/test_guard.py``), so that a closed one does not refuse it here.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headgate.db.database import Database
from headgate.gate.refusals import ActionDeniedError, ApprovalPendingError
from headgate.organizations.model import Role
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues
from tests.integration.decision_process import decision_process

_ORDER = "maria.keller@example.com"
_READ = {"tool": "shop", "operation": "get_order", "params": {"order": _ORDER}, "context": {"note": "a"}}
_WRITE = {"tool": "shop", "operation": "put_order", "params": {"order": _ORDER, "note": "a"}}
_BASE = """package gate

allow if input.operation == "get_order"

require_approval if input.operation == "put_order"
"""
_DENY = {"name": "no shop", "priority": 1, "rego_policy": 'package late\n\ndeny if input.tool == "shop"\n'}
_ASK = {"name": "ask", "priority": 1, "rego_policy": 'package late\n\nrequire_approval if input.tool == "shop"\n'}
_CONTENT = {"name": "no addresses", "type": "pii_detection", "threshold": 0.6, "on_match": "deny"}


@dataclass(frozen=True)
class Ways:
    """``ask`` answers what each way in says now: allow, deny or require_approval."""

    gate: Any
    prepare: Callable[[], Awaitable[None]]
    ask: Callable[[], Awaitable[dict[str, str]]]


async def _intercepted(gate: Any, cluster: Any, database: Database, data_dir: Path, port: int) -> str:
    call = HttpCall("GET", "http", "127.0.0.1", port, f"/orders/{_ORDER}", "", (), b"")
    draft = interpret(call, load_catalogues(data_dir / "catalogues"))
    async with decision_process(cluster.dsn("headgate_proxy"), database) as process:
        try:
            await process.admit(gate.agent_key, draft)
        except ActionDeniedError:
            return "deny"
        except ApprovalPendingError:
            return "require_approval"
        return "allow"


@pytest.fixture
async def ways(new_gate, cluster, proxy_database, data_dir, service, reach, working, ended) -> Ways:
    gate = await new_gate(_BASE)
    await reach(gate)
    waiting: dict[str, Any] = {}

    async def prepare() -> None:
        waiting["execution"] = (await gate.as_agent.post("/v1/actions", json=_READ)).json()
        assert waiting["execution"]["status"] == "allowed", waiting
        waiting["approval"] = (await gate.as_agent.post("/v1/actions", json=_WRITE)).json()
        assert waiting["approval"]["status"] == "pending_approval", waiting

    async def executed() -> str:
        async with working():
            action = await ended(gate.as_agent, waiting["execution"]["id"])
        if action["status"] == "completed":
            return "allow"
        error = str(action["execution"]["error"])
        return "require_approval" if "ask for another approval" in error else "deny"

    async def edited() -> str:
        path = f"/v1/approvals/{waiting['approval']['approval_id']}/approve"
        params = {"params": {"order": _ORDER, "note": "b"}}
        answer = await gate.person("ann", Role.APPROVER).post(path, json=params)
        # 409: the current policies ask for an approval other than this one.
        return {200: "allow", 403: "deny", 409: "require_approval"}[answer.status_code]

    async def replayed() -> str:
        draft = {"content": "package draft\n\nallow if false\n", "priority": 900, "detectors": True, "limit": 1}
        async with gate.person().stream("POST", "/admin/policies/replay", json=draft, timeout=60) as answer:
            report = [json.loads(line) async for line in answer.aiter_lines()][-1]
        assert report["replayed"] == 1, report
        return "other" if report["unlike_recorded"] else "allow"

    async def ask() -> dict[str, str]:
        admin = gate.person()
        submitted = (await gate.as_agent.post("/v1/actions", json=_READ)).json()
        dry = (await admin.post("/v1/dry-run", json={"action": _READ, "agent_id": gate.agent_id})).json()
        [policy] = [one for one in (await admin.get("/admin/policies")).json()["data"] if one["name"] == "gate"]
        simulated = await admin.post(
            f"/admin/policies/{policy['id']}/simulate", json={"input": {"action": _READ}, "agent_id": gate.agent_id}
        )
        return {
            "intercepted": await _intercepted(gate, cluster, proxy_database, data_dir, service.port),
            "submitted": submitted["decision"]["decision"],
            "executed": await executed(),
            "edited": await edited(),
            "dry run": dry["decision"],
            "simulated": simulated.json()["overall"]["decision"],
            "replayed": await replayed(),
        }

    return Ways(gate, prepare, ask)


async def _stop(gate: Any) -> None:
    stop = {"scope": "tool", "target": "shop", "reason": "the shop is under attack"}
    assert (await gate.person().put("/admin/settings/kill-switch", json=stop)).status_code == 200


async def _close_destination(gate: Any) -> None:
    answer = await gate.person().put("/admin/settings/allowlist", json={"destinations": []})
    assert answer.status_code == 200, answer.text


async def _post(gate: Any, path: str, body: dict[str, Any]) -> None:
    answer = await gate.person().post(path, json=body)
    assert answer.status_code == 201, answer.text


async def _nothing(gate: Any) -> None:
    """The base policy alone."""


async def _rules_deny(gate: Any) -> None:
    await _post(gate, "/admin/policies", _DENY)


async def _rules_ask(gate: Any) -> None:
    await _post(gate, "/admin/policies", _ASK)


async def _content_denies(gate: Any) -> None:
    await _post(gate, "/admin/nlp-policies", _CONTENT)


async def _grant(gate: Any) -> None:
    await _rules_ask(gate)
    calls = {"agent_id": gate.agent_id, "tool": "shop", "operation": "get_order", "conditions": []}
    body = {**calls, "max_uses": 9, "expires_in_seconds": 600, "reason": "a test"}
    await _post(gate, "/admin/grants", body)


async def _grant_and_stop(gate: Any) -> None:
    await _grant(gate)
    await _stop(gate)


_WAYS = ("intercepted", "submitted", "executed", "edited", "dry run", "simulated", "replayed")
_ALL_ALLOW = dict.fromkeys(_WAYS, "allow")
_ALL_DENY = {**dict.fromkeys(_WAYS, "deny"), "replayed": "other"}
_ALL_ASK = {**dict.fromkeys(_WAYS, "require_approval"), "replayed": "other"}
_CALLS_DENIED = {**_ALL_ALLOW, **dict.fromkeys(("submitted", "executed", "edited"), "deny")}
_GRANTED = {**_ALL_ASK, "intercepted": "allow", "submitted": "allow"}


@pytest.mark.parametrize(
    ("obstacle", "expected"),
    [
        (_nothing, _ALL_ALLOW),
        (_close_destination, _CALLS_DENIED),
        (_stop, {**_CALLS_DENIED, "intercepted": "deny"}),
        (_rules_deny, _ALL_DENY),
        (_content_denies, _ALL_DENY),
        (_rules_ask, _ALL_ASK),
        (_grant, _GRANTED),
        (_grant_and_stop, {**_ALL_ASK, **dict.fromkeys(("intercepted", "submitted", "executed", "edited"), "deny")}),
    ],
)
async def test_each_step_refuses_through_each_way(ways: Ways, obstacle: Any, expected: dict[str, str]) -> None:
    await ways.prepare()
    await obstacle(ways.gate)
    assert await ways.ask() == expected
