"""Policies: saved, checked, compared, put back, and refused with the line where they are wrong."""

import asyncio
import html
import re

import pytest

from headgate.configuration.resources import resource_path
from headgate.organizations.model import Role

_REGO = 'package a\n\nrequire_approval contains "ask" if input.tool == "stripe"\n'
_BAD = "package a\nallow if {\n  input.x = \n}\n"


def _form(**changes: str) -> dict[str, str]:
    return {
        "act": "save",
        "name": "Ask",
        "priority": "50",
        "mode": "enforce",
        "enabled": "on",
        "rego_policy": _REGO,
    } | (changes)


async def _saved(gate) -> str:
    done = await gate.person().post("/policies/new", data=_form())
    assert done.status_code == 303, html.unescape(done.text)
    return str(done.headers["location"])


async def test_a_policy_from_its_form_to_its_end(gate) -> None:
    person, path = gate.person(), await _saved(gate)
    shown = (await person.get(path)).text
    assert "require_approval contains" in shown
    changed = _form(rego_policy=_REGO.replace("stripe", "wise"), version="1", change_note="<b>moved</b>", priority="60")
    assert (await person.post(path, data=changed)).status_code == 303
    compared = re.sub(r"<[^>]+>", "", html.unescape((await person.get(f"{path}?version=2&since=1")).text))
    assert '-require_approval contains "ask" if input.tool == "stripe"' in compared
    assert '+require_approval contains "ask" if input.tool == "wise"' in compared
    assert "&lt;b&gt;moved" in (await person.get(path)).text
    assert (await person.post(path, data={"act": "disable", "version": "2"})).status_code == 303
    assert (await person.get(f"/admin{path}")).json()["enabled"] is False
    assert (await person.post(path, data={"act": "restore", "restore_version": "1", "version": "3"})).status_code == 303
    restored = (await person.get(f"/admin{path}")).json()
    assert (restored["version"], restored["priority"], "stripe" in restored["rego_policy"]) == (4, 50, True)
    gone = await person.post(path, data={"act": "delete", "version": "4"})
    assert (gone.status_code, gone.headers["location"]) == (303, "/policies")
    assert (await person.get(path)).status_code == 404


async def test_bad_rego_is_refused_with_its_line_and_what_was_typed_stays(gate) -> None:
    for path in ("/policies/new", await _saved(gate)):
        for act in ("save", "check", "replay"):
            answer = await gate.person().post(path, data=_form(act=act, rego_policy=_BAD, span="1", version="1"))
            assert answer.status_code == 400
            assert "Line 3:" in answer.text
            assert "\n" + html.escape(_BAD, quote=True) in answer.text


async def test_a_check_stores_nothing(gate) -> None:
    answer = await gate.person().post("/policies/new", data=_form(act="check"))
    assert (answer.status_code, "It is not saved" in answer.text) == (200, True)
    assert "Ask" not in [one["name"] for one in (await gate.person().get("/admin/policies")).json()["data"]]


async def test_the_effect_on_recorded_calls(gate) -> None:
    call = {"tool": "write", "operation": "line", "params": {}}
    await gate.as_agent.post("/v1/actions", json=call)
    refuse = 'package a\n\ndeny contains "no" if input.tool == "write"\n'
    person = gate.person()
    answer = await person.post("/policies/new", data=_form(act="replay", span="1", rego_policy=refuse, priority="1"))
    while "<progress" in answer.text:  # it goes on behind the page where it takes longer than a moment
        await asyncio.sleep(0.05)
        answer = await person.get("/policies/effect")
    shown = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text))
    assert "1 calls evaluated again, 1 with a different decision" in shown
    assert "write.line" in shown


async def test_the_version_that_it_was_read_at_counts(gate) -> None:
    path = await _saved(gate)
    assert (await gate.person().post(path, data=_form(version="1", priority="51"))).status_code == 303
    late = await gate.person().post(path, data=_form(version="1", priority="52"))
    assert late.status_code == 409
    assert 'value="52"' in late.text


@pytest.mark.parametrize("act", ["disable", "enable", "restore", "delete"])
async def test_a_button_of_an_old_page_changes_nothing(gate, act: str) -> None:
    path, person = await _saved(gate), gate.person()
    assert (await person.post(path, data=_form(version="1", priority="51"))).status_code == 303
    late = await person.post(path, data={"act": act, "version": "1", "restore_version": "1"})
    assert late.status_code in {409, 412}
    assert "version 1 is not the newest: version 2 is" in late.text
    kept = (await person.get(f"/admin{path}")).json()
    assert (kept["version"], kept["enabled"], kept["priority"]) == (2, True, 51)
    for unnamed in ({"act": act, "restore_version": "1"}, {"act": act, "restore_version": "1", "version": "x"}):
        assert (await person.post(path, data=unnamed)).status_code == 400


async def test_versions_page_by_page_and_any_two_compared(gate) -> None:
    path, person = await _saved(gate), gate.person()
    for version in range(1, 22):
        assert (await person.post(path, data=_form(version=str(version), priority=str(version)))).status_code == 303
    newest = (await person.get(path)).text
    assert ("Version 22<" in newest, "Version 2<" in newest, f"{path}?start=20" in newest) == (True, False, True)
    oldest = (await person.get(f"{path}?start=20")).text
    assert ("Version 22<" in oldest, "Version 2<" in oldest, f"{path}?start=0" in oldest) == (False, True, True)
    compared = (await person.get(f"{path}?version=20&since=3")).text
    assert "Changes since version 3" in compared
    assert "<dt>priority</dt>" in compared


@pytest.mark.parametrize(
    ("role", "sees", "writes"), [(Role.VIEWER, 200, 403), (Role.AUDITOR, 200, 403), (Role.APPROVER, 200, 403)]
)
async def test_role_by_role(gate, role: Role, sees: int, writes: int) -> None:
    path, person = await _saved(gate), gate.person(role.value, role)
    assert (await person.get("/policies")).status_code == sees
    page = await person.get(path)
    assert (page.status_code, "<textarea" in page.text) == (sees, False)
    assert (await person.post(path, data=_form(version="1"))).status_code == writes
    assert (await person.get("/policies/new")).status_code == writes
    assert (await person.post("/policies", data={})).status_code == writes


async def test_what_the_editor_asks_while_somebody_types(gate) -> None:
    person = gate.person()
    wrong = await person.post("/policies/check", data=_form(rego_policy=_BAD))
    assert (wrong.json()["line"], wrong.json()["column"]) == (3, 11)
    assert (await person.post("/policies/check", data=_form())).json() == {"message": None}
    assert (await person.post("/policies/check", data=_form(priority="x"))).json()["line"] is None


async def test_cases_run_beside_the_draft_and_nothing_is_stored(gate) -> None:
    cases = (
        "- name: ask\n  input: {tool: stripe, operation: pay}\n  expect: {decision: require_approval}\n"
        "- name: <b>wrong</b>\n  input: {tool: other, operation: pay}\n  expect: {decision: allow}\n"
    )
    answer = await gate.person().post("/policies/new", data=_form(act="test", cases=cases))
    assert (answer.status_code, "1 of 2 passed" in answer.text, "&lt;b&gt;wrong" in answer.text) == (200, True, True)
    assert "\n" + html.escape(cases, quote=True) in answer.text
    assert "Ask" not in [one["name"] for one in (await gate.person().get("/admin/policies")).json()["data"]]


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        ("- a: [", "not acceptable YAML"),
        ("x: 1", "cases"),
        ("- &a {name: a, input: {tool: t, operation: o}, expect: {}}\n- *a\n", "without aliases"),
        ("a" * 70_000, "at most 65536 characters"),
        ("- name: a\n  input: {tool: t}\n  expect: {}", "operation"),
    ],
)
async def test_cases_that_cannot_be_read(gate, cases: str, said: str) -> None:
    answer = await gate.person().post("/policies/new", data=_form(act="test", cases=cases))
    assert (answer.status_code, said in html.unescape(answer.text)) == (400, True)


async def test_every_example_passes_its_cases(gate) -> None:
    person = gate.person()
    examples = (await person.get("/admin/policies/examples")).json()["data"]
    assert len(examples) == len([*resource_path("policies", "examples").glob("*.cases.yaml")])
    for one in examples:
        page = await person.get(f"/policies/new?example={one['id']}")
        assert (page.status_code, one["cases"] in html.unescape(page.text)) == (200, True)
        form = _form(act="test", name=one["name"], rego_policy=one["rego_policy"], cases=one["cases"])
        shown = (await person.post("/policies/new", data=form)).text
        assert re.search(r">Passed<", re.sub(r"<svg.*?</svg>", "", shown)), one["id"]
    assert (await person.get("/policies/new?example=none")).status_code == 404


async def test_a_policy_that_only_watches_shows_what_it_would_have_done(gate) -> None:
    made = await gate.person().post("/policies/new", data=_form(mode="shadow"))
    assert "Shadow results" in (await gate.person().get(made.headers["location"])).text


@pytest.mark.parametrize("decision", ["allow", "require_approval", "deny"])
async def test_a_draft_about_one_recorded_call(gate, decision: str) -> None:
    """Its own cases pass, and what the agent wrote cannot end the comment that it stands in."""
    hostile = 'x"\n}\nallow := true\n# \u202e'
    call = {"tool": "write", "operation": "line", "params": {"to": hostile, "amount": 3}}
    made = (await gate.as_agent.post("/v1/actions", json=call)).json()
    action_id = made["id"]
    person = gate.person()
    assert f"from={action_id}" in (await person.get(f"/calls/{action_id}")).text
    found = (await person.post("/admin/policies/draft", json={"action_id": action_id, "decision": decision})).json()
    assert "allow := true\n" not in found["rego_policy"]
    tested = {"name": "d", "rego_policy": found["rego_policy"], "cases": found["cases"]}
    report = (await person.post("/admin/policies/test", json={"policies": [tested]})).json()
    assert (report["passed"], len(report["results"])) == (True, 2)
    page = await person.get(f"/policies/new?from={action_id}&decision={decision}")
    assert (page.status_code, 'input.operation == "line"' in html.unescape(page.text)) == (200, True)
    [cases] = re.findall(r'name="cases"[^>]*>\n?(.*?)</textarea>', page.text, re.S)
    form = _form(act="test", rego_policy=found["rego_policy"], cases=html.unescape(cases))
    assert "2 of 2 passed" in (await person.post("/policies/new", data=form)).text


async def test_a_draft_is_of_ones_own_organization(gate, new_gate) -> None:
    made = (await gate.as_agent.post("/v1/actions", json={"tool": "write", "operation": "line", "params": {}})).json()
    action_id = made["id"]
    other = (await new_gate()).person()
    assert (await other.post("/admin/policies/draft", json={"action_id": action_id})).status_code == 404
    assert (await other.get(f"/policies/new?from={action_id}")).status_code == 404


async def test_the_effect_while_typing_is_of_the_newest_calls(gate) -> None:
    for number in range(3):
        await gate.as_agent.post("/v1/actions", json={"tool": "write", "operation": "line", "params": {"n": number}})
    person = gate.person()
    refuse = 'package a\n\ndeny contains "no" if input.params.n == 2\n'
    asked = await person.post("/policies/check", data=_form(effect="yes", rego_policy=refuse, priority="1"))
    assert re.match(r"The decision changes for 1 of the last 3 calls: 1 \w+ → deny\.", asked.json()["effect"])
    same = await person.post("/policies/check", data=_form(effect="yes"))
    assert same.json() == {"effect": "No decision changes for the last 3 calls."}
    bad = await person.post("/policies/check", data=_form(effect="yes", rego_policy=_BAD))
    assert (bad.status_code, bad.json()["line"]) == (200, 3)
    newest = {"rego_policy": refuse, "newest": 1, "priority": 1}
    report = (await person.post("/admin/policies/replay", json=newest)).text.splitlines()[-1]
    assert ('"replayed":1' in report.replace(" ", ""), '"changed":1' in report.replace(" ", "")) == (True, True)
