"""/admin/audit/export: all that a filter finds, as lines, and a record of who took them."""

import csv
import io
import json

import pytest

from headgate.agents.scopes import Scope
from headgate.organizations.model import Role


@pytest.fixture
async def busy(gate) -> list[dict]:
    """Some actions, one of which has a name that a spreadsheet would run."""
    made = [
        (await gate.as_agent.post("/v1/actions", json={"tool": "read", "operation": "rows", "params": {}})).json()
        for _ in range(3)
    ]
    hostile = {"name": '=HYPERLINK("http://evil"),x', "description": "-1+1\r\n@SUM(A1)"}
    assert (await gate.person().post("/admin/agents", json=hostile)).status_code == 201
    return made


async def test_lines_of_json_are_the_list(gate, busy: list[dict]) -> None:
    admin = gate.person()
    listed = (await admin.get("/admin/audit?limit=200")).json()["data"]
    answer = await admin.get("/admin/audit/export")
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["content-disposition"] == 'attachment; filename="audit-events.jsonl"'
    # But for the call, which the list takes from the table of actions and not from the event.
    as_recorded = [{name: value for name, value in one.items() if name != "call"} for one in listed]
    assert [json.loads(line) for line in answer.text.splitlines()] == as_recorded


async def test_a_filter_and_a_search_are_exported_alone(gate, busy: list[dict]) -> None:
    admin = gate.person()
    lines = (await admin.get("/admin/audit/export?tool=read&event_type=decision.made")).text.splitlines()
    assert [json.loads(line)["action_id"] for line in lines] == [one["id"] for one in reversed(busy)]
    (found,) = (await admin.get("/admin/audit/export?search=HYPERLINK&event_type=agent.created")).text.splitlines()
    assert json.loads(found)["event_type"] == "agent.created"
    assert (await admin.get("/admin/audit/export?search=nowhere")).text == ""


async def test_a_spreadsheet_runs_nothing(gate, busy: list[dict]) -> None:
    answer = await gate.person("=cmd|' /C calc'!A0").get("/admin/audit/export?format=csv")
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert {"agent.created", "action.submitted"} <= {row["event_type"] for row in rows}
    cells = [cell for row in rows for cell in row.values()]
    assert not [cell for cell in cells if cell.lstrip()[:1] in ("=", "+", "-", "@")]
    (created,) = [row for row in rows if row["event_type"] == "agent.created" and "HYPERLINK" in row["data"]]
    assert json.loads(created["data"])["name"] == '=HYPERLINK("http://evil"),x'
    again = (await gate.person().get("/admin/audit/export?format=csv&event_type=user.created")).text
    assert "'=cmd|' /C calc'!A0@example.com" in again


async def test_who_took_it_is_recorded(gate, busy: list[dict]) -> None:
    await gate.person("olga", Role.AUDITOR).get("/admin/audit/export?format=csv&tool=read&start_date=2026-01-01")
    (event,) = (await gate.person().get("/admin/audit?event_type=audit.exported")).json()["data"]
    assert event["actor"]["name"] == "olga@example.com"
    assert event["data"]["filters"] == {"tool": "read", "start_date": "2026-01-01"}
    assert (event["data"]["format"], event["data"]["up_to_seq"]) == ("csv", event["seq"] - 1)


async def test_many_stretches_are_one_file(gate, busy: list[dict], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("admin_api.audit.export_routes._STRETCH", 2)
    admin = gate.person()
    listed = (await admin.get("/admin/audit?limit=200")).json()["data"]
    lines = (await admin.get("/admin/audit/export")).text.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [event["id"] for event in listed]


@pytest.mark.parametrize("query", ["format=xlsx", "limit=5", "cursor=1", "tool=Mail", "start_date=x"])
async def test_bad_queries_are_refused_and_leave_no_event(gate, query: str) -> None:
    answer = await gate.person().get(f"/admin/audit/export?{query}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert (await gate.person().get("/admin/audit?event_type=audit.exported")).json()["data"] == []


async def test_only_auditors_take_the_record(gate, new_gate, busy: list[dict]) -> None:
    for client in (gate.person("vera", Role.VIEWER), await gate.key(Scope.ACTIONS_READ)):
        assert (await client.get("/admin/audit/export")).status_code == 403
    stranger = (await (await new_gate()).person().get("/admin/audit/export")).text
    assert gate.org_id not in stranger
    assert busy[0]["id"] not in stranger
