"""Everything that an administrator does is an event: every route that changes something, called once, leaves one that
names who it was and from which address."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from admin_api.access import ACCESS, Audience
from headgate.agents.scopes import Scope
from headgate.integrations.catalogue import SETTINGS
from headgate.organizations.model import Role
from tests.integration.admin_api.integrations.test_settings import document_of

# They look, and change nothing, whatever their method (admin_api/access.py says so too).
LOOKING = {
    ("POST", "/admin/audit/verification"),
    ("POST", "/admin/audit/verify"),
    ("POST", "/admin/nlp-policies/evaluate"),
    ("POST", "/admin/nlp-policies/{}/test"),
    ("POST", "/admin/policies/check"),
    ("POST", "/admin/policies/draft"),
    ("POST", "/admin/policies/suggest"),
    ("POST", "/admin/policies/test"),
    ("POST", "/admin/policies/{}/simulate"),
    ("POST", "/v1/dry-run"),
}
# What it takes to call them is set up elsewhere; there the event and its actor are looked at.
ELSEWHERE = {
    ("POST", "/v1/executions/retry"): "executions/test_carried_out.py",
    ("DELETE", "/admin/audit/reports/{}"): "audit_reports",
    ("POST", "/admin/audit/set-aside/{}/apply"): "audit/test_set_aside.py",
    ("DELETE", "/admin/mcp-tools"): "../../mcp_tools",
    ("POST", "/admin/mcp-tools/{}/accept"): "mcp_tools",
    ("DELETE", "/admin/traffic/{}"): "traffic/test_traffic.py",
    ("PUT", "/admin/traffic/{}/annotation"): "traffic/test_annotation.py",
    ("DELETE", "/admin/users/{}/sessions"): "identity/test_shut_out.py",
    ("DELETE", "/admin/users/{}/sessions/{}"): "identity/test_browser_login.py",
    ("POST", "/admin/keys/{}/take-over"): "identity/test_shut_out.py",
    ("POST", "/admin/users/{}/unlock"): "mfa/test_totp_routes.py",
    ("DELETE", "/admin/users/{}/factors"): "mfa/test_reset.py",
    ("POST", "/admin/retention/erasures"): "retention/test_routes.py",
    **{("POST", f"/admin/settings/{one}/deliveries/{{}}/redeliver"): "integrations" for one in SETTINGS},
    **{("POST", f"/admin/settings/{one}/test"): "integrations" for one in SETTINGS},
    **dict.fromkeys(
        (
            ("POST", "/admin/organizations"),
            ("POST", "/admin/organizations/{}/invitations"),
            ("DELETE", "/admin/organizations/{}/invitations/{}"),
            ("PUT", "/admin/organizations/{}/members/{}/roles"),
            ("PUT", "/admin/organizations/{}/private-destinations"),
        ),
        "identity/test_organizations.py",
    ),
    **{one: "mfa" for one in ACCESS if one[1].startswith("/v1/mfa/") and one[0] != "GET"},
    **{
        one: "connections/test_oauth.py, test_social.py"
        for one in ACCESS
        if one[1].startswith("/v1/connections/") and one[0] != "GET" and one[1] != "/v1/connections/{}"
    },
}
_REGO = 'package walk\n\nallow if input.tool == "walk"\n'
_BOUNDS = {"max_uses": 3, "expires_in_seconds": 600, "reason": "a walk"}


def changing() -> set[tuple[str, str]]:
    """The routes of people that change something; a page's form changes it by one of them."""
    deciding = {Scope.APPROVALS_WRITE, Scope.ADMIN}
    return {
        (method, path)
        for (method, path), access in ACCESS.items()
        if method not in ("GET", "OPTIONS")
        and access.audience is not Audience.PAGES
        and (access.audience is Audience.ADMINISTRATORS or access.scope in deciding)
    } - LOOKING


@dataclass
class Walk:
    """Calls, and after each a look at what was recorded meanwhile."""

    gate: Any
    reader: httpx.AsyncClient
    walked: set[tuple[str, str]] = field(default_factory=set)
    seen: int = 0

    async def step(
        self,
        method: str,
        template: str,
        *names: str,
        by: str = "alice",
        role: Role = Role.ADMIN,
        says: str,
        **rest: Any,
    ) -> Any:
        await self.recorded()
        path = template
        for name in names:
            path = path.replace("{}", name, 1)
        answer = await self.gate.person(by, role).request(method, path, **rest)
        assert answer.status_code < 300, (method, path, answer.text)
        self.walked.add((method, template))
        events = [one for one in await self.recorded() if one["event_type"] == says]
        assert events, f"{method} {template} left no {says}"
        for event in events:
            actor = event["actor"]
            assert (actor["type"], actor["name"]) == ("user", f"{by}@example.com"), (method, template, actor)
            assert actor["id"].startswith("usr_")
            assert actor["address"] == "127.0.0.1", (method, template, actor)
        is_json = answer.content and answer.headers.get("content-type") == "application/json"
        return answer.json() if is_json else {}

    async def recorded(self) -> list[dict[str, Any]]:
        found = (await self.reader.get("/admin/audit?limit=50")).json()["data"]
        new = [event for event in found if event["seq"] > self.seen]
        self.seen = max((event["seq"] for event in found), default=0)
        return new

    async def held(self, **params: object) -> str:
        body = {"tool": "write", "operation": "rows", "params": params}
        return str((await self.gate.as_agent.post("/v1/actions", json=body)).json()["approval_id"])


@pytest.fixture(scope="module")
def api_changes() -> dict[str, Any]:
    """Where nobody could accept an invitation, none is made."""
    return {"public_url": "https://gate.example.com"}


async def test_every_change_leaves_an_event_with_its_actor(new_gate) -> None:
    gate = await new_gate(_GATE)
    walk = Walk(gate, gate.person("olga", Role.AUDITOR))
    await gate.person("bob", Role.APPROVER).get("/v1/approvals")  # so that he is a user
    await _policies(walk)
    await _agents_and_keys(walk)
    await _settings(walk)
    await _webhooks_and_notifications(walk)
    await _approvals(walk)
    await _permissions(walk)
    await _people(walk)
    await _further(walk)
    await walk.step("POST", "/v1/executions/process", json={}, says="execution.processed")
    await walk.step("POST", "/v1/executions/process-all", says="execution.processed")
    missing = changing() - walk.walked - set(ELSEWHERE)
    assert not missing, f"say here what is recorded of {sorted(missing)}, or that nothing is changed (LOOKING)"
    assert walk.walked | set(ELSEWHERE) <= changing(), "a route that is walked here is no more"


async def _policies(walk: Walk) -> None:
    made = await walk.step(
        "POST", "/admin/policies", json={"name": "Walk", "rego_policy": _REGO, "priority": 500}, says="policy.created"
    )
    one, policy = made["id"], "/admin/policies/{}"
    await walk.step("PATCH", policy, one, json={"description": "first"}, says="policy.updated")
    body = {"name": "Walk", "rego_policy": _REGO, "priority": 501}
    await walk.step("PUT", policy, one, json=body, says="policy.updated")
    await walk.step("POST", "/admin/policies/{}/restore", one, json={"version": 1}, says="policy.restored")
    await walk.step("DELETE", policy, one, says="policy.deleted")
    change = {"change": "create_policy", "policy": {"name": "Set", "rego_policy": _REGO, "priority": 502}}
    await walk.step("POST", "/admin/policies/changes", json={"changes": [change]}, says="policy.created")
    replay = {"rego_policy": _REGO, "keep": True}
    await walk.step("POST", "/admin/policies/replay", json=replay, says="policy.replayed")
    for number in (1, 2):
        await walk.step("PUT", "/admin/policies/data/{}", "limits", json={"n": number}, says="policy_data.changed")
        content = {"content": f"package lib.names\n\nknown := {number}\n"}
        await walk.step("PUT", "/admin/policies/modules/{}", "names", json=content, says="policy_module.changed")
    for kind, told in (("data", "policy_data"), ("modules", "policy_module")):
        name = "limits" if kind == "data" else "names"
        path = f"/admin/policies/{kind}/{{}}"
        await walk.step("POST", f"{path}/restore", name, json={"version": 1}, says=f"{told}.changed")
        await walk.step("DELETE", path, name, says=f"{told}.deleted")
    nlp = await walk.step(
        "POST", "/admin/nlp-policies", json={"name": "Walk", "type": "pii_detection"}, says="nlp_policy.created"
    )
    await walk.step("PATCH", "/admin/nlp-policies/{}", nlp["id"], json={"threshold": 0.9}, says="nlp_policy.updated")
    await walk.step("DELETE", "/admin/nlp-policies/{}", nlp["id"], says="nlp_policy.deleted")


async def _agents_and_keys(walk: Walk) -> None:
    agent = (await walk.step("POST", "/admin/agents", json={"name": "Walker"}, says="agent.created"))["id"]
    await walk.step("PUT", "/admin/agents/{}", agent, json={"name": "Stroller"}, says="agent.updated")
    await walk.step("POST", "/admin/agents/{}/suspend", agent, json={"reason": "a walk"}, says="agent.suspended")
    await walk.step("POST", "/admin/agents/{}/resume", agent, json={"reason": "a walk"}, says="agent.resumed")
    key = (await walk.step("POST", "/admin/agents/{}/keys", agent, json={}, says="key.created"))["id"]
    await walk.step("DELETE", "/admin/agents/{}/keys/{}", agent, key, says="key.revoked")
    await walk.step("POST", "/admin/agents/{}/rotate-key", agent, json={}, says="key.rotated")
    await walk.step("DELETE", "/admin/agents/{}", agent, says="agent.deactivated")
    body = {"kind": "admin", "scopes": ["audit:read"], "name": "walk"}
    made = [await walk.step("POST", "/admin/keys", json=body, says="key.created") for _ in range(2)]
    await walk.step("DELETE", "/admin/keys/{}", made[0]["id"], says="key.revoked")
    await walk.step("POST", "/admin/keys/revoke-matching", json={"matching": made[1]["key"]}, says="key.revoked")


async def _settings(walk: Walk) -> None:
    for name, body in (
        ("allowlist", {"destinations": [], "tools": []}),
        ("executions", {}),
        ("credentials", {"credentials": {"walk": "a-secret"}}),
        ("nlp-providers", {"local": {"kind": "openai_compatible", "base_url": "http://127.0.0.1:9/v1"}}),
        ("notifications", {"channels": {"mail": _MAIL}}),
        ("siem", {"destinations": {"kept": {"address": "file:"}}}),
    ):
        await walk.step("PUT", f"/admin/settings/{name}", json=body, says="setting.changed")
    tried = {"provider": "local", "model": "any"}
    await walk.step("POST", "/admin/settings/nlp-providers/test", json=tried, says="setting.tested")
    stop = {"scope": "tool", "target": "spam", "reason": "a walk"}
    await walk.step("PUT", "/admin/settings/kill-switch", json=stop, says="stop.placed")
    lifting = {"scope": "tool", "target": "spam", "stopped": False, "reason": "it is over"}
    await walk.step("PUT", "/admin/settings/kill-switch", json=lifting, says="stop.lifted")
    canary = (await walk.step("POST", "/admin/canaries", json={"name": "walk"}, says="canary.created"))["id"]
    await walk.step("DELETE", "/admin/canaries/{}", canary, says="canary.revoked")


async def _webhooks_and_notifications(walk: Walk) -> None:
    body = {"url": "https://example.com/hook"}
    hook = (await walk.step("POST", "/admin/webhooks", json=body, says="webhook.created"))["id"]
    path = "/admin/webhooks/{}"
    await walk.step("PATCH", path, hook, json={"description": "walk"}, says="webhook.updated")
    await walk.step("POST", f"{path}/rotate-secret", hook, json={}, says="webhook.rotated")
    sent = await walk.step("POST", f"{path}/test", hook, json={}, says="webhook.tested")
    await _park(walk, sent["id"])
    again = f"{path}/deliveries/{{}}/redeliver"
    await walk.step("POST", again, hook, sent["id"], json={}, says="delivery.repeated")
    told = await walk.step(
        "POST", "/admin/settings/notifications/test", json={"channel": "mail"}, says="notification.tested"
    )
    await _park(walk, told["id"])
    await walk.step("POST", "/admin/notifications/{}/redeliver", told["id"], json={}, says="delivery.repeated")
    await walk.step("DELETE", path, hook, says="webhook.deleted")


async def _park(walk: Walk, delivery_id: str) -> None:
    """As a worker does that has tried for a day."""
    async with walk.gate.api.dependencies.database.transaction(walk.gate.org_id) as connection:
        await connection.execute(
            "UPDATE deliveries SET status = 'parked' WHERE org_id = %s AND delivery_id = %s",
            [walk.gate.org_id, delivery_id],
        )


async def _approvals(walk: Walk) -> None:
    path = "/v1/approvals/{}"
    await walk.step("POST", f"{path}/approve", await walk.held(n=1), json={}, says="approval.approved")
    await walk.step("POST", f"{path}/deny", await walk.held(n=2), json={"reason": "no"}, says="approval.denied")
    decision = {"decision": "approve"}
    await walk.step(
        "POST", "/admin/approvals/{}/decision", await walk.held(n=3), json=decision, says="approval.approved"
    )
    moved = {"assignees": ["bob@example.com"], "comment": "yours"}
    await walk.step("POST", f"{path}/reassign", await walk.held(n=4), json=moved, says="approval.reassigned")
    await walk.step("POST", f"{path}/escalate", await walk.held(n=7), json={}, says="approval.escalated")
    bulk = {"decision": "deny", "reason": "all", "ids": [await walk.held(n=5)]}
    await walk.step("POST", "/v1/approvals/bulk-decision", json=bulk, says="approval.denied")
    given = _BOUNDS | {"conditions": []}
    await walk.step("POST", f"{path}/grant", await walk.held(n=6), json=given, says="grant.created")


async def _permissions(walk: Walk) -> None:
    body = _BOUNDS | {"agent_id": walk.gate.agent_id, "tool": "write", "operation": "line", "conditions": []}
    grant = (await walk.step("POST", "/admin/grants", json=body, says="grant.created"))["id"]
    why = {"reason": "a walk"}
    await walk.step("DELETE", "/admin/grants/{}", grant, params=why, says="grant.revoked")
    twice = body | {"tool": "twice"}
    waiting = (await walk.step("POST", "/admin/grants", json=twice, says="grant.created"))["id"]
    bob = {"by": "bob", "role": Role.APPROVER}
    await walk.step("POST", "/admin/grants/{}/confirm", waiting, json={}, says="grant.confirmed", **bob)
    denied = await walk.gate.as_agent.post("/v1/actions", json={"tool": "wipe", "operation": "disk", "params": {}})
    opening = {"action_id": denied.json()["id"], "reason": "production burns"}
    frida = {"by": "frida", "role": Role.BREAK_GLASS}
    glass = await walk.step("POST", "/admin/break-glass", json=opening, says="break_glass.opened", **frida)
    await walk.step("POST", "/admin/break-glass/{}/end", glass["id"], says="break_glass.ended", **frida)
    review = {"outcome": "justified"}
    await walk.step("POST", "/admin/break-glass/{}/review", glass["id"], json=review, says="break_glass.reviewed")


async def _people(walk: Walk) -> None:
    group = {"name": "walkers", "members": ["bob@example.com"]}
    await walk.step("POST", "/admin/approver-groups", json=group, says="approver_group.created")
    members = {"members": []}
    await walk.step("PUT", "/admin/approver-groups/{}", "walkers", json=members, says="approver_group.updated")
    await walk.step("DELETE", "/admin/approver-groups/{}", "walkers", says="approver_group.deleted")
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    away = {"stand_in": "bob@example.com", "until": tomorrow.isoformat()}
    absence = (await walk.step("POST", "/v1/absences", json=away, says="absence.created"))["id"]
    await walk.step("DELETE", "/v1/absences/{}", absence, says="absence.ended")
    users = (await walk.gate.person().get("/admin/users")).json()["data"]
    (bob,) = [one["id"] for one in users if one["email"] == "bob@example.com"]
    await walk.step("POST", "/admin/users/{}/deactivate", bob, json={}, says="user.deactivated")
    await walk.step("POST", "/admin/users/{}/reactivate", bob, json={}, says="user.reactivated")


async def _further(walk: Walk) -> None:
    for one in SETTINGS:
        document = document_of(one, walk.gate)
        await walk.step("PUT", f"/admin/settings/{one}", json=document, says="setting.changed")
    await walk.step("PUT", "/admin/settings/captures", json={"rules": []}, says="setting.changed")
    dropped = {"drop_after_days": {"bodies": 400}}
    await walk.step("PUT", "/admin/settings/retention", json=dropped, says="setting.changed")
    hold = {"scope": "organization", "reason": "a lawsuit"}
    placed = await walk.step("POST", "/admin/retention/holds", json=hold, says="legal_hold.placed")
    why = {"reason": "it is over"}
    await walk.step("POST", "/admin/retention/holds/{}/lift", placed["id"], json=why, says="legal_hold.lifted")
    guest = {"email": "guest@example.com", "roles": ["viewer"]}
    invited = await walk.step("POST", "/admin/invitations", json=guest, says="invitation.created")
    await walk.step("DELETE", "/admin/invitations/{}", invited["id"], says="invitation.revoked")
    users = (await walk.gate.person().get("/admin/users")).json()["data"]
    (bob,) = [one["id"] for one in users if one["email"] == "bob@example.com"]
    await walk.step("PUT", "/admin/users/{}/roles", bob, json={"roles": ["viewer"]}, says="user.granted")
    key = {"name": "walk", "kind": "bearer", "hosts": ["api.example.com"], "credentials": {"secret": "0123456789"}}
    connection = (await walk.step("POST", "/v1/connections", json=key, says="connection.created"))["id"]
    await walk.step("PATCH", "/v1/connections/{}", connection, json={"agents": []}, says="connection.updated")
    await walk.step("DELETE", "/v1/connections/{}", connection, says="connection.deleted")
    await walk.step("POST", "/admin/audit/reports", json={"type": "access", "format": "csv"}, says="report.requested")


_MAIL = {"kind": "apprise", "url": "mailtos://u:p@example.com?to=ada@example.com", "recipient": "ada@example.com"}
_GATE = """package gate

allow if input.tool == "read"

require_approval if input.tool in {"write", "twice"}

deny if input.tool == "wipe"

approval := {"required_approvals": 2, "grants": {"allowed": true}} if input.tool == "twice"
"""
