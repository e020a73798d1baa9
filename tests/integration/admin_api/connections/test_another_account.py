"""Consented to again as somebody else: what was approved and granted before was about another account."""

import pytest

from tests.integration.admin_api.connections.authorization_server import REDIRECT

_ASKS = "package gate\n\nrequire_approval if input.connection\n\nallow if not input.connection\n"


@pytest.fixture
async def gate(new_gate):
    return await new_gate(_ASKS)


async def _submitted(gate, platform):
    body = {"tool": "http", "operation": "get", "params": {"url": f"{platform.url}/user"}}
    answer = await gate.as_agent.post("/v1/actions", json=body)
    assert answer.status_code in (201, 202), answer.text
    return answer.json()


async def _consent_again(admin, platform, connected) -> dict[str, object]:
    again = {"connection_id": connected["id"], "platform": "github", "redirect_uri": REDIRECT}
    begun = await admin.post("/v1/connections/oauth/initiate", json=again)
    assert begun.status_code == 201, begun.text
    back = await platform.consent(begun.json()["authorization_url"])
    done = await admin.post("/v1/connections/oauth/callback", json=back)
    assert done.status_code == 200, done.text
    return dict(done.json())


@pytest.mark.parametrize(
    ("user", "says_who", "same"), [("ada", True, True), ("eve", True, False), ("ada", False, False)]
)
async def test_what_was_permitted_holds_for_the_same_account(
    gate, admin, platform, connected, user, says_who, same
) -> None:
    """One that the platform does not name counts as another."""
    assert connected["account"] == "ada 3"
    first, second = await _submitted(gate, platform), await _submitted(gate, platform)
    approved = await admin.post(f"/v1/approvals/{second['approval_id']}/approve", json={"comment": "as ada"})
    assert approved.status_code == 200, approved.text
    granted = {
        "agent_id": gate.agent_id, "tool": "http", "operation": "get", "max_uses": 9, "expires_in_seconds": 600,
        "reason": "as ada", "conditions": [],
    }  # fmt: skip
    answer = await admin.post("/admin/grants", json=granted)
    assert answer.status_code == 201, answer.text
    assert (await _submitted(gate, platform))["status"] == "allowed"
    platform.state.user, platform.state.says_who = user, says_who
    after = await _consent_again(admin, platform, connected)
    assert after["account"] == (f"{user} {len(user)}" if says_who else None)
    assert (await _submitted(gate, platform))["status"] == ("allowed" if same else "pending_approval")
    asked = (await admin.get(f"/v1/approvals/{first['approval_id']}")).json()
    assert asked["status"] == ("pending" if same else "expired")
    late = await admin.post(f"/v1/approvals/{first['approval_id']}/approve", json={"comment": "as whom?"})
    assert late.status_code == (200 if same else 409)
    if not same:
        [event] = (await admin.get("/admin/audit", params={"event_type": "approval.expired"})).json()["data"]
        assert "another account" in event["data"]["reason"]


async def test_another_secret_may_be_another_accounts(gate, admin, platform) -> None:
    body = {"name": "svc", "kind": "bearer", "hosts": [platform.host], "agents": ["*"]}
    made = await admin.post("/v1/connections", json=body | {"credentials": {"secret": "first-secret"}})
    asked = await _submitted(gate, platform)
    changes = [({"needs_placeholder": False}, "pending"), ({"credentials": {"secret": "other-secret"}}, "expired")]
    for change, expected in changes:
        answer = await admin.patch(f"/v1/connections/{made.json()['id']}", json=change)
        assert answer.status_code == 200, answer.text
        assert (await admin.get(f"/v1/approvals/{asked['approval_id']}")).json()["status"] == expected
