"""/admin/audit: what was recorded a moment ago is there, filtered, in either shape, and verifies."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from headgate.agents.scopes import Scope
from headgate.audit.chain import genesis
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role


@pytest.fixture
async def decided(gate) -> dict:
    """One action, held and approved."""
    held = (await gate.as_agent.post("/v1/actions", json={"tool": "write", "operation": "rows", "params": {}})).json()
    await gate.person().post(f"/v1/approvals/{held['approval_id']}/approve", json={"comment": "fine"})
    return held


async def test_an_action_leaves_its_events(gate, decided: dict) -> None:
    auditor = gate.person("olga", Role.AUDITOR)
    page = (await auditor.get("/admin/audit", params={"action_id": decided["id"]})).json()
    events = page["data"][::-1]
    assert [event["event_type"] for event in events] == [
        "action.submitted", "decision.made", "approval.requested", "approval.approved",
    ]  # fmt: skip
    assert page["pagination"] == {"total": 4, "limit": 50, "offset": 0, "next_cursor": None}
    for event in events:
        assert {"id", "event_type", "action_id", "agent_id", "data", "hash", "prev_hash", "created_at"} <= set(event)
        assert event["agent_id"] == gate.agent_id
        assert event["hash"].startswith("sha256:")
        assert len(event["hash"]) == 71
    assert events[0]["actor"] == {"type": "agent", "id": gate.agent_id, "name": "Robot"}
    assert (events[3]["actor"]["type"], events[3]["actor"]["name"]) == ("user", "alice@example.com")
    assert events[3]["data"]["comment"] == "fine"

    one = (await auditor.get(f"/admin/audit/{events[3]['id']}")).json()
    assert one == events[3]
    camel = (await auditor.get(f"/admin/audit/{events[3]['id']}?shape=camel")).json()
    assert camel == {
        "id": one["id"], "eventType": "approval.approved", "entityType": "approval",
        "entityId": decided["approval_id"], "actor": one["actor"], "metadata": one["data"], "hash": one["hash"],
        "prevHash": one["prev_hash"], "createdAt": one["created_at"],
    }  # fmt: skip
    listed = (await auditor.get("/admin/audit", params={"shape": "camel", "event_type": "approval.approved"})).json()
    assert listed == {"data": [camel], "pagination": {"total": 1, "page": 1, "pageSize": 50, "totalPages": 1}}


async def test_the_first_event_follows_genesis(gate, decided: dict) -> None:
    everything = (await gate.person().get("/admin/audit?limit=200")).json()["data"]
    assert everything[-1]["seq"] == 1
    assert [event["prev_hash"] for event in everything[:-1]] == [event["hash"] for event in everything[1:]]
    assert everything[-1]["prev_hash"] == "sha256:" + genesis(gate.org_id).hex()


async def test_filters(gate, decided: dict) -> None:
    admin, today = gate.person(), datetime.now(UTC).date()
    yesterday = today - timedelta(days=1)

    async def total(**query: str) -> int:
        answer = await admin.get("/admin/audit", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()["pagination"]["total"]

    everything = await total()
    assert everything >= 6
    assert await total(risk_level="high") == 4
    assert await total(risk_level="low") == 0
    assert await total(agent_id=gate.agent_id, event_type="decision.made") == 1
    assert await total(agent_id=new_id(IdPrefix.AGENT)) == 0
    # A date alone is the whole day, at either end.
    assert await total(start_date=str(yesterday), end_date=str(today + timedelta(days=1))) == everything
    assert await total(end_date=str(yesterday)) == 0
    assert await total(start_date="2026-01-01T00:00:00+02:00") == everything
    answer = await admin.get("/admin/audit?start_date=2026-01-01T00:00:00+02:00")  # "+" not encoded
    assert answer.json()["pagination"]["total"] == everything


@pytest.mark.parametrize(
    "query",
    [
        "start_date=yesterday", "end_date=2026-13-01", "start_date=2026-02-02&end_date=2026-02-01",
        "start_date=0001-01-01T00:00:00%2B14:00", "event_type=x", "event_type=%00", "action_id=x", "agent_id=%00",
        "risk_level=huge", "cursor=x", "limit=201",
    ],
)  # fmt: skip
async def test_bad_queries_are_refused(gate, query: str) -> None:
    answer = await gate.person().get(f"/admin/audit?{query}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")


async def test_verification_of_everything_and_of_a_range(gate, decided: dict) -> None:
    admin = gate.person()
    everything = (await admin.post("/admin/audit/verify")).json()
    events = (await admin.get("/admin/audit?limit=200")).json()["data"]
    assert everything == {
        "valid": True, "events_verified": len(events), "first_event": events[-1]["id"], "last_event": events[0]["id"],
        "chain_start_hash": events[-1]["hash"], "chain_end_hash": events[0]["hash"], "payloads_erased": 0,
        "fault": None,
    }  # fmt: skip
    before = {"end_date": "2020-01-01"}
    nothing = (await admin.post("/admin/audit/verify", json=before)).json()
    assert (nothing["valid"], nothing["events_verified"], nothing["first_event"]) == (True, 0, None)
    today = {"start_date": str(datetime.now(UTC).date() - timedelta(days=1))}
    assert (await admin.post("/admin/audit/verify", json=today)).json() == everything
    for bad in ({"start_date": "x"}, {"more": 1}, {"start_date": "2026-02-02", "end_date": "2026-02-01"}):
        assert (await admin.post("/admin/audit/verify", json=bad)).status_code == 400


async def test_verification_names_the_first_bad_event(
    gate, decided: dict, superuser: psycopg.Connection[tuple[object, ...]]
) -> None:
    admin = gate.person()
    third = (await admin.get("/admin/audit?limit=200")).json()["data"][-3]
    superuser.execute(
        "UPDATE audit_events SET payload = replace(payload, 'data', 'tada') WHERE org_id = %s AND seq >= 3",
        [gate.org_id],
    )
    result = (await admin.post("/admin/audit/verify")).json()
    assert (result["valid"], result["events_verified"], result["last_event"] is None) == (False, 2, False)
    assert result["fault"] == {
        "seq": 3, "event_id": third["id"], "reason": "payload_changed",
        "message": "the payload is not the one that was sealed",
    }  # fmt: skip


async def test_only_auditors_read_the_record(gate) -> None:
    for client in (
        gate.person("vera", Role.VIEWER),
        gate.person("ben", Role.APPROVER),
        await gate.key(Scope.ACTIONS_READ),
    ):
        for answer in (await client.get("/admin/audit"), await client.post("/admin/audit/verify")):
            assert answer.status_code == 403
            assert "audit:read" in answer.json()["error"]["message"]
    assert (await gate.as_agent.get("/admin/audit")).status_code == 401


async def test_another_organizations_event_does_not_exist(gate, new_gate, decided: dict) -> None:
    event = (await gate.person().get("/admin/audit")).json()["data"][0]
    stranger = (await new_gate()).person()
    assert (await stranger.get(f"/admin/audit/{event['id']}")).status_code == 404
    listed = (await stranger.get("/admin/audit", params={"action_id": decided["id"]})).json()
    assert listed["data"] == []
