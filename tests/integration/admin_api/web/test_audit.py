"""The log in a browser: found, shown with its proof, verified; blank fields of a form of filters are none."""

import asyncio
import re

import pytest

from headgate.audit.count_refusals import RefusalCounts, RefusedCall, RefusedRequest
from headgate.kernel.clock import system_clock
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role

_HOSTILE = "<script>alert(1)</script>\u202e"


async def _called(gate) -> str:
    body = {"tool": "write", "operation": "line", "params": {}, "context": {"reason": _HOSTILE}}
    return str((await gate.as_agent.post("/v1/actions", json=body)).json()["id"])


def _rows(text: str) -> list[str]:
    return re.findall(r'data-row="(evt_[^"]+)"', text)


async def test_events_with_their_call_and_one_with_its_place(gate) -> None:
    action_id = await _called(gate)
    person = gate.person("otto", Role.AUDITOR)
    listed = await person.get(f"/audit?action_id={action_id}&event_type=action.submitted")
    (event_id,) = _rows(listed.text)
    assert f'href="/calls/{action_id}">write.line</a>' in listed.text
    shown = await person.get(f"/audit/{event_id}")
    event = (await person.get(f"/admin/audit/{event_id}")).json()
    assert event["hash"] in shown.text
    assert "<script>alert" not in shown.text + listed.text
    assert _rows((await person.get("/audit?search=nothing-says-this")).text) == []


async def test_calls_that_were_refused_before_they_were_actions(gate, proxy_database) -> None:
    counts = RefusalCounts(proxy_database, system_clock)
    call = RefusedCall("GET", "10.1.2.3", 80, f"/{_HOSTILE}", ("role",), "not a public address")
    for _ in range(3):
        counts.add(RefusedRequest(gate.org_id, gate.agent_id, "Robot", "DESTINATION_BLOCKED"), lambda: call)
    tunnel = call._replace(method="CONNECT", host="10.9.9.9", port=8443, path=None)
    counts.add(RefusedRequest(gate.org_id, gate.agent_id, "Robot", "REQUEST_AMBIGUOUS"), lambda: tunnel)
    await counts.write()
    listed = await gate.person("otto", Role.AUDITOR).get("/audit?event_type=request.refused")
    assert "GET 10.1.2.3/&lt;script&gt;" in listed.text
    assert "and 2 more" in listed.text
    assert "CONNECT 10.9.9.9:8443</td>" in listed.text
    assert "<script>alert" not in listed.text
    assert "\u202e" not in listed.text


async def test_blank_fields_are_left_out_of_the_address(gate) -> None:
    await _called(gate)
    answer = await gate.person().get("/audit?event_type=&tool=write&search=&start_date=")
    assert (answer.status_code, answer.headers["location"]) == (303, "/audit?tool=write")
    assert _rows((await gate.person().get("/audit?tool=write")).text)


@pytest.mark.parametrize("query", ["event_type=no.such", "tool=No+Tool", "cursor=x", "start_date=soon", "planet=mars"])
async def test_what_cannot_be_asked_is_refused_on_a_page(gate, query: str) -> None:
    answer = await gate.person().get(f"/audit?{query}")
    assert answer.status_code in (400, 404)
    assert "Headgate cannot show this page" in answer.text


async def _verified(person, form: dict[str, str]) -> str:
    """The page as soon as the verification that this form starts has ended."""
    started = await person.post("/audit/checkpoints", data=form)
    assert (started.status_code, started.headers["location"]) == (303, "/audit/checkpoints")
    while "<progress" in (shown := (await person.get("/audit/checkpoints")).text):
        await asyncio.sleep(0.05)
    return str(shown)


async def test_verify(gate) -> None:
    await _called(gate)
    person = gate.person()
    assert "Verify the log" in (await person.get("/audit/checkpoints")).text
    shown = await _verified(person, {"start_date": "", "checkpoint": ""})
    assert "Valid</span>" in shown
    assert "started by" in shown
    refused = await person.post("/audit/checkpoints", data={"start_date": "2026-02-01", "end_date": "2026-01-01"})
    assert (refused.status_code, "end_date is before" in refused.text) == (400, True)


async def test_a_row_that_was_changed_is_said(gate, superuser) -> None:
    action_id = await _called(gate)
    person = gate.person()
    assert (await person.get(f"/audit?action_id={action_id}")).status_code == 200  # it is sealed
    superuser.execute("UPDATE actions SET tool = 'other' WHERE action_id = %s", [action_id])
    shown = await _verified(person, {})
    assert "Not valid</span>" in shown
    assert "expected write, found other" in re.sub(r"\s+", " ", shown)


@pytest.mark.parametrize(("role", "status"), [(Role.AUDITOR, 200), (Role.APPROVER, 403), (Role.VIEWER, 403)])
async def test_role_by_role(gate, role: Role, status: int) -> None:
    person = gate.person(role.value, role)
    for path in ("/audit", "/audit/checkpoints"):
        assert (await person.get(path)).status_code == status
    started = await person.post("/audit/checkpoints", data={})
    assert started.status_code == (303 if status == 200 else status)


async def test_what_is_another_organizations_is_not_there(gate) -> None:
    assert (await gate.person().get(f"/audit/{new_id(IdPrefix.EVENT)}")).status_code == 404


async def test_one_verification_at_a_time_and_one_that_lost_its_process(gate, superuser) -> None:
    await _called(gate)
    person, path = gate.person(), "/admin/audit/verification"
    assert (await person.get(path)).status_code == 404
    superuser.execute(
        "INSERT INTO audit_verifications (org_id, run, started_by, started_at, told_at, events, verified)"
        " VALUES (%s, 'other', %s, now(), now(), 90, 30)",
        [gate.org_id, _HOSTILE],
    )
    assert (await person.get(path)).json()["state"] == "running"
    shown = (await person.get("/audit/checkpoints")).text
    assert "30 of 90 events verified" in shown
    assert "<script>alert" not in shown
    refused = await person.post("/audit/checkpoints", data={})
    assert (refused.status_code, "is already running" in refused.text) == (409, True)
    superuser.execute("UPDATE audit_verifications SET told_at = now() - interval '1 minute'")
    assert (await person.get(path)).json()["state"] == "interrupted"
    assert "Not finished</span>" in (await person.get("/audit/checkpoints")).text
    assert "Valid</span>" in await _verified(person, {})
    found = (await person.get(path)).json()
    assert (found["state"], found["result"]["valid"], found["verified"]) == ("finished", True, found["events"])
    assert (await gate.as_agent.get(path)).status_code in (401, 403)


async def test_events_by_actor_approval_number_hash_and_time(gate, new_gate) -> None:
    action_id = await _called(gate)
    await _called(gate)
    held = (await gate.person().get(f"/v1/actions/{action_id}")).json()["approval_id"]
    await gate.person("ann", Role.APPROVER).post(f"/v1/approvals/{held}/deny", json={"reason": "no"})
    otto = gate.person("otto", Role.AUDITOR)

    async def found(**query: object) -> list[dict]:
        answer = await otto.get("/admin/audit", params=query)
        assert answer.status_code == 200, answer.text
        page = await otto.get("/audit", params=query)
        assert _rows(page.text) == [one["id"] for one in answer.json()["data"]]
        return answer.json()["data"]

    assert {one["action_id"] for one in await found(approval_id=held)} == {action_id}
    assert await found(approval_id=held, action_id=new_id(IdPrefix.ACTION)) == []
    assert await found(approval_id=new_id(IdPrefix.APPROVAL)) == []
    [denied] = await found(approval_id=held, actor="ANN@example")
    assert denied["event_type"] == "approval.denied"
    assert await found(actor="nobody.of.this.name") == []
    assert await found(seq=denied["seq"]) == [denied]
    assert await found(hash=denied["hash"]) == await found(hash=denied["hash"].removeprefix("sha256:")) == [denied]
    at = denied["created_at"]
    assert denied in await found(start_date=at, end_date=at)
    assert denied not in await found(start_date="2026-01-01T00:00", end_date="2026-01-01T12:30")

    shown = (await otto.get("/audit?start_date=2026-11-24T08:15&end_date=2026-11-25&actor=ann")).text
    assert 'name="start_date" value="2026-11-24T08:15"' in shown
    assert 'name="end_date" value="2026-11-25T23:59"' in shown
    assert 'name="actor" value="ann"' in shown

    stranger = (await new_gate()).person("otto", Role.AUDITOR)
    for query in ({"approval_id": held}, {"hash": denied["hash"]}, {"actor": "ann@example.com"}):
        assert (await stranger.get("/admin/audit", params=query)).json()["data"] == [], query
    assert denied not in (await stranger.get("/admin/audit", params={"seq": denied["seq"]})).json()["data"]


@pytest.mark.parametrize(
    "query",
    ["seq=0", "seq=x", "hash=abc", "actor=ab", "approval_id=apr_1", "actor=ann&total=exact", "offset=1&actor=ann"],
)
async def test_a_filter_that_is_none_is_refused(gate, query: str) -> None:
    assert (await gate.person().get(f"/admin/audit?{query}")).status_code in (400, 404)


async def test_an_event_of_no_call_has_no_call_in_its_row(gate) -> None:
    assert (await gate.person().post("/admin/agents", json={"name": "Courier"})).is_success
    shown = await gate.person().get("/audit?event_type=agent.created")
    assert shown.status_code == 200, shown.text
    assert "Courier" in shown.text
