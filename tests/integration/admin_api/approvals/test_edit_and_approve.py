"""A reviewer changes the params of an explicit action: what is approved, who is told, what nobody can do that way."""

import asyncio
from typing import Any

import pytest

from headgate.approvals.history import HistoryVerb
from headgate.audit import store as audit_store
from headgate.audit.model import EventFilter
from headgate.journal.apply import apply_before_reading
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role
from tests.integration.conftest import Organization

REGO = """package gate

require_approval if input.tool == "pay"

deny contains "more than a thousand is never paid" if {
    input.tool == "pay"
    input.params.amount > 1000
}

approval := {"required_approvals": approvals}

default approvals := 1

approvals := 2 if input.params.amount > 500
"""
TWO = 'package gate\n\nrequire_approval if input.tool == "pay"\n\napproval := {"required_approvals": 2}\n'


async def asked(gate, **params: Any) -> dict[str, Any]:
    body = {"tool": "pay", "operation": "invoice", "params": {"to": "ACME", "amount": 400, **params}}
    submitted = await gate.as_agent.post("/v1/actions", json=body)
    assert submitted.status_code == 202, submitted.text
    return submitted.json()


async def approve(gate, approval_id: str, name: str = "alice", **body: Any):
    return await gate.person(name, Role.APPROVER).post(f"/v1/approvals/{approval_id}/approve", json=body)


async def test_the_edited_action_is_what_is_approved_and_both_are_kept(new_gate) -> None:
    gate = await new_gate(REGO)
    submitted = await asked(gate)
    approval_id = submitted["approval_id"]
    before = (await gate.person().get(f"/v1/approvals/{approval_id}")).json()
    answer = await approve(
        gate, approval_id, params={"to": "ACME", "amount": 40}, comment="a typo", digest=before["digest"]
    )
    assert (answer.status_code, answer.json()["status"]) == (200, "approved"), answer.text
    told = (await gate.as_agent.get(f"/v1/actions/{submitted['id']}?expand=all")).json()
    assert told["request"]["params"] == {"to": "ACME", "amount": 400}
    assert told["approved_params"] == {"to": "ACME", "amount": 40}
    plain = (await gate.as_agent.get(f"/v1/actions/{submitted['id']}")).json()
    assert plain["request"]["params"] == {"to": "ACME", "amount": 40}, "the documented answer is what to carry out"
    assert told["approval"]["edited_by"] == told["approval"]["approver_id"] == answer.json()["approved_by"]["id"]
    shown = (await gate.person().get(f"/v1/approvals/{approval_id}")).json()
    assert shown["action"]["params"]["amount"] == 400
    assert (shown["edit"]["params"]["amount"], shown["edit"]["digest"] == shown["digest"]) == (40, True)
    assert shown["digest"] != before["digest"]
    assert [one["event"] for one in shown["history"]] == ["requested", HistoryVerb.EDITED, "approved"]
    database = gate.api.dependencies.database
    await apply_before_reading(database, gate.org_id)
    async with database.transaction(gate.org_id) as connection:
        page = await audit_store.list_events(connection, gate.org_id, EventFilter(action_id=submitted["id"]))
    events = {event.event_type: event for event in page.events}
    edited = events["approval.edited"].data
    assert (edited["digest"], edited["edited_digest"]) == (before["digest"], shown["digest"])
    assert (edited["changed"], edited["decision"]["decision"]) == (["params.amount"], "require_approval")
    assert events["approval.approved"].data["digest"] == shown["digest"]
    assert events["approval.edited"].seq < events["approval.approved"].seq


@pytest.mark.parametrize(
    ("params", "status", "says"),
    [
        ({"to": "ACME", "amount": 2000}, 403, "more than a thousand is never paid"),
        ({"to": "ACME", "amount": 600}, 409, "needs another approval than this one"),
        ({"to": "ACME", "amount": 40, "password": "hunter2-hunter2"}, 400, "params.password looks like a secret"),
        ({"to": "[masked]", "amount": 40}, 400, "params.to is masked"),
        ([], 400, ""),
    ],
)
async def test_what_nobody_edits_an_action_into(new_gate, params: Any, status: int, says: str) -> None:
    gate = await new_gate(REGO)
    submitted = await asked(gate)
    answer = await approve(gate, submitted["approval_id"], params=params)
    assert (answer.status_code, says in answer.json()["error"]["message"]) == (status, True), answer.text
    if status == 403:
        assert answer.json()["error"]["details"]["policy_id"] == submitted["decision"]["policy_id"]
    shown = (await gate.person().get(f"/v1/approvals/{submitted['approval_id']}")).json()
    assert (shown["status"], shown["edit"], shown["decisions"]) == ("pending", None, [])


async def test_the_policies_of_now_decide_the_edited_action(new_gate) -> None:
    gate = await new_gate(REGO)
    submitted = await asked(gate)
    later = await gate.person().post(
        "/admin/policies",
        json={"name": "no more", "priority": 1, "rego_policy": 'package late\ndeny if input.params.to == "EVIL"\n'},
    )
    assert later.status_code == 201
    answer = await approve(gate, submitted["approval_id"], params={"to": "EVIL", "amount": 1})
    error = answer.json()["error"]
    assert (answer.status_code, error["details"]["policy_id"]) == (403, later.json()["id"])


async def test_two_people_approve_one_action(new_gate) -> None:
    gate = await new_gate(TWO)
    approval_id = (await asked(gate))["approval_id"]
    first = await approve(gate, approval_id, params={"to": "ACME", "amount": 1})
    assert first.json()["status"] == "pending"
    unseen = await approve(gate, approval_id, "bob")
    error = unseen.json()["error"]
    assert (unseen.status_code, error["details"]["edited_by"]) == (409, first.json()["approved_by"]["id"])
    over = await approve(gate, approval_id, "bob", params={"to": "ACME", "amount": 2})
    assert (over.status_code, "so it cannot be edited" in over.json()["error"]["message"]) == (409, True)
    assert (await approve(gate, approval_id, "bob", digest=error["details"]["digest"])).json()["status"] == "approved"

    another = (await asked(gate))["approval_id"]
    assert (await approve(gate, another)).json()["status"] == "pending"
    late = await approve(gate, another, "bob", params={"to": "ACME", "amount": 2})
    assert late.status_code == 409


async def test_an_edit_that_changes_nothing_is_an_approval(new_gate) -> None:
    gate = await new_gate(REGO)
    approval_id = (await asked(gate))["approval_id"]
    assert (await approve(gate, approval_id, params={"amount": 400, "to": "ACME"})).json()["status"] == "approved"
    assert (await gate.person().get(f"/v1/approvals/{approval_id}")).json()["edit"] is None


async def test_an_intercepted_call_is_sent_as_it_was_written(gate, hold) -> None:
    held = await hold(Organization(gate.org_id, gate.agent_id), source="proxy", generation=await _generation(gate))
    answer = await approve(gate, held.approval_id, params={"to": "y@example.com"})
    error = answer.json()["error"]
    assert (answer.status_code, error["details"]["source"]) == (409, "proxy")
    assert "cannot be edited" in error["message"]


async def test_what_is_no_text_is_refused(new_gate) -> None:
    gate = await new_gate(REGO)
    approval_id = (await asked(gate))["approval_id"]
    for content in (
        rb'{"params":{"to":"\ud800","amount":1}}',
        b'{"params":{"amount":1e999}}',
        b'{"params":{"amount":NaN}}',
    ):
        answer = await gate.person().post(
            f"/v1/approvals/{approval_id}/approve", content=content, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 400, (content, answer.text)


async def test_who_may_not_decide_edits_nothing(new_gate) -> None:
    gate = await new_gate(REGO)
    approval_id = (await asked(gate))["approval_id"]
    body = {"params": {"to": "ACME", "amount": 1}}
    route = f"/v1/approvals/{approval_id}/approve"
    assert (await gate.as_agent.post(route, json=body)).status_code == 403
    assert (await gate.person("eve", Role.VIEWER).post(route, json=body)).status_code == 403
    assert (await (await new_gate()).person().post(route, json=body)).status_code == 404
    denied = {"decision": "deny", "reason": "no", "params": {"amount": 1}}
    assert (await gate.person().post(f"/admin/approvals/{approval_id}/decision", json=denied)).status_code == 400
    unknown = await gate.person().post(f"/v1/approvals/{new_id(IdPrefix.APPROVAL)}/approve", json=body)
    assert unknown.status_code == 404


async def test_two_edits_at_the_same_moment_are_one(new_gate) -> None:
    gate = await new_gate(REGO)
    submitted = await asked(gate)
    answers = await asyncio.gather(
        *(approve(gate, submitted["approval_id"], f"p{n}", params={"to": "ACME", "amount": n}) for n in range(1, 5))
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    (won,) = [n for n, answer in enumerate(answers, 1) if answer.status_code == 200]
    told = (await gate.as_agent.get(f"/v1/actions/{submitted['id']}?expand=all")).json()
    assert told["approved_params"]["amount"] == won


@pytest.mark.parametrize("round_number", range(3))
async def test_an_edit_and_a_policy_that_denies_it_at_the_same_moment(new_gate, round_number: int) -> None:
    """Either came first; nothing is half done."""
    gate = await new_gate(REGO)
    submitted = await asked(gate)
    policy = {"name": "no more", "priority": 1, "rego_policy": "package late\ndeny if input.params.amount == 40\n"}
    edit, made = await asyncio.gather(
        approve(gate, submitted["approval_id"], params={"to": "ACME", "amount": 40}),
        gate.person("bob").post("/admin/policies", json=policy),
    )
    assert made.status_code == 201
    shown = (await gate.person().get(f"/v1/approvals/{submitted['approval_id']}")).json()
    assert (edit.status_code, shown["status"], shown["edit"] is None) in (
        (200, "approved", False),
        (403, "pending", True),
    )
    again = await asked(gate)
    late = await approve(gate, again["approval_id"], params={"to": "ACME", "amount": 40})
    assert (late.status_code, late.json()["error"]["details"]["policy_id"]) == (403, made.json()["id"])


async def _generation(gate) -> int:
    database = gate.api.dependencies.database
    async with database.transaction(gate.org_id) as connection:
        row = await (await connection.execute("SELECT generation FROM org_state")).fetchone()
    return int(row["generation"])


async def test_a_call_is_not_edited_into_something_that_nobody_sends(new_gate) -> None:
    gate = await new_gate('package gate\n\nrequire_approval if input.tool == "http"\n')
    action = {"url": "https://api.example.com/invoices", "body": {"amount": 400}}
    body = {"tool": "http", "operation": "post", "params": action}
    approval_id = (await gate.as_agent.post("/v1/actions", json=body)).json()["approval_id"]
    refused = await approve(gate, approval_id, params={"amount": 40})
    assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, "params"), refused.text
    assert (await gate.person().get(f"/v1/approvals/{approval_id}")).json()["status"] == "pending"
    done = await approve(gate, approval_id, params=action | {"body": {"amount": 40}})
    assert (done.status_code, done.json()["status"]) == (200, "approved"), done.text


async def test_what_was_edited_since_it_was_shown_is_not_decided_with_others(new_gate) -> None:
    gate = await new_gate(TWO)
    ids = [(await asked(gate, amount=amount))["approval_id"] for amount in (1, 2)]
    digests = {one: (await gate.person().get(f"/v1/approvals/{one}")).json()["digest"] for one in ids}
    edited = await approve(gate, ids[0], params={"to": "ACME", "amount": 40})
    assert edited.json()["status"] == "pending", edited.text
    many = {"decision": "approve", "ids": ids, "digests": digests}
    answer = await gate.person("bob", Role.APPROVER).post("/v1/approvals/bulk-decision", json=many)
    found = [(one["result"], one["error"] and one["error"]["code"]) for one in answer.json()["results"]]
    assert found == [("error", "CONFLICT"), ("voted", None)]
    selected = [f"{one} {digest}" for one, digest in digests.items()]
    page = await gate.person("carol", Role.APPROVER).post("/inbox", data={"decision": "approve", "selected": selected})
    assert (page.status_code, "1 requests decided, 1 failed" in page.text) == (409, True)
    assert (await gate.person().get(f"/v1/approvals/{ids[0]}")).json()["status"] == "pending"
