"""Calls: found by what they say, shown from submission to outcome, and explained where they were denied."""

import html
import re

import pytest

from headgate.agents.scopes import Scope
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role

_HOSTILE = "<script>alert(1)</script>\u202e"


async def _called(gate, **params: object) -> str:
    body = {"tool": "write", "operation": "line", "params": params}
    return str((await gate.as_agent.post("/v1/actions", json=body)).json()["id"])


def _rows(text: str) -> list[str]:
    return re.findall(r'data-row="(act_[^"]+)"', text)


async def test_the_newest_first_and_what_is_looked_for(gate) -> None:
    first, second = await _called(gate, text="red invoice"), await _called(gate, text="blue")
    person = gate.person()
    assert _rows((await person.get("/activity")).text) == [second, first]
    for query, found in (
        ("INVOICE", [first]),
        ("tool:write operation:line blue", [second]),
        ("tool:other", []),
        ("decision:hold", [second, first]),
        ("decision:deny", []),
        ("status:pending_approval red", [first]),
        ("host:example.com", []),
    ):
        shown = await person.get("/activity", params={"q": query})
        assert (shown.status_code, _rows(shown.text)) == (200, found), query


async def test_a_filter_that_cannot_be_read_says_which_word(gate) -> None:
    answer = await gate.person().get("/activity", params={"q": "planet:mars"})
    assert answer.status_code == 400
    assert "unknown filter 'planet'" in html.unescape(answer.text)
    assert 'value="planet:mars"' in answer.text
    nobody = await gate.person().get("/activity", params={"q": "agent:nobody"})
    assert nobody.status_code == 404


async def test_an_identifier_goes_to_what_it_names(gate) -> None:
    action_id = await _called(gate)
    answer = await gate.person().get("/activity", params={"q": f" {action_id} "})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/calls/{action_id}")


async def test_a_call_shows_all_of_it_and_nothing_runs(gate) -> None:
    action_id = await _called(gate, text=_HOSTILE)
    page = await gate.person().get(f"/calls/{action_id}")
    assert "<script>alert" not in page.text
    assert "U+202E</span>" in page.text
    assert "The call waits for an approval" in page.text
    assert f"/admin/audit/actions/{action_id}/proof-pack" in page.text


async def test_why_was_this_denied(gate) -> None:
    action_id = await _called(gate)
    approval_id = (await gate.person().get(f"/v1/actions/{action_id}")).json()["approval_id"]
    await gate.person().post(f"/v1/approvals/{approval_id}/deny", json={"reason": "ask me first"})
    shown = html.unescape((await gate.person("vera", Role.VIEWER).get(f"/calls/{action_id}")).text)
    assert "A reviewer denied the call" in shown
    assert "ask me first" in shown
    assert "proof-pack" not in shown


async def test_each_policys_say_is_named_and_not_told_to_the_agent(gate) -> None:
    wiped = await gate.as_agent.post("/v1/actions", json={"tool": "wipe", "operation": "line", "params": {}})
    action_id = wiped.json()["id"]
    [said] = (await gate.person().get(f"/v1/actions/{action_id}?expand=all")).json()["policies"]
    assert (said["name"], said["version"], said["decision"]) == ("gate", 1, "deny")
    assert (await gate.as_agent.get(f"/v1/actions/{action_id}?expand=all")).json()["policies"] is None
    shown = html.unescape((await gate.person("vera", Role.VIEWER).get(f"/calls/{action_id}")).text)
    assert "The policy “gate” denies the call." in shown
    assert f'<a href="/policies/{said["policy_id"]}">gate</a>' in shown


async def test_delegation_leads_to_the_calls_around(gate) -> None:
    parent = await _called(gate, text="parent")
    body = {"tool": "write", "operation": "line", "params": {"text": "child"}, "parentActionId": parent}
    child = (await gate.as_agent.post("/v1/actions", json=body)).json()["id"]
    person = gate.person()
    assert f'href="/calls/{child}"' in (await person.get(f"/calls/{parent}")).text
    assert f'href="/calls/{parent}"' in (await person.get(f"/calls/{child}")).text


async def test_the_api_finds_the_same_in_pages(gate) -> None:
    ids = [await _called(gate, text="many") for _ in range(5)]
    person, seen, cursor = gate.person(), [], None
    while True:
        wanted = {"text": "many", "limit": 2} | ({} if cursor is None else {"cursor": cursor})
        answer = (await person.get("/v1/actions/search", params=wanted)).json()
        seen += [one["id"] for one in answer["data"]]
        cursor = answer["pagination"]["next_cursor"]
        if cursor is None:
            break
    assert seen == ids[::-1]
    _, key = await gate.api.key(gate.org_id, Scope.AUDIT_READ)
    async with gate.api.client(Authorization=f"Bearer {key}") as lacking:
        assert (await lacking.get("/v1/actions/search")).status_code == 403


async def test_an_agents_key_finds_its_own_only(gate) -> None:
    await _called(gate)
    own = (await gate.as_agent.get("/v1/actions/search")).json()["data"]
    assert {one["agent_id"] for one in own} == {gate.agent_id}
    assert (await gate.as_agent.get("/v1/actions/search?agent=somebody-else")).status_code == 404


@pytest.mark.parametrize(("role", "status"), [(Role.VIEWER, 200), (Role.AUDITOR, 200), (Role.OPERATOR, 403)])
async def test_role_by_role(gate, role: Role, status: int) -> None:
    person = gate.person(role.value, role)
    assert (await person.get("/activity")).status_code == status
    assert (await person.get(f"/calls/{await _called(gate)}")).status_code == status


async def test_an_address_without_a_page_is_told_so_in_a_page(gate) -> None:
    person = gate.person()
    shown = await person.get("/calsl/<b>", headers={"Accept": "text/html,application/xhtml+xml"})
    assert (shown.status_code, shown.headers["content-type"].partition(";")[0]) == (404, "text/html")
    assert "There is no page at /calsl/&lt;b&gt;." in shown.text
    assert (await person.get("/calsl")).json()["error"]["code"] == "NOT_FOUND"


async def test_what_is_another_organizations_is_not_there(gate) -> None:
    assert (await gate.person().get(f"/calls/{new_id(IdPrefix.ACTION)}")).status_code == 404


async def test_a_range_of_time(gate) -> None:
    action_id = await _called(gate)
    person = gate.person()
    at = (await person.get(f"/v1/actions/{action_id}")).json()["created_at"]
    for wanted, found in (
        ({"start_date": at, "end_date": at}, [action_id]),
        ({"start_date": "2000-01-01"}, [action_id]),
        ({"end_date": "2000-01-01"}, []),
        ({"start_date": "9999-12-31"}, []),
        ({"start_date": "0001-01-01", "end_date": "9999-12-31"}, [action_id]),
    ):
        answer = await person.get("/v1/actions/search", params=wanted)
        assert [one["id"] for one in answer.json()["data"]] == found, wanted
    assert (await person.get("/v1/actions/search?start_date=yesterday")).status_code == 400
    assert (await person.get("/v1/actions/search?start_date=2026-02-01&end_date=2026-01-01")).status_code == 400
    for query, rows in (
        ("since:1h", [action_id]),
        ("until:1h", []),
        (f"since:{at} tool:write", [action_id]),
        ("since:2026-99-99", None),
    ):
        shown = await person.get("/activity", params={"q": query})
        assert (shown.status_code, _rows(shown.text)) == ((400, []) if rows is None else (200, rows)), query


async def test_a_call_is_shown_beside_the_list(gate, new_gate) -> None:
    first, second = await _called(gate, text=_HOSTILE), await _called(gate)
    person = gate.person()
    shown = (await person.get("/activity", params={"call": first, "q": "tool:write"})).text
    assert _rows(shown) == [second, first]
    assert f'data-row="{first}" aria-current="true"' in shown
    assert f'href="/activity?q=tool%3Awrite&amp;call={second}"' in shown
    assert "The call waits for an approval" in shown
    assert "<script>alert" not in shown
    other = await new_gate()
    assert (await other.person().get("/activity", params={"call": first})).status_code == 404


async def test_what_the_calls_have_completes_the_filter(gate) -> None:
    await _called(gate)
    shown = html.unescape((await gate.person().get("/activity")).text)
    for one in ("since:", "path~", "decision:hold", "status:failed", "tool:write", "operation:line", "agent:Robot"):
        assert f'<option value="{one}">' in shown
