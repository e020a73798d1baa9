"""Groups, roles, stand-ins, other people, reassignment: through the routes, against the real database."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headgate.agents.scopes import Scope
from headgate.organizations.model import Role

APPROVER = Role.APPROVER


def _rego(terms: str) -> str:
    return f'package gate\n\nrequire_approval if input.tool == "write"\n\napproval := {terms}\n'


async def held(gate) -> dict[str, Any]:
    submitted = await gate.as_agent.post("/v1/actions", json={"tool": "write", "operation": "file", "params": {"a": 1}})
    assert submitted.status_code == 202, submitted.text
    return submitted.json()


async def user_of(gate, name: str, role: Role = APPROVER) -> str:
    """Their id; the first request makes the user."""
    me = gate.person(name, role)
    assert (await me.get("/v1/approvals")).status_code == 200
    users = (await gate.person("root").get("/admin/users?limit=200")).json()["data"]
    return next(one["id"] for one in users if one["subject"] == name)


async def group(gate, name: str, *members: str) -> None:
    made = await gate.person("root").post("/admin/approver-groups", json={"name": name, "members": list(members)})
    assert made.status_code == 201, made.text


async def approve(gate, approval_id: str, name: str, role: Role = APPROVER, **body: Any):
    return await gate.person(name, role).post(f"/v1/approvals/{approval_id}/approve", json=body)


async def detail(gate, approval_id: str) -> dict[str, Any]:
    return (await gate.person("root").get(f"/v1/approvals/{approval_id}")).json()


async def test_one_of_each_role_and_they_are_two_people(new_gate) -> None:
    gate = await new_gate(_rego('{"roles": ["security", "owners"]}'))
    await group(gate, "security", "sam@example.com", "both@example.com")
    await group(gate, "owners", "otto@example.com", "BOTH@example.com")
    approval_id = (await held(gate))["approval_id"]
    refused = await approve(gate, approval_id, "eve")
    assert (refused.status_code, "group:owners, group:security" in refused.json()["error"]["message"]) == (403, True)
    assert (await approve(gate, approval_id, "root", Role.ADMIN)).status_code == 403
    assert (await approve(gate, approval_id, "both")).json()["status"] == "pending"
    assert (await approve(gate, approval_id, "both")).status_code == 409
    assert (await approve(gate, approval_id, "sam")).json()["status"] == "approved"
    shown = await detail(gate, approval_id)
    assert {one["email"] for one in shown["approvers"]} == {"sam@example.com", "both@example.com", "otto@example.com"}
    assert shown["requirements"][0]["roles"] == {"owners": 1, "security": 1}
    assert [one["decision"] for one in shown["decisions"]] == ["approve", "approve"]


async def test_who_has_left_the_group_is_refused_and_their_earlier_votes_stay(new_gate) -> None:
    gate = await new_gate(_rego('{"assignees": ["group:security"], "required_approvals": 2}'))
    await group(gate, "security", "sam@example.com", "sue@example.com", "eve@example.com")
    approval_id = (await held(gate))["approval_id"]
    assert (await approve(gate, approval_id, "sam")).json()["status"] == "pending"
    changed = await gate.person("root").put("/admin/approver-groups/security", json={"members": ["sue@example.com"]})
    assert (changed.status_code, changed.json()["version"], changed.headers["etag"]) == (200, 2, '"2"')
    assert (await approve(gate, approval_id, "eve")).status_code == 403
    assert (await approve(gate, approval_id, "sue")).json()["status"] == "approved"


async def test_a_deactivated_person_decides_nothing_and_neither_does_their_key(new_gate) -> None:
    gate = await new_gate(_rego('{"required_approvals": 3}'))
    approval_id = (await held(gate))["approval_id"]
    eve = await user_of(gate, "eve")
    key = await gate.key(Scope.APPROVALS_WRITE, user_id=eve)
    assert (await approve(gate, approval_id, "eve")).json()["current_approvals"] == 1
    root = gate.person("root")
    assert (await root.post(f"/admin/users/{await user_of(gate, 'root', Role.ADMIN)}/deactivate")).status_code == 409
    gone = await root.post(f"/admin/users/{eve}/deactivate")
    assert gone.json()["deactivated_at"] is not None
    other = (await held(gate))["approval_id"]
    for answer, status in (
        (await approve(gate, other, "eve"), 403),
        (await key.post(f"/v1/approvals/{other}/approve"), 401),
    ):
        assert (answer.status_code, "was deactivated" in answer.json()["error"]["message"]) == (status, True)
    # A sign-in that no process remembers is refused everywhere.
    with_mail = gate.client(Authorization=f"Bearer {gate.api.token(gate.org_id, APPROVER, subject='eve')}")
    assert (await with_mail.get("/v1/approvals")).status_code == 403
    assert (await detail(gate, approval_id))["current_approvals"] == 1  # what was cast, was cast
    assert (await root.post(f"/admin/users/{eve}/reactivate")).json()["deactivated_at"] is None
    assert (await approve(gate, other, "eve")).status_code == 200


async def test_a_key_may_no_more_than_its_person(new_gate) -> None:
    gate = await new_gate(_rego('{"required_approvals": 1}'))
    approval_id = (await held(gate))["approval_id"]
    eve = await user_of(gate, "eve")
    key = await gate.key(Scope.APPROVALS_WRITE, user_id=eve)
    assert (await gate.person("eve", Role.VIEWER).get("/v1/approvals")).status_code == 200  # the newest token
    stripped = await key.post(f"/v1/approvals/{approval_id}/approve")
    assert (stripped.status_code, stripped.json()["error"]["details"]["missing_scope"]) == (403, "approvals:write")


async def test_duties_are_kept_apart(new_gate) -> None:
    gate = await new_gate('package gate\nallow if input.tool == "read"\n')
    alice = gate.person("alice")
    made = await alice.post(
        "/admin/policies",
        json={"name": "apart", "rego_policy": _rego('{"separation_of_duties": true}'), "priority": 1},
    )
    assert made.status_code == 201, made.text
    approval_id = (await held(gate))["approval_id"]
    refused = await approve(gate, approval_id, "alice", Role.ADMIN)
    error = refused.json()["error"]
    assert (refused.status_code, error["details"]["separation_of_duties"]) == (403, "policy_author")
    # Her key is hers.
    alices_key = await gate.key(Scope.ADMIN, user_id=await user_of(gate, "alice", Role.ADMIN))
    assert (await alices_key.post(f"/v1/approvals/{approval_id}/approve")).status_code == 403
    nobodys = await (await gate.key(Scope.ADMIN)).post(f"/v1/approvals/{approval_id}/approve")
    assert (nobodys.status_code, "a key without a user" in nobodys.json()["error"]["message"]) == (403, True)
    assert (await approve(gate, approval_id, "bob")).json()["status"] == "approved"

    owned = await gate.person("otto").post("/admin/agents", json={"name": "Otto's"})
    agent = gate.client(X_Agent_Key=owned.json()["api_key"]["key"])
    submitted = await agent.post("/v1/actions", json={"tool": "write", "operation": "file", "params": {}})
    refused = await approve(gate, submitted.json()["approval_id"], "otto")
    assert (refused.status_code, refused.json()["error"]["details"]["separation_of_duties"]) == (403, "agent_owner")


async def test_somebody_is_away(new_gate) -> None:
    gate = await new_gate(_rego('{"assignees": ["alice@example.com"]}'))
    alice, bob = await user_of(gate, "alice"), await user_of(gate, "bob")
    await user_of(gate, "carol")
    approval_id = (await held(gate))["approval_id"]
    assert (await approve(gate, approval_id, "bob")).status_code == 403
    until = (datetime.now(UTC) + timedelta(days=3)).isoformat()
    away = await gate.person("alice", APPROVER).post(
        "/v1/absences", json={"stand_in": "bob@example.com", "until": until, "note": "skiing"}
    )
    assert (away.status_code, away.json()["stand_in"], away.json()["user_id"]) == (201, bob, alice)
    again = await gate.person("alice", APPROVER).post("/v1/absences", json={"stand_in": bob, "until": until})
    assert again.status_code == 409
    # No chains: whom Bob names does not stand in for Alice.
    chained = await gate.person("bob", APPROVER).post(
        "/v1/absences", json={"stand_in": "carol@example.com", "until": until}
    )
    assert chained.status_code == 201
    assert (await approve(gate, approval_id, "carol")).status_code == 403
    mine = (await gate.person("bob", APPROVER).get("/v1/approvals?assignee=me")).json()["data"]
    assert [one["id"] for one in mine] == [approval_id]
    assert (await approve(gate, approval_id, "bob")).json()["status"] == "approved"
    shown = await detail(gate, approval_id)
    assert [(one["user_id"], one["on_behalf_of"]) for one in shown["decisions"]] == [(bob, alice)]
    assert shown["history"][-1]["on_behalf_of"] == alice

    another = (await held(gate))["approval_id"]
    called_off = await gate.person("alice", APPROVER).delete(f"/v1/absences/{away.json()['id']}")
    assert called_off.status_code == 200
    assert (await approve(gate, another, "bob")).status_code == 403
    assert (await approve(gate, another, "alice")).json()["status"] == "approved"
    listed = (await gate.person("alice", APPROVER).get("/v1/absences")).json()["data"]
    assert [one["id"] for one in listed] == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"stand_in": "alice@example.com"}, 400),
        ({"stand_in": "nobody@example.com"}, 400),
        ({"stand_in": "bob@example.com", "until": "2020-01-01T00:00:00Z"}, 400),
        ({"stand_in": "bob@example.com", "from": "2030-01-02T00:00:00Z", "until": "2030-01-01T00:00:00Z"}, 400),
        ({"stand_in": "bob@example.com", "until": "2300-01-01T00:00:00Z"}, 400),
        ({"stand_in": "bob@example.com", "until": "2030-01-01T00:00:00"}, 400),
        ({"stand_in": "bob@example.com", "until": 4102444800}, 400),
        ({"stand_in": "bob@example.com", "until": "4102444800"}, 400),
        ({"stand_in": "bob@example.com", "until": "9999-12-31T23:59:59-14:00"}, 400),
        ({"stand_in": "bob@example.com", "user_id": "usr_bob"}, 400),
        ({"stand_in": "bob@example.com", "user_id": ""}, 400),
        ({"stand_in": "bob@example.com", "user_id": "usr_01a22858-0fdc-7379-a883-6c9453567139"}, 403),
    ],
)
async def test_absences_that_cannot_be(gate, body: dict[str, Any], status: int) -> None:
    await user_of(gate, "alice")
    await user_of(gate, "bob")
    until = (datetime.now(UTC) + timedelta(days=3)).isoformat()
    answer = await gate.person("alice", APPROVER).post("/v1/absences", json={"until": until, **body})
    assert answer.status_code == status, answer.text


async def test_people_are_named_by_the_bare_uuid_too(gate) -> None:
    alice, bob = await user_of(gate, "alice"), await user_of(gate, "bob")
    root, bare = gate.person("root"), bob.removeprefix("usr_")
    body = {"stand_in": bare, "user_id": alice.removeprefix("usr_"), "until": "2200-01-01T00:00:00+02:00"}
    body["from"] = "2199-12-31T00:00:00Z"
    absence = (await root.post("/v1/absences", json=body)).json()
    assert (absence["user_id"], absence["stand_in"]) == (alice, bob)
    assert absence["until"] == "2199-12-31T22:00:00Z", "in UTC, as the list has it"
    group = await root.post("/admin/approver-groups", json={"name": "security", "members": [bare]})
    assert group.json()["members"] == [bob]
    approval = await held(gate)
    route = f"/v1/approvals/{approval['approval_id']}/reassign"
    policy_id = approval["decision"]["policy_id"].removeprefix("pol_")
    assert (await root.post(route, json={"assignees": [bare], "policy_id": "none"})).status_code == 400
    given = await root.post(route, json={"assignees": [bare], "policy_id": policy_id})
    assert given.json()["assignees"] == [{"id": bob, "email": "bob@example.com"}]
    for query in (f"assignee={bare}", f"policy_id={policy_id}"):
        assert (await root.get(f"/v1/approvals?{query}")).json()["pagination"]["total"] == 1, query


async def test_two_absences_announced_at_once_are_one(gate) -> None:
    await user_of(gate, "alice")
    await user_of(gate, "bob")
    until = (datetime.now(UTC) + timedelta(days=3)).isoformat()
    alice = gate.person("alice", APPROVER)
    body = {"stand_in": "bob@example.com", "until": until}
    answers = await asyncio.gather(*(alice.post("/v1/absences", json=body) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409, 409]


async def test_reassigning(new_gate) -> None:
    gate = await new_gate(_rego('{"assignees": ["alice@example.com"]}'))
    approval_id = (await held(gate))["approval_id"]
    route = f"/v1/approvals/{approval_id}/reassign"
    bob = await user_of(gate, "bob")
    for caller, body, status in (
        (gate.person("bob", APPROVER), {"assignees": [bob], "comment": "mine now"}, 403),
        (gate.person("eve", Role.VIEWER), {"assignees": [bob], "comment": "no right"}, 403),
        (gate.as_agent, {"assignees": [bob], "comment": "let my friend"}, 403),
        (gate.person("alice", APPROVER), {"assignees": [], "comment": "nobody"}, 400),
        (gate.person("alice", APPROVER), {"assignees": ["usr_unknown"], "comment": "who"}, 400),
        (gate.person("alice", APPROVER), {"assignees": ["group:unknown"], "comment": "who"}, 400),
    ):
        assert (await caller.post(route, json=body)).status_code == status, body
    given = await gate.person("alice", APPROVER).post(route, json={"assignees": [bob], "comment": "he knows better"})
    assert given.status_code == 200, given.text
    assert given.json()["assignees"] == [{"id": bob, "email": "bob@example.com"}]
    step = given.json()["history"][-1]
    assert (step["event"], step["by"]["email"], step["reason"]) == (
        "reassigned", "alice@example.com", "he knows better",
    )  # fmt: skip
    assert (await approve(gate, approval_id, "alice")).status_code == 403
    listed = (await gate.person("bob", APPROVER).get("/v1/approvals?assignee=me&status=pending")).json()["data"]
    assert [one["id"] for one in listed] == [approval_id]
    assert (await gate.person("alice", APPROVER).get("/v1/approvals?assignee=me")).json()["data"] == []
    assert (await approve(gate, approval_id, "bob")).json()["status"] == "approved"
    late = await gate.person("root").post(route, json={"assignees": [bob], "reason": "too late"})
    assert (late.status_code, late.json()["error"]["details"]["decided_by"]) == (409, bob)


async def test_escalating_now_asks_more_people_once(new_gate) -> None:
    terms = '{"assignees": ["alice@example.com"], "escalate_to": ["boss@example.com"], "escalate_after_seconds": 600}'
    gate = await new_gate(_rego(terms))
    approval_id = (await held(gate))["approval_id"]
    route = f"/v1/approvals/{approval_id}/escalate"
    for caller in (gate.person("bob", APPROVER), gate.person("eve", Role.VIEWER), gate.as_agent):
        assert (await caller.post(route, json={})).status_code == 403
    answer = await gate.person("alice", APPROVER).post(route, json={"reason": "above my limit"})
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert [one["email"] for one in shown["assignees"]] == ["alice@example.com", "boss@example.com"]
    assert shown["requirements"][0]["escalate_to"] == ["boss@example.com"]
    step = shown["history"][-1]
    assert (step["event"], step["by"]["email"], step["reason"]) == ("escalated", "alice@example.com", "above my limit")
    [event] = (await gate.person("root").get("/admin/audit?event_type=approval.escalated")).json()["data"]
    assert event["actor"]["name"] == "alice@example.com"
    assert (event["data"]["added"], event["data"]["reason"]) == (["boss@example.com"], "above my limit")
    assert (await gate.person("alice", APPROVER).post(route)).status_code == 409
    assert (await approve(gate, approval_id, "boss")).json()["status"] == "approved"
    verified = (await gate.person("root").post("/admin/audit/verify")).json()
    assert (verified["valid"], verified["differences"]) == (True, [])


async def test_lists_by_everything(new_gate) -> None:
    gate = await new_gate(_rego('{"assignees": ["alice@example.com", "group:security"]}'))
    await group(gate, "security", "sam@example.com")
    first = await held(gate)
    approval_id = first["approval_id"]
    policy_id = first["decision"]["policy_id"]
    root = gate.person("root")
    now = datetime.now(UTC)
    for query, count in (
        ("tool=write", 1),
        ("tool=read", 0),
        (f"policy_id={policy_id}", 1),
        (f"policy_id={policy_id.replace('pol_', 'nlp_')}", 0),
        ("assignee=ALICE@example.com", 1),
        ("assignee=group:security", 1),
        ("assignee=bob@example.com", 0),
        ("status=pending&tool=write&assignee=alice@example.com", 1),
        ("status=expired", 0),
        (f"start_date={(now - timedelta(minutes=1)).isoformat().replace('+', '%2B')}", 1),
        (f"end_date={(now - timedelta(minutes=1)).isoformat().replace('+', '%2B')}", 0),
        ("start_date=2020-01-01&end_date=2020-12-31", 0),
        ("start_date=0001-01-01&end_date=9999-12-31", 1),
    ):
        answer = await root.get(f"/v1/approvals?{query}")
        assert answer.status_code == 200, answer.text
        assert [one["id"] for one in answer.json()["data"]] == [approval_id][:count], query
        assert answer.json()["pagination"]["total"] == count
    assert [
        one["id"] for one in (await gate.person("sam", APPROVER).get("/v1/approvals?assignee=me")).json()["data"]
    ] == [approval_id]
    for query in (
        "start_date=yesterday",
        "start_date=2026-01-02&end_date=2026-01-01",
        "tool=a%00b",
        "policy_id=pol_none",
    ):
        assert (await root.get(f"/v1/approvals?{query}")).status_code == 400
    nobody = await (await gate.key(Scope.APPROVALS_READ)).get("/v1/approvals?assignee=me")
    assert nobody.status_code == 400


async def test_groups(gate) -> None:
    root, sam = gate.person("root"), gate.person("sam", APPROVER)
    body = {"name": "security", "members": ["Sam@example.com", "sam@example.com"], "description": "on call"}
    made = await root.post("/admin/approver-groups", json=body)
    assert (made.status_code, made.json()["members"]) == (201, ["sam@example.com"])
    assert (await root.post("/admin/approver-groups", json=body)).status_code == 409
    assert (await sam.get("/admin/approver-groups/security")).json()["description"] == "on call"
    assert (await sam.put("/admin/approver-groups/security", json={"members": []})).status_code == 403
    stale = await root.put("/admin/approver-groups/security", json={"members": []}, headers={"If-Match": '"7"'})
    assert stale.status_code == 412
    assert (await root.get("/admin/approver-groups")).json()["pagination"]["total"] == 1
    for members in (["group:other"], ["bob"], [" "], ["x" * 400 + "@example.com"]):
        refused = await root.put("/admin/approver-groups/security", json={"members": members})
        assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, "members[0]")
    assert (await root.post("/admin/approver-groups", json={**body, "name": "Not so"})).status_code == 400
    assert (await root.delete("/admin/approver-groups/security")).status_code == 200
    assert (await root.delete("/admin/approver-groups/security")).status_code == 404


async def test_another_organizations_people_and_groups_are_not_there(gate, new_gate) -> None:
    await group(gate, "security", "sam@example.com")
    eve = await user_of(gate, "eve")
    approval_id = (await held(gate))["approval_id"]
    until = (datetime.now(UTC) + timedelta(days=3)).isoformat()
    stranger = (await new_gate()).person()
    for answer in (
        await stranger.get("/admin/approver-groups/security"),
        await stranger.delete("/admin/approver-groups/security"),
        await stranger.post(f"/admin/users/{eve}/deactivate"),
        await stranger.post(f"/v1/approvals/{approval_id}/reassign", json={"assignees": ["a@b.c"], "comment": "x"}),
    ):
        assert answer.status_code == 404
    assert (await stranger.post("/v1/absences", json={"stand_in": eve, "until": until})).status_code == 400


def _through_another_issuer(gate, name: str, role: Role = APPROVER):
    """The same person, by the address that both issuers have verified, and another user here."""
    token = gate.api.token(gate.org_id, role, subject=f"{name} elsewhere", email=f"{name.upper()}@example.com")
    return gate.client(Authorization=f"Bearer {token}")


async def test_who_signs_in_through_two_issuers_has_one_vote(new_gate) -> None:
    gate = await new_gate(_rego('{"required_approvals": 2}'))
    approval_id = (await held(gate))["approval_id"]
    assert (await approve(gate, approval_id, "eve")).json()["status"] == "pending"
    for decision, body in (("approve", {}), ("deny", {"reason": "no"})):
        path = f"/v1/approvals/{approval_id}/{decision}"
        again = await _through_another_issuer(gate, "eve").post(path, json=body)
        assert again.status_code == 409, again.text
    assert (await detail(gate, approval_id))["current_approvals"] == 1
    assert (await approve(gate, approval_id, "sam")).json()["status"] == "approved"


async def test_who_is_kept_apart_is_so_through_another_issuer(new_gate) -> None:
    gate = await new_gate(_rego('{"separation_of_duties": ["agent_owner"]}'))
    made = await gate.person("eve", Role.ADMIN).post("/admin/agents", json={"name": "Eve's"})
    assert made.status_code == 201, made.text
    agent = gate.client(X_Agent_Key=made.json()["api_key"]["key"])
    submitted = await agent.post("/v1/actions", json={"tool": "write", "operation": "file", "params": {"a": 1}})
    approval_id = submitted.json()["approval_id"]
    for person in (gate.person("eve", APPROVER), _through_another_issuer(gate, "eve")):
        refused = await person.post(f"/v1/approvals/{approval_id}/approve", json={})
        assert (refused.status_code, "another person must decide" in refused.json()["error"]["message"]) == (403, True)
    assert (await approve(gate, approval_id, "sam")).json()["status"] == "approved"


async def _owned(gate, owner: str | None) -> str:
    """An approval of the gate's agent, which no person has created, with this owner."""
    changed = await gate.person("root").put(f"/admin/agents/{gate.agent_id}", json={"owner": owner})
    assert changed.status_code == 200, changed.text
    return (await held(gate))["approval_id"]


@pytest.mark.parametrize("by", ["id", "address", "capitals"])
async def test_whom_owner_names_is_kept_apart(new_gate, by: str) -> None:
    """Also as another user of the same address, and through a delegate."""
    gate = await new_gate(_rego('{"separation_of_duties": ["agent_owner"], "assignees": ["eve@example.com"]}'))
    eve, sam = await user_of(gate, "eve"), await user_of(gate, "sam")
    await _names_a_delegate(gate, "eve", sam)
    owner = {"id": eve, "address": "eve@example.com", "capitals": "Eve@Example.COM"}[by]
    approval_id = await _owned(gate, owner)
    for person in (gate.person("eve", APPROVER), _through_another_issuer(gate, "eve"), gate.person("eve")):
        refused = await person.post(f"/v1/approvals/{approval_id}/approve", json={})
        error = refused.json()["error"]
        assert (refused.status_code, error["details"]["separation_of_duties"]) == (403, "agent_owner")
    assert (await approve(gate, approval_id, "sam")).status_code == 403
    assert (await approve(gate, approval_id, "root", Role.ADMIN)).json()["status"] == "approved"
    # An owner from now on, for approvals that are open.
    open_before = await _owned(gate, None)
    assert (await _owned(gate, owner)) != open_before
    assert (await approve(gate, open_before, "eve")).status_code == 403


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        ("bob@example.com", "eve"),
        ("platform team", "eve"),
        ("eve", "eve"),  # a subject, which names nobody
        ("\u212aim@example.com", "kim"),
        (None, "eve"),
    ],
)
async def test_who_is_not_the_owner_decides(new_gate, owner: str | None, name: str) -> None:
    gate = await new_gate(_rego('{"separation_of_duties": ["agent_owner"]}'))
    approval_id = await _owned(gate, owner)
    assert (await approve(gate, approval_id, name)).json()["status"] == "approved"


async def test_an_owner_whose_newest_token_names_another_address(new_gate) -> None:
    """Neither the address that an older token names nor the one of the newest gets around the owner."""
    gate = await new_gate(_rego('{"separation_of_duties": ["agent_owner"]}'))
    older = gate.person("eve", APPROVER)
    newer = gate.client(
        Authorization=f"Bearer {gate.api.token(gate.org_id, APPROVER, subject='eve', email='eva@example.com')}"
    )
    assert (await newer.get("/v1/approvals")).status_code == 200
    for owner in ("eve@example.com", "eva@example.com"):
        approval_id = await _owned(gate, owner)
        assert (await older.post(f"/v1/approvals/{approval_id}/approve", json={})).status_code == 403
    assert (await newer.post(f"/v1/approvals/{approval_id}/approve", json={})).status_code == 403


async def _names_a_delegate(gate, name: str, stand_in: str, *, user: str | None = None) -> None:
    until = (datetime.now(UTC) + timedelta(days=3)).isoformat()
    away = await gate.person(name, APPROVER, user=user).post(
        "/v1/absences", json={"stand_in": stand_in, "until": until}
    )
    assert away.status_code == 201, away.text


async def test_a_person_who_has_voted_does_not_vote_again_through_the_delegate_of_another_user(new_gate) -> None:
    gate = await new_gate(_rego('{"required_approvals": 2, "assignees": ["dora@example.com", "carol@example.com"]}'))
    eve, other = await user_of(gate, "eve"), "dora elsewhere"
    approval_id = (await held(gate))["approval_id"]
    assert (await approve(gate, approval_id, "dora")).json()["status"] == "pending"
    await _names_a_delegate(gate, "dora", eve, user=other)
    assert (await approve(gate, approval_id, "eve")).status_code == 403
    assert (await detail(gate, approval_id))["current_approvals"] == 1
    # Where nobody has voted for her, the delegate does, and then she has no vote as either user.
    another = (await held(gate))["approval_id"]
    assert (await approve(gate, another, "eve")).json()["status"] == "pending"
    for person in (gate.person("dora", APPROVER), gate.person("dora", APPROVER, user=other)):
        assert (await person.post(f"/v1/approvals/{another}/approve", json={})).status_code == 409


async def test_two_delegates_of_one_person_are_one_vote(new_gate) -> None:
    gate = await new_gate(_rego('{"required_approvals": 2, "assignees": ["dora@example.com", "carol@example.com"]}'))
    eve, bob = await user_of(gate, "eve"), await user_of(gate, "bob")
    await user_of(gate, "dora")
    await _names_a_delegate(gate, "dora", eve)
    await _names_a_delegate(gate, "dora", bob, user="dora elsewhere")
    approval_id = (await held(gate))["approval_id"]
    assert (await approve(gate, approval_id, "eve")).json()["status"] == "pending"
    assert (await approve(gate, approval_id, "bob")).status_code == 403


async def test_who_is_kept_apart_has_no_delegate_as_another_user_either(new_gate) -> None:
    gate = await new_gate(_rego('{"separation_of_duties": ["agent_owner"], "assignees": ["dora@example.com"]}'))
    bob = await user_of(gate, "bob")
    made = await gate.person("dora").post("/admin/agents", json={"name": "Dora's"})
    await _names_a_delegate(gate, "dora", bob, user="dora elsewhere")
    agent = gate.client(X_Agent_Key=made.json()["api_key"]["key"])
    submitted = await agent.post("/v1/actions", json={"tool": "write", "operation": "file", "params": {}})
    assert (await approve(gate, submitted.json()["approval_id"], "bob")).status_code == 403


async def test_who_may_not_approve_any_more_has_no_delegate(new_gate) -> None:
    gate = await new_gate(_rego('{"assignees": ["dora@example.com"]}'))
    bob = await user_of(gate, "bob")
    await _names_a_delegate(gate, "dora", bob)
    approval_id = (await held(gate))["approval_id"]
    assert (await gate.person("dora", Role.VIEWER).get("/v1/approvals")).status_code == 200  # the newest token
    assert (await approve(gate, approval_id, "bob")).status_code == 403
    gate.api.let_pass(61)
    await user_of(gate, "dora")
    assert (await approve(gate, approval_id, "bob")).json()["status"] == "approved"


_LOOK_ALIKES = [
    ("strauss@example.com", "strauß"),  # casefold() makes ss of it
    ("mike@example.com", "mi\u212ae"),  # lower() makes a k of U+212A
    ("susan@example.com", "\u017fusan"),  # casefold() makes an s of U+017F
]


@pytest.mark.parametrize(("named", "look_alike"), _LOOK_ALIKES)
async def test_a_look_alike_address_is_another_persons(new_gate, named: str, look_alike: str) -> None:
    """As an assignee and as a member of a group, in either case of ASCII letters."""
    gate = await new_gate(_rego(f'{{"assignees": ["{named.capitalize()}"]}}'))
    approval_id = (await held(gate))["approval_id"]
    assert (await approve(gate, approval_id, look_alike)).status_code == 403
    other = gate.person(look_alike, APPROVER)
    assert (await other.get("/v1/approvals?assignee=me")).json()["data"] == []
    theirs = await other.get("/v1/approvals", params={"assignee": f"{look_alike}@example.com"})
    assert theirs.json()["data"] == []
    found = await other.get("/v1/approvals", params={"assignee": named.upper()})
    assert [one["id"] for one in found.json()["data"]] == [approval_id]
    assert (await approve(gate, approval_id, named.split("@", maxsplit=1)[0].upper())).json()["status"] == "approved"

    grouped = await new_gate(_rego('{"assignees": ["group:security"]}'))
    await group(grouped, "security", named.upper())
    approval_id = (await held(grouped))["approval_id"]
    assert (await approve(grouped, approval_id, look_alike)).status_code == 403
    assert (await approve(grouped, approval_id, named.split("@", maxsplit=1)[0])).json()["status"] == "approved"


@pytest.mark.parametrize(("named", "look_alike"), _LOOK_ALIKES)
async def test_a_look_alike_address_that_is_named_is_found(new_gate, named: str, look_alike: str) -> None:
    """The person with such an address is an assignee by it, and the person with the ASCII address is not."""
    gate = await new_gate(_rego(f'{{"assignees": ["{look_alike}@example.com"]}}'))
    approval_id = (await held(gate))["approval_id"]
    assert (await approve(gate, approval_id, named.split("@", maxsplit=1)[0])).status_code == 403
    assert (await approve(gate, approval_id, look_alike)).json()["status"] == "approved"


@pytest.mark.parametrize(("named", "look_alike"), _LOOK_ALIKES)
async def test_a_look_alike_address_is_not_the_same_person(new_gate, named: str, look_alike: str) -> None:
    """In a quorum and when a person is shut out. The same address in capitals is the same person."""
    gate = await new_gate(_rego('{"required_approvals": 2}'))
    name = named.split("@", maxsplit=1)[0]
    approval_id = (await held(gate))["approval_id"]
    assert (await approve(gate, approval_id, name)).json()["current_approvals"] == 1
    assert (await approve(gate, approval_id, name.upper())).status_code == 409
    assert (await approve(gate, approval_id, look_alike)).json()["status"] == "approved"
    shut_out = await gate.person("root").post(f"/admin/users/{await user_of(gate, name)}/deactivate")
    assert shut_out.status_code == 200, shut_out.text
    users = (await gate.person("root").get("/admin/users?limit=200")).json()["data"]
    assert {one["subject"] for one in users if one["deactivated_at"] is not None} == {name, name.upper()}
