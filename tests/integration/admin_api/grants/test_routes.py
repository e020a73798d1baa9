"""Grants through the API: given, used by explicit actions, counted, revoked; and who may not."""

import asyncio
from collections import Counter

import pytest

from headgate.agents.scopes import Scope
from headgate.organizations.model import Role

_REGO = """package gate

require_approval if input.tool == "write"

deny if input.params.wipe

approval := {"required_approvals": 2, "grants": {"allowed": true}} if input.params.two

approval := {"grants": {"allowed": false}} if input.params.never

approval := {"assignees": ["bob@example.com"]} if input.params.bob
"""


def _bounds(**changes: object) -> dict[str, object]:
    return {"max_uses": 3, "expires_in_seconds": 600, "reason": "a test asks for it"} | changes


@pytest.fixture
async def gate(new_gate):
    return await new_gate(_REGO)


async def _grant(gate, person=None, **changes: object):
    body = _bounds(agent_id=gate.agent_id, tool="write", operation="line", conditions=[]) | changes
    return await (person or gate.person()).post("/admin/grants", json=body)


async def _submit(gate, key: str | None = None, **params: object):
    body: dict[str, object] = {"tool": "write", "operation": "line", "params": params}
    if key is not None:
        body["idempotency_key"] = key
    return await gate.as_agent.post("/v1/actions", json=body)


async def _events(gate, event_type: str) -> list[dict]:
    answer = await gate.person().get("/admin/audit", params={"event_type": event_type, "limit": 200})
    return answer.json()["data"]


async def test_a_grant_lets_through_so_often_and_no_more(gate) -> None:
    created = await _grant(gate, conditions=[{"param": "to", "prefix": "sales@"}])
    assert created.status_code == 201, created.text
    grant = created.json()
    assert (grant["status"], grant["uses"], len(grant["policy_ids"])) == ("active", 0, 1)
    for number in range(3):
        answer = await _submit(gate, to=f"sales@{number}.example.com")
        assert (answer.status_code, answer.json()["status"]) == (201, "allowed"), answer.text
        decision = answer.json()["decision"]
        assert decision["decision"] == "allow"
        assert grant["id"] in decision["reason"]
    assert (await _submit(gate, to="boss@example.com")).status_code == 202
    assert (await _submit(gate, to="sales@4.example.com")).status_code == 202
    seen = (await gate.person().get(f"/admin/grants/{grant['id']}")).json()
    assert (seen["status"], seen["uses"], len(seen["newest_uses"])) == ("exhausted", 3, 3)
    used = await _events(gate, "grant.used")
    assert sorted(event["data"]["uses"] for event in used) == [1, 2, 3]
    assert [event["data"]["grant_id"] for event in await _events(gate, "grant.exhausted")] == [grant["id"]]
    decided = [event["data"] for event in await _events(gate, "decision.made")]
    assert [one["exempted_by"] for one in decided if "exempted_by" in one] == [grant["id"]] * 3
    assert all(one["policies"][0]["decision"] == "require_approval" for one in decided)


async def test_never_a_deny_and_never_what_its_policy_forbids(gate) -> None:
    await _grant(gate)
    assert (await _submit(gate, wipe=True)).json()["status"] == "denied"
    assert (await _submit(gate, never=True)).status_code == 202
    assert (await _submit(gate, two=True)).status_code == 202
    assert (await _submit(gate, text="x")).json()["status"] == "allowed"


async def test_a_policy_of_two_approvals_is_answered_by_two_people(gate) -> None:
    grant = (await _grant(gate, gate.person("alice", Role.APPROVER))).json()
    assert (await _submit(gate, two=True)).status_code == 202
    again = await gate.person("alice", Role.APPROVER).post(f"/admin/grants/{grant['id']}/confirm")
    assert again.status_code == 409
    confirmed = await gate.person("bob", Role.APPROVER).post(f"/admin/grants/{grant['id']}/confirm")
    assert [one["email"] for one in confirmed.json()["granters"]] == ["alice@example.com", "bob@example.com"]
    assert (await _submit(gate, two=True)).json()["status"] == "allowed"


async def test_only_who_may_approve_may_grant(gate) -> None:
    await _grant(gate, gate.person("carol", Role.APPROVER))
    assert (await _submit(gate, bob=True)).status_code == 202
    await _grant(gate, gate.person("bob", Role.APPROVER))
    assert (await _submit(gate, bob=True)).json()["status"] == "allowed"


async def test_a_policy_written_later_is_not_answered(gate) -> None:
    await _grant(gate)
    rego = 'package later\n\nrequire_approval if input.params.text == "new"\n'
    body = {"name": "later", "rego_policy": rego, "priority": 100}
    assert (await gate.person().post("/admin/policies", json=body)).status_code == 201
    assert (await _submit(gate, text="new")).status_code == 202
    assert (await _submit(gate, text="old")).json()["status"] == "allowed"


async def test_revoked_is_revoked_at_once(gate) -> None:
    grant = (await _grant(gate)).json()
    assert (await _submit(gate)).json()["status"] == "allowed"
    path = f"/admin/grants/{grant['id']}"
    assert (await gate.person().delete(path)).status_code == 400
    revoked = await gate.person().delete(path, params={"reason": "no longer needed"})
    assert (revoked.json()["status"], revoked.json()["revoke_reason"]) == ("revoked", "no longer needed")
    assert (await _submit(gate)).status_code == 202
    again = await gate.person().delete(path, params={"reason": "again"})
    assert again.json()["revoke_reason"] == "no longer needed"
    [event] = await _events(gate, "grant.revoked")
    assert event["data"] == {"grant_id": grant["id"], "reason": "no longer needed", "uses": 1}
    [listed] = (await gate.person().get("/admin/grants")).json()["data"]
    agent = (await gate.person().get(f"/admin/agents/{gate.agent_id}")).json()
    assert grant["agent_name"] == revoked.json()["agent_name"] == listed["agent_name"] == agent["name"]


async def test_counted_exactly_once_under_concurrency(gate) -> None:
    await _grant(gate, max_uses=10)
    answers = await asyncio.gather(*(_submit(gate, number=number) for number in range(50)))
    assert Counter(answer.json()["status"] for answer in answers) == {"allowed": 10, "pending_approval": 40}


async def test_a_sum_is_never_exceeded(gate) -> None:
    await _grant(gate, max_uses=1000, sum={"param": "amount", "at_most": 100.5})
    answers = await asyncio.gather(*(_submit(gate, amount=10.1, number=number) for number in range(30)))
    assert Counter(answer.json()["status"] for answer in answers) == {"allowed": 9, "pending_approval": 21}
    assert (await _submit(gate, amount=9.7)).status_code == 202
    assert (await _submit(gate, amount=-50)).status_code == 202
    assert (await _submit(gate)).status_code == 202
    assert (await _submit(gate, amount=9.6)).json()["status"] == "allowed"
    [grant] = (await gate.person().get("/admin/grants")).json()["data"]
    assert (grant["sum"], grant["status"]) == ({"param": "amount", "at_most": 100.5, "used": 100.5}, "exhausted")


async def test_one_idempotency_key_is_one_use(gate) -> None:
    grant = (await _grant(gate)).json()
    answers = await asyncio.gather(*(_submit(gate, key="same") for _ in range(8)))
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert (await gate.person().get(f"/admin/grants/{grant['id']}")).json()["uses"] == 1


async def test_approve_and_grant_is_one_step(gate) -> None:
    held = (await _submit(gate, text="weekly report")).json()
    path = f"/v1/approvals/{held['approval_id']}"
    refused = await gate.person().post(f"{path}/grant", json=_bounds(expires_in_seconds=10**9))
    assert refused.status_code == 400
    assert (await gate.person().get(path)).json()["status"] == "pending"
    granted = await gate.person().post(f"{path}/grant", json=_bounds(max_uses=1, comment="every week"))
    assert granted.status_code == 200, granted.text
    assert (granted.json()["status"], granted.json()["grant"]["approval_id"]) == ("approved", held["approval_id"])
    assert granted.json()["grant"]["digest"].startswith("sha256:")
    assert (await _submit(gate, text="another report")).status_code == 202
    assert (await _submit(gate, text="weekly report")).json()["status"] == "allowed"
    assert (await _submit(gate, text="weekly report")).status_code == 202
    assert (await gate.person().post(f"{path}/grant", json=_bounds())).status_code == 409


@pytest.mark.parametrize(("params", "says"), [({"never": True}, "no grants"), ({"two": True}, "2 approvals")])
async def test_approve_and_grant_where_the_policy_does_not(gate, params, says) -> None:
    held = (await _submit(gate, **params)).json()
    path = f"/v1/approvals/{held['approval_id']}"
    refused = await gate.person().post(f"{path}/grant", json=_bounds())
    assert refused.status_code == 409
    assert says in refused.json()["error"]["message"]
    seen = (await gate.person().get(path)).json()
    assert (seen["status"], seen["current_approvals"]) == ("pending", 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"max_uses": 0},
        {"expires_in_seconds": None},
        {"expires_in_seconds": 31 * 86_400},
        {"expires_at": "2020-01-01T00:00:00Z", "expires_in_seconds": None},
        {"reason": ""},
        {"conditions": None},
        {"conditions": [{"param": "a", "matches": "("}]},
        {"sum": {"param": "amount", "at_most": 0}},
        {"policy_ids": ["pol_00000000-0000-7000-8000-000000000000"]},
        {"surprise": 1},
        {"tool": ""},
        {"tool": "Write"},
        {"operation": "a\0b"},
    ],
)
async def test_what_is_no_grant(gate, changes) -> None:
    assert (await _grant(gate, **changes)).status_code == 400


async def test_who_may_not(gate, new_gate) -> None:
    assert (await _grant(gate, gate.person("victor", Role.VIEWER))).status_code == 403
    assert (await _grant(gate, gate.as_agent)).status_code in (401, 403)
    assert (await _grant(gate, await gate.key(Scope.APPROVALS_WRITE))).status_code == 403
    grant = (await _grant(gate)).json()
    other = await new_gate(_REGO)
    assert (await other.person().get(f"/admin/grants/{grant['id']}")).status_code == 404
    assert (await other.person().delete(f"/admin/grants/{grant['id']}", params={"reason": "x"})).status_code == 404
    assert (await _grant(gate, agent_id=other.agent_id)).status_code == 404


async def test_who_was_shut_out_stands_for_nothing_any_more(gate) -> None:
    created = (await _grant(gate, gate.person("carol", Role.APPROVER))).json()
    assert (await _submit(gate)).json()["status"] == "allowed"
    carol = created["granters"][0]["user_id"]
    shut_out = await gate.person().post(f"/admin/users/{carol}/deactivate")
    assert shut_out.status_code == 200, shut_out.text
    assert (await _submit(gate)).status_code == 202


async def test_the_list_is_filtered(gate) -> None:
    first = (await _grant(gate)).json()
    second = (await _grant(gate, operation="page")).json()
    await gate.person().delete(f"/admin/grants/{first['id']}", params={"reason": "x"})

    async def ids(**wanted: str) -> list[str]:
        return [one["id"] for one in (await gate.person().get("/admin/grants", params=wanted)).json()["data"]]

    assert await ids() == [second["id"], first["id"]]
    assert await ids(status="active") == [second["id"]]
    assert await ids(status="revoked") == [first["id"]]
    assert await ids(operation="line") == [first["id"]]
    assert await ids(agent_id=gate.agent_id, tool="none") == []

    used_up = (await _grant(gate, max_uses=1)).json()
    assert (await _submit(gate)).json()["status"] == "allowed"
    by_its_sum = (await _grant(gate, sum={"param": "amount", "at_most": 5})).json()
    assert (await _submit(gate, amount=5)).json()["status"] == "allowed"
    assert await ids(status="exhausted") == [by_its_sum["id"], used_up["id"]]
    assert await ids(status="active") == [second["id"]]


async def test_what_a_person_has_denied_stays_denied(gate) -> None:
    """These very bytes were refused: a wider permission overrides that for no explicit action either."""
    held = (await _submit(gate, to="sales@example.com")).json()
    denied = await gate.person("bob").post(f"/v1/approvals/{held['approval_id']}/deny", json={"reason": "not them"})
    assert denied.status_code == 200, denied.text
    assert (await _grant(gate)).status_code == 201
    again = await _submit(gate, to="sales@example.com")
    assert (again.status_code, again.json()["status"]) == (202, "pending_approval")
    assert (await _submit(gate, to="sales@example.net")).json()["status"] == "allowed"


async def test_who_decides_no_approvals_any_more_stands_for_no_grant(gate, superuser) -> None:
    dora = gate.person("dora", Role.APPROVER)
    assert (await _grant(gate, dora)).status_code == 201
    assert (await _submit(gate)).json()["status"] == "allowed"
    superuser.execute("UPDATE users SET roles = '{viewer}' WHERE org_id = %s AND subject = 'dora'", [gate.org_id])
    # With the next state that is loaded: any change brings one.
    assert (await gate.person().put("/admin/settings/allowlist", json={"destinations": []})).status_code == 200
    assert (await _submit(gate)).json()["status"] == "pending_approval"


_APART = """package apart

require_approval if input.tool == "pay"

approval := {"separation_of_duties": ["agent_owner", "policy_author"]}
"""
_SOMETIMES_APART = """package apart

require_approval if input.tool == "pay"

approval := {"separation_of_duties": true} if input.params.amount > 10
"""


async def _owned(gate, owner: str, author: str, rego: str):
    """An agent of ``owner``, under a policy that ``author`` has written: its id, its client and the policy's id."""
    made = (await gate.person(owner).post("/admin/agents", json={"name": "Owned"})).json()
    body = {"name": "apart", "rego_policy": rego, "priority": 1}
    policy = await gate.person(author).post("/admin/policies", json=body)
    assert policy.status_code == 201, policy.text
    return made["id"], gate.client(X_Agent_Key=made["api_key"]["key"]), policy.json()["id"]


async def _pay(agent, **params: object) -> str:
    answer = await agent.post("/v1/actions", json={"tool": "pay", "operation": "bill", "params": params})
    return answer.json()["status"]


@pytest.mark.parametrize("granter", ["otto", "anna"])
async def test_a_second_user_of_the_owner_or_author_is_kept_apart_too(gate, granter: str) -> None:
    agent_id, agent, policy_id = await _owned(gate, "otto", "anna", _SOMETIMES_APART)
    call = {"agent_id": agent_id, "tool": "pay", "operation": "bill", "policy_ids": [policy_id]}
    for user in (granter, f"{granter} elsewhere"):
        given = await _grant(gate, gate.person(granter, Role.APPROVER, user=user), **call)
        assert given.status_code == 201, given.text
    assert await _pay(agent, amount=11) == "pending_approval"
    assert await _pay(agent, amount=9) == "allowed"  # where the policy keeps nobody apart, the grant answers
    assert (await _grant(gate, gate.person("sam", Role.APPROVER), **call)).status_code == 201
    assert await _pay(agent, amount=11) == "allowed"


async def test_whom_owner_names_grants_nothing_either(gate) -> None:
    agent_id, agent, policy_id = await _owned(gate, "otto", "anna", _SOMETIMES_APART)
    call = {"agent_id": agent_id, "tool": "pay", "operation": "bill", "policy_ids": [policy_id]}
    sam = gate.person("sam", Role.APPROVER)
    assert (await _grant(gate, sam, **call)).status_code == 201
    assert await _pay(agent, amount=11) == "allowed"
    owned = await gate.person("root").put(f"/admin/agents/{agent_id}", json={"owner": "Sam@example.com"})
    assert owned.status_code == 200, owned.text
    assert await _pay(agent, amount=11) == "pending_approval"  # the grant from before
    assert await _pay(agent, amount=9) == "allowed"


async def test_whom_owner_names_is_refused_a_grant_that_could_never_count(gate) -> None:
    agent_id, _, policy_id = await _owned(gate, "otto", "anna", _APART)
    call = {"agent_id": agent_id, "tool": "pay", "operation": "bill", "policy_ids": [policy_id]}
    owned = await gate.person("root").put(f"/admin/agents/{agent_id}", json={"owner": "sam@example.com"})
    assert owned.status_code == 200, owned.text
    for granter in ("sam", "otto"):
        refused = await _grant(gate, gate.person(granter, Role.APPROVER), **call)
        assert (refused.status_code, refused.json()["error"]["details"]["separation_of_duties"]) == (403, "agent_owner")
    assert (await _grant(gate, gate.person("olga", Role.APPROVER), **call)).status_code == 201


@pytest.mark.parametrize(("granter", "duty"), [("otto", "agent_owner"), ("anna", "policy_author")])
async def test_a_grant_that_could_never_count_is_refused(gate, granter: str, duty: str) -> None:
    agent_id, _, policy_id = await _owned(gate, "otto", "anna", _APART)
    call = {"agent_id": agent_id, "tool": "pay", "operation": "bill", "policy_ids": [policy_id]}
    for user in (granter, f"{granter} elsewhere"):
        refused = await _grant(gate, gate.person(granter, Role.APPROVER, user=user), **call)
        assert refused.status_code == 403, refused.text
        details = refused.json()["error"]["details"]
        assert (details["separation_of_duties"], details["policy_id"]) == (duty, policy_id)
    given = await _grant(gate, gate.person("sam", Role.APPROVER), **call)
    assert given.status_code == 201
    confirmed = await gate.person(granter, Role.APPROVER).post(f"/admin/grants/{given.json()['id']}/confirm")
    assert confirmed.status_code == 403
    assert (await gate.person().get("/admin/grants")).json()["pagination"]["total"] == 1


async def test_two_granters_who_have_become_one_person_count_once(gate) -> None:
    grant = (await _grant(gate, gate.person("alice", Role.APPROVER))).json()
    await gate.person("bob", Role.APPROVER).post(f"/admin/grants/{grant['id']}/confirm")
    assert (await _submit(gate, two=True)).json()["status"] == "allowed"
    # Bob's identity provider now says that his address is Alice's.
    assert (await gate.person("alice", Role.APPROVER, user="bob").get("/v1/approvals")).status_code == 200
    assert (await _submit(gate, two=True)).status_code == 202


async def test_a_granter_counts_by_the_roles_of_now(gate) -> None:
    given = await _grant(gate, gate.person("gina"))
    assert given.status_code == 201
    assert (await _submit(gate, bob=True)).json()["status"] == "allowed"  # admin:* counts as an assignee
    assert (await gate.person("gina", Role.APPROVER).get("/v1/approvals")).status_code == 200
    assert (await _submit(gate, bob=True)).status_code == 202
    assert (await _submit(gate, text="x")).json()["status"] == "allowed"  # an approver still
    assert (await gate.person("gina", Role.VIEWER).get("/v1/approvals")).status_code == 200
    assert (await _submit(gate, text="y")).status_code == 202


async def test_a_granter_counts_by_the_roles_that_they_are_given_here_now(gate) -> None:
    viewer = gate.person("vera", Role.VIEWER)
    assert (await viewer.get("/v1/approvals")).status_code == 200
    users = (await gate.person().get("/admin/users?limit=200")).json()["data"]
    path = f"/admin/users/{next(one['id'] for one in users if one['subject'] == 'vera')}/roles"
    assert (await gate.person().put(path, json={"roles": ["admin"]})).status_code == 200
    gate.api.let_pass(61)
    assert (await _grant(gate, viewer)).status_code == 201
    assert (await _submit(gate, bob=True)).json()["status"] == "allowed"
    assert (await gate.person().put(path, json={"roles": ["approver"]})).status_code == 200
    assert (await _submit(gate, bob=True)).status_code == 202


async def test_a_granter_counts_by_the_groups_of_now(new_gate) -> None:
    gate = await new_gate(
        'package gate\n\nrequire_approval if input.tool == "write"\n\napproval := {"roles": ["sec"]}\n'
    )
    root = gate.person()
    made = await root.post("/admin/approver-groups", json={"name": "sec", "members": ["hal@example.com"]})
    assert made.status_code == 201
    assert (await _grant(gate, gate.person("hal", Role.APPROVER), max_uses=9)).status_code == 201
    assert (await _submit(gate, number=1)).json()["status"] == "allowed"
    left = await root.put("/admin/approver-groups/sec", json={"members": ["zoe@example.com"]})
    assert left.status_code == 200
    assert (await _submit(gate, number=2)).status_code == 202
    back = await root.put("/admin/approver-groups/sec", json={"members": ["hal@example.com"]})
    assert back.status_code == 200
    assert (await _submit(gate, number=3)).json()["status"] == "allowed"
    assert (await root.delete("/admin/approver-groups/sec")).status_code == 200
    assert (await _submit(gate, number=4)).status_code == 202


async def test_an_administrators_key_without_admin_gives_no_administrators_grant(gate) -> None:
    assert (await gate.person("gina").get("/v1/approvals")).status_code == 200
    users = (await gate.person().get("/admin/users?limit=200")).json()["data"]
    gina = next(one["id"] for one in users if one["subject"] == "gina")
    assert (await _grant(gate, await gate.key(Scope.APPROVALS_WRITE, user_id=gina))).status_code == 201
    assert (await _submit(gate, bob=True)).status_code == 202
    assert (await _submit(gate)).json()["status"] == "allowed"
