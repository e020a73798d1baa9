"""A denied action let through once, by who may, on record, and reviewed by somebody else."""

import asyncio
from collections import Counter

import pytest

from headgate.agents.scopes import Scope
from headgate.organizations.model import Role

_WIPE = {"tool": "wipe", "operation": "disk", "params": {"host": "a"}}


async def _denied(gate) -> str:
    answer = await gate.as_agent.post("/v1/actions", json=_WIPE)
    assert answer.json()["status"] == "denied", answer.text
    return str(answer.json()["id"])


async def _open(gate, action_id: str, person=None, **changes: object):
    body = {"action_id": action_id, "reason": "production burns"} | changes
    return await (person or gate.person("frida", Role.BREAK_GLASS)).post("/admin/break-glass", json=body)


async def test_the_next_identical_call_goes_through_once(gate) -> None:
    action_id = await _denied(gate)
    opened = await _open(gate, action_id)
    assert opened.status_code == 201, opened.text
    assert (opened.json()["status"], opened.json()["review"]) == ("waiting", None)
    other = await gate.as_agent.post("/v1/actions", json=_WIPE | {"params": {"host": "b"}})
    assert other.json()["status"] == "denied"
    answers = await asyncio.gather(*(gate.as_agent.post("/v1/actions", json=_WIPE) for _ in range(8)))
    assert Counter(answer.json()["status"] for answer in answers) == {"allowed": 1, "denied": 7}
    [allowed] = [answer.json() for answer in answers if answer.json()["status"] == "allowed"]
    assert opened.json()["id"] in allowed["decision"]["reason"]
    seen = (await gate.person().get(f"/admin/break-glass/{opened.json()['id']}")).json()
    assert (seen["status"], seen["used_action_id"]) == ("used", allowed["id"])
    events = (await gate.person().get("/admin/audit", params={"action_id": allowed["id"]})).json()["data"]
    assert [event["event_type"] for event in events[::-1]] == ["action.submitted", "decision.made", "break_glass.used"]
    decided = events[1]["data"]
    assert (decided["decision"], decided["exempted_by"]) == ("allow", opened.json()["id"])
    assert decided["policies"][0]["decision"] == "deny"


async def test_an_administrator_has_not_the_right_and_no_key_has(gate) -> None:
    action_id = await _denied(gate)
    for person in (gate.person(), gate.person("anna", Role.APPROVER), await gate.key(Scope.ADMIN)):
        refused = await _open(gate, action_id, person)
        assert refused.status_code == 403
        assert refused.json()["error"]["details"]["missing_scope"] == "break_glass:write"
    assert (await gate.as_agent.post("/v1/actions", json=_WIPE)).json()["status"] == "denied"


async def test_somebody_else_reviews_it(gate) -> None:
    opened = (await _open(gate, await _denied(gate))).json()
    path = f"/admin/break-glass/{opened['id']}"
    listed = (await gate.person().get("/admin/break-glass", params={"open": "true"})).json()["data"]
    assert [one["id"] for one in listed] == [opened["id"]]
    health = (await gate.client().get("/health")).json()["break_glass_open_reviews"]
    assert health >= 1
    assert f"headgate_api_break_glass_open_reviews {float(health)}" in (await gate.client().get("/health/metrics")).text

    frida_approves = gate.person("frida", Role.APPROVER)
    refused = await frida_approves.post(f"{path}/review", json={"outcome": "justified"})
    assert (refused.status_code, "second person" in refused.json()["error"]["message"]) == (403, True)
    # Who comes through another issuer with the same address is the same person.
    token = gate.api.token(gate.org_id, Role.APPROVER, subject="frida elsewhere", email="Frida@example.com")
    elsewhere = gate.client(Authorization=f"Bearer {token}")
    assert (await elsewhere.post(f"{path}/review", json={"outcome": "justified"})).status_code == 403
    anna = gate.person("anna", Role.APPROVER)
    assert (await anna.post(f"{path}/review", json={"outcome": "not_justified"})).status_code == 400
    reviewed = await anna.post(f"{path}/review", json={"outcome": "not_justified", "note": "a ticket would have done"})
    assert reviewed.json()["review"]["by"]["email"] == "anna@example.com"
    assert (await anna.post(f"{path}/review", json={"outcome": "justified"})).status_code == 409
    assert (await gate.person().get("/admin/break-glass", params={"open": "true"})).json()["data"] == []
    assert (await gate.client().get("/health")).json()["break_glass_open_reviews"] == health - 1
    # It was not used yet, and is over.
    assert (await gate.as_agent.post("/v1/actions", json=_WIPE)).json()["status"] == "denied"


async def test_who_opened_it_ends_it_and_somebody_else_reviews_it_still(gate, new_gate) -> None:
    opened = (await _open(gate, await _denied(gate))).json()
    path, frida = f"/admin/break-glass/{opened['id']}", gate.person("frida", Role.BREAK_GLASS)
    for other, status in ((gate.person("fred", Role.BREAK_GLASS), 403), (gate.person(), 403)):
        assert (await other.post(f"{path}/end")).status_code == status
    stranger = (await new_gate()).person("frida", Role.BREAK_GLASS)
    assert (await stranger.post(f"{path}/end")).status_code == 404
    ended = await frida.post(f"{path}/end")
    assert (ended.status_code, ended.json()["status"], ended.json()["review"]) == (200, "expired", None)
    assert (await gate.as_agent.post("/v1/actions", json=_WIPE)).json()["status"] == "denied"
    assert (await frida.post(f"{path}/end")).status_code == 409
    assert (await gate.person().post(f"{path}/review", json={"outcome": "justified"})).status_code == 200


async def test_what_was_used_is_not_ended(gate) -> None:
    opened = (await _open(gate, await _denied(gate))).json()
    assert (await gate.as_agent.post("/v1/actions", json=_WIPE)).json()["status"] == "allowed"
    refused = await gate.person("frida", Role.BREAK_GLASS).post(f"/admin/break-glass/{opened['id']}/end")
    assert (refused.status_code, refused.json()["error"]["details"]["status"]) == (409, "used")


async def test_it_runs_out(gate) -> None:
    action_id = await _denied(gate)
    await _open(gate, action_id, expires_in_seconds=1)
    await asyncio.sleep(1.1)
    assert (await gate.as_agent.post("/v1/actions", json=_WIPE)).json()["status"] == "denied"
    assert (await _open(gate, action_id)).status_code == 201


async def test_what_there_is_nothing_to_break_of(gate, new_gate) -> None:
    action_id = await _denied(gate)
    assert (await _open(gate, action_id, expires_in_seconds=3601)).status_code == 400
    assert (await _open(gate, action_id, reason=" ")).status_code == 400
    allowed = (await gate.as_agent.post("/v1/actions", json=_WIPE | {"tool": "read"})).json()
    assert (await _open(gate, allowed["id"])).status_code == 409
    assert (await _open(await new_gate(), action_id)).status_code == 404
    assert (await _open(gate, action_id)).status_code == 201
    assert (await _open(gate, action_id)).status_code == 409


async def test_what_a_person_denied_stays_denied(gate) -> None:
    held = (await gate.as_agent.post("/v1/actions", json=_WIPE | {"tool": "write"})).json()
    await gate.person().post(f"/v1/approvals/{held['approval_id']}/deny", json={"reason": "no"})
    refused = await _open(gate, held["id"])
    assert (refused.status_code, "reviewer" in refused.json()["error"]["message"]) == (409, True)


def _rego(verdict: str) -> str:
    return f'package gate\n\n{verdict} if input.tool == "wipe"\n'


async def _ruled(gate, verdict: str) -> None:
    """The policy gives this verdict from now on."""
    root = gate.person("root")
    [policy] = (await root.get("/admin/policies")).json()["data"]
    body = {"name": policy["name"], "rego_policy": _rego(verdict), "priority": policy["priority"]}
    changed = await root.put(f"/admin/policies/{policy['id']}", json=body)
    assert changed.status_code == 200, changed.text


async def _asked(gate) -> str:
    """The approval for the call, from a policy that asks for one."""
    await _ruled(gate, "require_approval")
    answer = await gate.as_agent.post("/v1/actions", json=_WIPE)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["approval_id"])


async def _decided(gate, approval_id: str, verb: str) -> None:
    answer = await gate.person().post(f"/v1/approvals/{approval_id}/{verb}", json={"reason": "no"})
    assert answer.status_code == 200, answer.text


async def test_a_persons_denial_of_the_same_call_stays(new_gate, superuser) -> None:
    """Whichever action is named: the one from before, or one that the policy denied after the person did."""
    gate = await new_gate(_rego("deny"))
    before = await _denied(gate)
    approval_id = await _asked(gate)
    await _decided(gate, approval_id, "deny")
    await _ruled(gate, "deny")
    for action_id in (before, await _denied(gate)):
        refused = await _open(gate, action_id)
        error = refused.json()["error"]
        assert (refused.status_code, error["details"]["approval_id"]) == (409, approval_id)
        assert "reviewer denied" in error["message"]
    assert (await gate.as_agent.post("/v1/actions", json=_WIPE)).json()["status"] == "denied"
    # Another call was denied by the policy alone.
    other = _WIPE | {"params": {"host": "b"}}
    denied = (await gate.as_agent.post("/v1/actions", json=other)).json()["id"]
    assert (await _open(gate, denied)).status_code == 201
    assert (await gate.as_agent.post("/v1/actions", json=other)).json()["status"] == "allowed"
    # The denial holds until the approval would have expired.
    superuser.execute("UPDATE approvals SET expires_at = clock_timestamp() WHERE approval_id = %s", [approval_id])
    assert (await _open(gate, before)).status_code == 201
    assert (await gate.as_agent.post("/v1/actions", json=_WIPE)).json()["status"] == "allowed"


async def test_a_person_who_denies_after_the_glass_was_broken(new_gate) -> None:
    gate = await new_gate(_rego("deny"))
    opened = (await _open(gate, await _denied(gate))).json()
    await _decided(gate, await _asked(gate), "deny")
    await _ruled(gate, "deny")
    assert (await gate.as_agent.post("/v1/actions", json=_WIPE)).json()["status"] == "denied"
    seen = (await gate.person().get(f"/admin/break-glass/{opened['id']}")).json()
    assert (seen["status"], seen["used_action_id"]) == ("waiting", None)


async def test_a_newer_approval_by_a_person_ends_the_denial(new_gate) -> None:
    gate = await new_gate(_rego("deny"))
    before = await _denied(gate)
    await _decided(gate, await _asked(gate), "deny")
    await _decided(gate, await _asked(gate), "approve")
    await _ruled(gate, "deny")
    assert (await _open(gate, before)).status_code == 201
    assert (await gate.as_agent.post("/v1/actions", json=_WIPE)).json()["status"] == "allowed"


async def test_an_open_approval_does_not_lift_an_earlier_denial(new_gate) -> None:
    gate = await new_gate(_rego("deny"))
    before = await _denied(gate)
    await _decided(gate, await _asked(gate), "deny")
    await _asked(gate)
    await _ruled(gate, "deny")
    assert (await _open(gate, before)).status_code == 409


@pytest.mark.parametrize("path", ["/admin/break-glass/brk_1", "/admin/break-glass/act_1"])
async def test_what_is_no_id(gate, path) -> None:
    assert (await gate.person().get(path)).status_code == 404
