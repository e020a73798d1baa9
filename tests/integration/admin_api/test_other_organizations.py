"""Every route that names something, walked with what belongs to another organization: it is not there.

The walk is over the table of routes itself, so that a new one has to say what its names are.
"""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import asdict

from admin_api.access import ACCESS, Audience
from headgate.agents.scopes import KeyKind, Scope
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role
from headgate.traffic.mask_exchange import mask_exchange
from headgate.traffic.sealed_exchange import seal_exchange
from tests.integration.admin_api.links.test_routes import user_of
from tests.soft_authenticator import SoftAuthenticator
from tests.unit.traffic.samples import sample

_REGO = """package gate

allow if input.tool == "http"

require_approval if input.tool == "write"

deny if input.tool == "wipe"
"""
# By the beginning of a route, the longest first: what its parameters name.
_NAMES = {
    "/v1/actions": ("action",),
    "/v1/approvals": ("approval",),
    "/admin/approvals": ("approval",),
    "/v1/executions": ("execution",),
    "/v1/absences": ("absence",),
    "/admin/grants": ("grant",),
    "/admin/break-glass": ("glass",),
    "/admin/approver-groups": ("group",),
    "/admin/mcp-tools": ("mcp_tool",),
    "/admin/users": ("user", "session"),
    "/auth/sessions": ("session",),
    "/admin/invitations": ("invitation",),
    "/admin/policies": ("policy", "version"),
    "/admin/policies/data": ("document",),
    "/admin/policies/modules": ("module",),
    "/admin/policies/replays": ("replay",),
    "/admin/nlp-policies": ("nlp",),
    "/admin/audit": ("event",),
    "/admin/audit/actions": ("action",),
    "/admin/audit/reports": ("report",),
    "/admin/agents": ("agent", "agent_key"),
    "/admin/keys": ("key",),
    "/admin/notifications": ("notification",),
    "/admin/webhooks": ("webhook", "delivery"),
    "/v1/connections": ("connection",),
    "/v1/passkeys": ("passkey",),
    "/admin/traffic": ("exchange",),
    "/admin/canaries": ("canary",),
    "/admin/retention/holds": ("hold",),
    "/admin/settings": ("told",),
}
_AGENTS_OWN = ("/v1/actions/{}/outcome", "/v1/actions/{}/cancel", "/v1/actions/{}/take")
_BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/v1/actions/{}/outcome"): {"status": "succeeded"},
    ("POST", "/v1/actions/{}/take"): {"tool": "write", "operation": "x", "params": {}},
    ("POST", "/v1/approvals/{}/deny"): {"reason": "no"},
    ("POST", "/v1/approvals/{}/grant"): {"max_uses": 1, "expires_in_seconds": 60, "reason": "x"},
    ("POST", "/v1/approvals/{}/reassign"): {"assignees": ["bob@example.com"], "comment": "x"},
    ("POST", "/admin/approvals/{}/decision"): {"decision": "approve"},
    ("POST", "/admin/break-glass/{}/review"): {"outcome": "justified"},
    ("POST", "/admin/mcp-tools/{}/accept"): {"sha256": "sha256:" + "0" * 64},
    ("PUT", "/admin/approver-groups/{}"): {"members": []},
    ("PUT", "/admin/policies/{}"): {"name": "x", "rego_policy": "package x\n\nallow if true\n"},
    ("PATCH", "/admin/policies/{}"): {"name": "x"},
    ("POST", "/admin/policies/{}/restore"): {"version": 1},
    ("POST", "/admin/policies/{}/simulate"): {"action": {"tool": "write", "operation": "x", "params": {}}},
    ("POST", "/admin/policies/data/{}/restore"): {"version": 1},
    ("POST", "/admin/policies/modules/{}/restore"): {"version": 1},
    ("PATCH", "/admin/nlp-policies/{}"): {"name": "x"},
    ("POST", "/admin/nlp-policies/{}/test"): {"content": "x"},
    ("PUT", "/admin/agents/{}"): {"name": "x"},
    ("PUT", "/admin/users/{}/roles"): {"roles": ["viewer"]},
    ("POST", "/admin/agents/{}/suspend"): {"reason": "x"},
    ("PATCH", "/admin/webhooks/{}"): {"enabled": False},
    ("PATCH", "/v1/connections/{}"): {"agents": []},
    ("PUT", "/v1/connections/{}/bluesky"): {"agents": []},
    ("PUT", "/v1/connections/{}/mastodon"): {"agents": []},
    ("POST", "/v1/connections/{}/mastodon/batch"): {"ids": ["1"]},
    ("PUT", "/admin/traffic/{}/annotation"): {"note": "x", "tags": []},
    ("POST", "/admin/retention/holds/{}/lift"): {"reason": "over"},
}
_QUERIES = {
    ("GET", "/admin/policies/{}/diff"): {"from": 1, "to": 1},
    ("GET", "/admin/policies/{}/versions/{}/rule"): {"decision": "deny"},
    ("DELETE", "/admin/grants/{}"): {"reason": "x"},
}
# They make what they name, in one's own organization.
_MAKE = {("PUT", "/admin/policies/data/{}"), ("PUT", "/admin/policies/modules/{}")}
_NAMED = sorted(
    (method, path, access.audience)
    for (method, path), access in ACCESS.items()
    if "{}" in path
    and access.audience not in (Audience.PUBLIC, Audience.PAGES)  # pages call these routes
    and access.scope is not Scope.OPERATOR  # whose organizations they all are
    and (method, path) not in _MAKE
)


async def _submitted(gate, tool: str, **params: object) -> dict[str, Any]:
    body = {"tool": tool, "operation": "get" if tool == "http" else "line", "params": params}
    answer = await gate.as_agent.post("/v1/actions", json=body)
    assert answer.status_code in (201, 202), answer.text
    return dict(answer.json())


async def _belongings(gate, superuser) -> dict[str, str]:
    """One of everything that a route can name, by what it is called above."""
    admin = gate.person()

    async def made(path: str, body: dict[str, Any], client: Any = admin, status: int = 201) -> dict[str, Any]:
        answer = await client.post(path, json=body)
        assert answer.status_code == status, (path, answer.text)
        return dict(answer.json())

    run = await _submitted(gate, "http", url="https://example.com/")
    assert (await admin.get(f"/v1/actions/{run['id']}")).is_success  # applies the journal
    superuser.execute(
        "UPDATE actions SET request = left(request, -1) || %s WHERE org_id = %s AND action_id = %s",
        [',"unparsed_body":{"content":"AA==","sha256":"sha256:00","size":1}}', gate.org_id, run["id"]],
    )
    held, denied = await _submitted(gate, "write"), await _submitted(gate, "wipe")
    bob, _ = await user_of(gate, "bob"), await user_of(gate, "alice", Role.ADMIN)
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    bounds = {"max_uses": 1, "expires_in_seconds": 60, "reason": "x"}
    call = {"agent_id": gate.agent_id, "tool": "write", "operation": "other", "conditions": []}
    webhook = await made("/admin/webhooks", {"url": "https://example.com/hook", "events": ["approval.created"]})
    key = {"kind": "bearer", "hosts": ["api.example.com"], "credentials": {"secret": "0123456789"}}
    connection = await made("/v1/connections", {"name": "svc", **key})
    channel = {"kind": "apprise", "url": "ntfys://example.com/topic"}
    await admin.put("/admin/settings/notifications", json={"channels": {"mail": channel}})
    await admin.put("/admin/policies/data/limits", json={"amount": 1})
    await admin.put("/admin/policies/modules/names", json={"content": "package lib.names\n\nx := 1\n"})
    replay = "rpl_01a1fea6-b756-7a46-9ff4-412cec3a741f"
    report = "rep_01a1fea6-b756-7a46-9ff4-412cec3a741f"
    superuser.execute(
        "INSERT INTO reports (org_id, report_id, report_type, format, sections, end_at, status, stage, created_by,"
        " created_at, size_bytes, sha256) VALUES (%s, %s, 'access', 'csv', '{access}', now(), 'ready', 'done', 'x',"
        " now(), 1, sha256('x'))",
        [gate.org_id, report],
    )
    superuser.execute("INSERT INTO report_pieces VALUES (%s, %s, 0, 'x')", [gate.org_id, report])
    superuser.execute(
        "INSERT INTO policy_replays (org_id, replay_id, created_by, created_at, report)"
        " VALUES (%s, %s, '{}', now(), '{}')",
        [gate.org_id, replay],
    )
    captured = sample(org_id=gate.org_id, agent_id=gate.agent_id)
    kept = seal_exchange(captured, mask_exchange(captured), gate.api.dependencies.vault)
    columns = asdict(kept) | {"level": kept.level.value}
    names, places = ", ".join(columns), ", ".join(["%s"] * len(columns))
    superuser.execute(
        f"INSERT INTO traffic_exchanges ({names}) VALUES ({places})",  # noqa: S608 - names of fields
        list(columns.values()),
    )
    (agent_key, _), (key, _) = (
        await gate.api.key(gate.org_id, Scope.ACTIONS_READ, kind=KeyKind.AGENT, agent_id=gate.agent_id),
        await gate.api.key(gate.org_id, Scope.APPROVALS_READ),
    )
    told = new_id(IdPrefix.DELIVERY)
    superuser.execute(
        "INSERT INTO deliveries (org_id, delivery_id, target_kind, target_id, event, payload, status, created_at,"
        " give_up_at) VALUES (%s, %s, 'integration', 'jira', 'x', '{}', 'parked', now(), now())",
        [gate.org_id, told],
    )
    session = new_id(IdPrefix.SESSION)
    superuser.execute(
        "INSERT INTO sessions (org_id, session_id, user_id, token_hash, aal, address, created_at, last_seen_at,"
        " expires_at) VALUES (%s, %s, %s, sha256(%s::bytea), 'aal1', '127.0.0.1', now(), now(),"
        " now() + interval '1 hour')",
        [gate.org_id, session, bob, session.encode()],
    )
    device = SoftAuthenticator("https://gate.example.com", "gate.example.com")
    asked = (await made("/v1/passkeys/options", {}, status=200))["public_key"]
    passkey = await made("/v1/passkeys", {"name": "x", "response": json.loads(device.create(asked))})
    mcp_tool = new_id(IdPrefix.MCP_TOOL)
    superuser.execute(
        "INSERT INTO mcp_tools (org_id, tool_id, server, name, accepted_sha256, accepted_at, seen_sha256, seen_at,"
        " changed_at) VALUES (%s, %s, 'mcp_x', 'x', sha256('a'), now(), sha256('b'), now(), now())",
        [gate.org_id, mcp_tool],
    )
    frida = gate.person("frida", Role.BREAK_GLASS)
    glass = await made("/admin/break-glass", {"action_id": denied["id"], "reason": "x"}, frida)
    return {
        "action": run["id"],
        "approval": held["approval_id"],
        "execution": run["execution"]["id"],
        "absence": (await made("/v1/absences", {"stand_in": bob, "until": until}))["id"],
        "grant": (await made("/admin/grants", {**bounds, **call}))["id"],
        "glass": glass["id"],
        "mcp_tool": mcp_tool,
        "canary": (await made("/admin/canaries", {"name": "x"}))["id"],
        "group": (await made("/admin/approver-groups", {"name": "security", "members": []}))["name"],
        "user": bob,
        "session": session,
        "passkey": passkey["id"],
        "invitation": (await made("/admin/invitations", {"email": "x@example.com", "roles": ["viewer"]}))["id"],
        "policy": (await admin.get("/admin/policies")).json()["data"][0]["id"],
        "version": "1",
        "document": "limits",
        "module": "names",
        "replay": replay,
        "report": report,
        "nlp": (await made("/admin/nlp-policies", {"name": "x", "type": "pii_detection", "threshold": 0.6}))["id"],
        "event": (await admin.get("/admin/audit")).json()["data"][0]["id"],
        "exchange": kept.exchange_id,
        "hold": (await made("/admin/retention/holds", {"scope": "organization", "reason": "a lawsuit"}))["id"],
        "told": told,
        "agent": gate.agent_id,
        "agent_key": agent_key.key_id,
        "key": key.key_id,
        "webhook": webhook["id"],
        "connection": connection["id"],
        "delivery": (await made(f"/admin/webhooks/{webhook['id']}/test", {}, status=202))["id"],
        "notification": (await made("/admin/settings/notifications/test", {"channel": "mail"}, status=202))["id"],
    }


def _filled(path: str, belongings: dict[str, str]) -> str:
    named = _NAMES[max((one for one in _NAMES if path.startswith(one + "/")), key=len)]
    values = iter(belongings[one] for one in named)
    return re.sub(r"\{\}", lambda _: next(values), path)


@pytest.fixture(scope="module")
def api_changes() -> dict[str, Any]:
    """Where nobody could accept an invitation, none is made."""
    return {"public_url": "https://gate.example.com"}


async def test_what_is_another_organizations_is_not_there(new_gate, superuser) -> None:
    theirs, ours = await new_gate(_REGO), await new_gate(_REGO)
    belongings = await _belongings(theirs, superuser)
    before = _rows(superuser, theirs.org_id)
    found: dict[str, int] = {}
    for method, path, _ in _NAMED:
        client = ours.as_agent if path in _AGENTS_OWN else ours.person()
        if ACCESS[method, path].scope is Scope.BREAK_GLASS:  # which no administrator has
            client = ours.person("frida", Role.BREAK_GLASS)
        answer = await client.request(
            method, _filled(path, belongings), json=_BODIES.get((method, path)), params=_QUERIES.get((method, path))
        )
        if answer.status_code != 404:
            found[f"{method} {path}"] = answer.status_code
    assert found == {}
    assert _rows(superuser, theirs.org_id) == before
    missing = {
        path: status
        for method, path, _ in _NAMED
        if method == "GET"
        and not path.endswith("/proof-pack")  # it waits for a checkpoint, which nobody signs here
        and (
            status := (
                await theirs.person().get(_filled(path, belongings), params=_QUERIES.get((method, path)))
            ).status_code
        )
        == 404
    }
    assert missing == {}


async def test_what_a_body_names_is_not_there_either(new_gate, superuser) -> None:
    theirs, ours = await new_gate(_REGO), await new_gate(_REGO)
    belongings = await _belongings(theirs, superuser)
    before = _rows(superuser, theirs.org_id)
    admin, frida = ours.person(), ours.person("frida", Role.BREAK_GLASS)
    bounds = {"max_uses": 1, "expires_in_seconds": 60, "reason": "x"}
    call = {"agent_id": belongings["agent"], "tool": "write", "operation": "other", "conditions": []}
    execution = {"execution_id": belongings["execution"]}
    answers = [
        await admin.post("/v1/executions/process", json=execution),
        await admin.post("/v1/executions/retry", json={**execution, "reset_attempts": True}),
        await admin.post(
            "/v1/approvals/bulk-decision", json={"decision": "approve", "identical_to": belongings["approval"]}
        ),
        await frida.post("/admin/break-glass", json={"action_id": belongings["action"], "reason": "x"}),
        await admin.post("/admin/grants", json={**bounds, **call}),
        await admin.post("/admin/keys/revoke-matching", json={"matching": belongings["agent"]}),
    ]
    assert [one.status_code for one in answers] == [404] * len(answers), [one.text for one in answers]
    (result,) = (
        await admin.post("/v1/approvals/bulk-decision", json={"decision": "approve", "ids": [belongings["approval"]]})
    ).json()["results"]
    assert (result["result"], result["error"]["code"]) == ("error", "NOT_FOUND")
    answer = await admin.post("/admin/keys/revoke-matching", json={"matching": f"seen: {theirs.agent_key}"})
    assert (answer.json()["data"], answer.json()["revoked"]) == ([], 0)
    for path, name in (("/v1/executions", "action_id"), ("/admin/audit", "action_id")):
        assert (await admin.get(path, params={name: belongings["action"]})).json()["data"] == []
    assert (await admin.post("/v1/executions/process-all", json={})).json()["processed"] == 0
    assert _rows(superuser, theirs.org_id) == before


def _rows(superuser: Any, org_id: str) -> list[Any]:
    """What a request could have changed."""
    return [
        superuser.execute(f"SELECT * FROM {table} WHERE org_id = %s ORDER BY 1, 2", [org_id]).fetchall()  # noqa: S608 - names of this line
        for table in (
            "actions", "approvals", "approval_votes", "execution_calls", "executions", "grants", "break_glass",
            "approver_groups", "approver_absences", "policies", "nlp_policies", "policy_documents", "webhook_endpoints",
            "deliveries", "vault_secrets", "settings", "agents", "org_state",
            "users", "sessions", "invitations", "mcp_tools", "canaries",
        )
    ]  # fmt: skip
