"""The overview: figures over a time, in the API and in a page, for everybody who may read actions."""

import html
import re
from datetime import datetime
from itertools import pairwise

import pytest

from headgate.actions import overview
from headgate.agents.scopes import Scope
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role


async def _called(gate, tool: str, count: int = 1) -> list[dict]:
    body = {"tool": tool, "operation": "rows", "params": {}}
    return [(await gate.as_agent.post("/v1/actions", json=body)).json() for _ in range(count)]


async def _figures(gate, period: str = "24h") -> dict:
    answer = await gate.person().get("/admin/overview", params={"range": period})
    assert answer.status_code == 200
    return answer.json()


async def test_calls_by_decision_agent_tool_and_policy(gate) -> None:
    await _called(gate, "read", 3)
    await _called(gate, "write", 2)
    denied = (await _called(gate, "wipe"))[0]
    await _called(gate, "unknown")
    found = await _figures(gate)
    assert found["total"] == {"calls": 7, "allowed": 3, "held": 2, "denied": 2, "failed": 0}
    assert found["is_minimum"] is False
    assert [(one["agent_id"], one["name"], one["calls"]) for one in found["agents"]] == [(gate.agent_id, "Robot", 7)]
    assert [(one["tool"], one["calls"]) for one in found["tools"]][:2] == [("read", 3), ("write", 2)]
    assert {(one["policy_id"], one["name"], one["calls"]) for one in found["denied_by"]} == {
        (denied["decision"]["policy_id"], "gate", 1),
        (None, None, 1),
    }


@pytest.mark.parametrize(
    ("executions", "failed"),
    [
        ([], 0),
        ([("failed", "connection refused")], 1),
        ([("queued", None)], 0),
        ([("queued", "connection refused")], 1),
        ([("failed", "connection refused"), ("running", None)], 0),
        ([("succeeded", None), ("failed", None)], 1),
    ],
)
async def test_failed_calls_are_those_that_the_search_finds(gate, superuser, executions, failed: int) -> None:
    """Of an approved call of which nothing was sent the status is approved: its approval can be used again."""
    [held], person = await _called(gate, "write"), gate.person()
    await _called(gate, "read")
    assert (await person.post(f"/v1/approvals/{held['approval_id']}/approve")).status_code == 200
    ids = sorted(new_id(IdPrefix.EXECUTION) for _ in executions)  # those of one millisecond come in any order
    for execution_id, (status, error) in zip(ids, executions, strict=True):
        superuser.execute(
            "INSERT INTO executions (org_id, execution_id, action_id, status, error) VALUES (%s, %s, %s, %s, %s)",
            [gate.org_id, execution_id, held["id"], status, error],
        )
    found = (await person.get("/v1/actions/search", params={"status": "failed"})).json()["data"]
    assert [one["id"] for one in found] == [held["id"]] * failed
    figures = await _figures(gate)
    assert figures["total"] == {"calls": 2, "allowed": 1, "held": 1, "denied": 0, "failed": failed}
    assert [one["failed"] for one in figures["tools"] if one["tool"] == "write"] == [failed]
    assert f'q=status%3Afailed"><b>{failed}</b>' in (await person.get("/overview")).text


@pytest.mark.parametrize(
    ("period", "steps", "seconds"), [("1h", 60, 60), ("24h", 48, 1800), ("7d", 42, 14_400), ("30d", 30, 86_400)]
)
async def test_equal_steps_cover_the_whole_time(gate, period: str, steps: int, seconds: int) -> None:
    await _called(gate, "read")
    found = await _figures(gate, period)
    starts = [datetime.fromisoformat(one["at"]) for one in found["steps"]]
    assert len(starts) == steps
    assert {(later - earlier).total_seconds() for earlier, later in pairwise(starts)} == {seconds}
    assert [one["calls"] for one in found["steps"]] == [0] * (steps - 1) + [1]


async def test_the_median_is_of_what_people_decided(gate) -> None:
    held = await _called(gate, "write", 2)
    assert (await _figures(gate))["holds"] == {
        "open": 2, "approved": 0, "denied": 0, "expired": 0, "median_seconds": None, "is_minimum": False
    }  # fmt: skip
    await gate.person().post(f"/v1/approvals/{held[0]['approval_id']}/approve")
    holds = (await _figures(gate))["holds"]
    assert (holds["open"], holds["approved"]) == (1, 1)
    assert 0 <= holds["median_seconds"] < 60


async def test_where_there_are_more_calls_than_are_looked_at_it_says_so(gate, monkeypatch) -> None:
    monkeypatch.setattr(overview, "LOOKED_AT_MAX", 48 * 2)
    await _called(gate, "read", 3)
    found = await _figures(gate)
    assert (found["total"]["calls"], found["is_minimum"]) == (2, True)
    shown = html.unescape((await gate.person().get("/overview")).text)
    assert "<b>2+</b>" in shown


async def test_where_there_are_more_requests_than_are_looked_at_it_says_so(gate, monkeypatch) -> None:
    monkeypatch.setattr(overview, "APPROVALS_MAX", 2)
    await _called(gate, "write", 3)
    holds = (await _figures(gate))["holds"]
    assert (holds["open"], holds["is_minimum"]) == (2, True)
    assert '<dd class="big">2+</dd>' in (await gate.person().get("/overview")).text


async def test_the_page_shows_the_figures_and_the_health(gate) -> None:
    await _called(gate, "read", 2)
    await _called(gate, "wipe")
    for period in ("1h", "24h", "7d", "30d"):
        shown = await gate.person().get("/overview", params={"range": period})
        assert shown.status_code == 200
        text = html.unescape(re.sub(r"<[^>]+>", " ", shown.text))
        for word in ("Robot", "read.rows", "gate", "Database", "Version", "Median time to decision"):
            assert word in text, (period, word)
        assert "style=" not in shown.text
    assert (await gate.person().get("/overview?range=2y")).status_code == 404


async def test_an_empty_organization_is_told_how_to_begin(gate) -> None:
    assert "headgate run -- curl" in (await gate.person().get("/overview")).text


async def test_the_last_hour_stands_above_the_calls(gate) -> None:
    await _called(gate, "wipe", 2)
    person = gate.person()
    assert 'aria-label="Last hour, per minute"' in (await person.get("/activity")).text
    assert 'aria-label="Last hour, per minute"' not in (await person.get("/activity?q=tool:wipe")).text


@pytest.mark.parametrize(("role", "status"), [(Role.VIEWER, 200), (Role.AUDITOR, 200), (Role.OPERATOR, 403)])
async def test_role_by_role(gate, role: Role, status: int) -> None:
    person = gate.person(role.value, role)
    assert (await person.get("/overview")).status_code == status
    assert (await person.get("/admin/overview")).status_code == status


async def test_another_organizations_calls_are_not_counted(gate, new_gate) -> None:
    other = await new_gate()
    await _called(other, "read")
    assert (await _figures(gate))["total"]["calls"] == 0
    lacking = await gate.key(Scope.AUDIT_READ)
    assert (await lacking.get("/admin/overview")).status_code == 403


async def test_denials_have_their_reasons(gate) -> None:
    await _called(gate, "wipe", 2)
    [denied] = (await _figures(gate))["denied_by"]
    assert denied["calls"] == 2
    [why] = denied["reasons"]
    assert (why["reason"], why["calls"]) == ("a policy denies this action", 2)
    assert why["reason"] in (await gate.person().get("/overview")).text


async def test_at_most_three_reasons_of_a_policy_and_none_runs(new_gate) -> None:
    rego = 'package gate\n\ndeny contains concat(" ", ["<b>no</b>", input.operation]) if input.tool == "wipe"\n'
    gate = await new_gate(rego)
    for operation, times in (("one", 1), ("two", 2), ("three", 3), ("four", 4)):
        for _ in range(times):
            await gate.as_agent.post("/v1/actions", json={"tool": "wipe", "operation": operation, "params": {}})
    [denied] = (await _figures(gate))["denied_by"]
    assert [(one["reason"].split()[-1], one["calls"]) for one in denied["reasons"]] == [
        ("four", 4), ("three", 3), ("two", 2),
    ]  # fmt: skip
    assert "<b>no" not in (await gate.person().get("/overview")).text


async def test_what_waits_and_who_works(gate, new_gate, superuser) -> None:
    hook = {"url": "https://hooks.example.com/headgate"}
    webhook_id = (await gate.person().post("/admin/webhooks", json=hook)).json()["id"]
    for status in ("pending", "pending", "delivered"):
        superuser.execute(
            "INSERT INTO deliveries (org_id, delivery_id, target_kind, target_id, event, payload, status, created_at,"
            " give_up_at) VALUES (%s, %s, 'webhook', %s, 'action.submitted', '{}', %s, now() - interval '5 minutes',"
            " now() + interval '1 day')",
            [gate.org_id, new_id(IdPrefix.DELIVERY), webhook_id, status],
        )
    superuser.execute(
        "SELECT beat_instance('ins_a', 'proxy', '9.9.9', NULL), beat_instance('ins_b', 'worker', '9', NULL)"
    )
    superuser.execute("UPDATE instances SET heartbeat_at = now() - interval '1 minute' WHERE instance_id = 'ins_b'")
    try:
        viewer = gate.person("vera", Role.VIEWER)
        found = (await viewer.get("/admin/overview/health")).json()
        assert (found["webhooks"]["waiting"], found["notifications"]) == (2, {"waiting": 0, "oldest_at": None})
        assert found["executions"] == {"waiting": 0, "scheduled": 0, "running": 0, "oldest_seconds": 0.0}
        assert found["siem"] == {"destinations": 0, "failing": 0, "behind": 0}
        states = {(one["kind"], one["version"], one["state"]) for one in found["processes"]}
        assert {("proxy", "9.9.9", "running"), ("worker", "9", "silent")} <= states
        text = html.unescape(re.sub(r"<[^>]+>", " ", (await viewer.get("/overview")).text))
        for words in ("2 waiting, oldest", "version 9.9.9", "not the version of the API", "Silent"):
            assert words in text
        other = (await (await new_gate()).person().get("/admin/overview/health")).json()
        assert other["webhooks"]["waiting"] == 0
    finally:
        superuser.execute("SELECT end_instance('ins_a'), end_instance('ins_b')")


async def test_a_siem_destination_that_is_behind(gate, superuser) -> None:
    destination = {"address": "syslog+tls://siem.example.com"}
    answer = await gate.person().put("/admin/settings/siem", json={"destinations": {"lake": destination}})
    assert answer.status_code == 200, answer.text
    await _called(gate, "read", 2)
    superuser.execute("UPDATE event_streams SET failing_since = now(), failure = 'x' WHERE org_id = %s", [gate.org_id])
    siem = (await gate.person("vera", Role.VIEWER).get("/admin/overview/health")).json()["siem"]
    assert (siem["destinations"], siem["failing"]) == (1, 1)
    assert siem["behind"] > 0
    shown = (await gate.person("vera", Role.VIEWER).get("/overview")).text
    assert "1 of 1 failing" in shown
    assert "siem.example.com" not in shown


@pytest.mark.parametrize(
    ("role", "status"), [(Role.APPROVER, 200), (Role.VIEWER, 200), (Role.AUDITOR, 200), (Role.OPERATOR, 403)]
)
async def test_the_backlogs_role_by_role(gate, role: Role, status: int) -> None:
    assert (await gate.person(role.value, role).get("/admin/overview/health")).status_code == status
    assert (await gate.as_agent.get("/admin/overview/health")).status_code == 403
