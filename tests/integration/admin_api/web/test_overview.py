"""The overview: figures over a time, in the API and in a page, for everybody who may read actions."""

import html
import re
from datetime import datetime
from itertools import pairwise

import pytest

from headgate.actions import overview
from headgate.agents.scopes import Scope
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
