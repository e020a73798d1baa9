"""Which open requests wait for a person."""

from datetime import UTC, datetime, timedelta

import pytest

from headgate.agents.scopes import Scope
from headgate.organizations.model import Role

_TWO = """package gate

require_approval if input.tool == "write"

approval := {"required_approvals": 2}
"""


async def _held(gate, text: str) -> str:
    body = {"tool": "write", "operation": "line", "params": {"text": text}}
    return str((await gate.as_agent.post("/v1/actions", json=body)).json()["approval_id"])


async def _for(person, **more: str) -> set[str]:
    answer = await person.get("/v1/approvals", params={"status": "pending", "for_me": "true", **more})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["pagination"]["total"] == len(found["data"])
    return {one["id"] for one in found["data"]}


async def test_what_is_assigned_to_the_person_or_to_nobody_and_has_no_vote_of_theirs(new_gate) -> None:
    gate = await new_gate(_TWO)
    free, hers, his = [await _held(gate, text) for text in ("free", "hers", "his")]
    admin, ann, ben = gate.person(), gate.person("ann", Role.APPROVER), gate.person("ben", Role.APPROVER)
    for approval_id, who in ((hers, "ann@example.com"), (his, "ben@example.com")):
        assign = {"assignees": [who, "zoe@example.com"]}
        reassigned = await admin.post(f"/v1/approvals/{approval_id}/reassign", json=assign)
        assert reassigned.is_success, reassigned.text
    assert await _for(ann) == {free, hers}
    assert await _for(ben) == {free, his}
    voted = await ann.post(f"/v1/approvals/{free}/approve", json={})
    assert voted.is_success, voted.text
    assert await _for(ann) == {hers}
    assert await _for(ben) == {free, his}
    # A second user of the same address is the same person, who has voted.
    assert await _for(gate.person("ann", Role.APPROVER, user="ann-of-another-issuer")) == {hers}
    assert await _for(ann, tool="nothing") == set()


async def test_what_a_delegate_decides_for_an_absent_person(gate) -> None:
    one = await _held(gate, "one")
    ann, ben = gate.person("ann", Role.APPROVER), gate.person("ben", Role.APPROVER)
    assign = {"assignees": ["ben@example.com"]}
    assert (await gate.person().post(f"/v1/approvals/{one}/reassign", json=assign)).is_success
    assert await _for(ann) == set()
    users = (await gate.person().get("/admin/users")).json()["data"]
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    absent = {"stand_in": next(user["id"] for user in users if user["email"] == "ann@example.com")}
    made = await ben.post("/v1/absences", json={**absent, "until": until})
    assert made.status_code == 201, made.text
    assert await _for(ann) == {one}


@pytest.mark.parametrize(
    "query", ["for_me=true", "for_me=true&status=denied", "status=pending&for_me=true&assignee=me"]
)
async def test_what_cannot_be_asked_for(gate, query: str) -> None:
    assert (await gate.person().get(f"/v1/approvals?{query}")).status_code == 400


async def test_a_key_of_no_person_has_nothing_that_waits_for_it(gate) -> None:
    answer = await (await gate.key(Scope.APPROVALS_READ)).get("/v1/approvals?status=pending&for_me=true")
    assert answer.status_code == 400
    assert "belongs to no user" in answer.json()["error"]["message"]
