"""Test cases that are kept with a policy's version: run before it is saved, shown with it, restored with it."""

import pytest

_REGO = 'package mine\n\ndeny contains "too much" if input.params.amount > 100\n'
_CASE = {"name": "a large payment", "input": {"tool": "pay", "operation": "send", "params": {"amount": 200}}}
_PASSES = {**_CASE, "expect": {"decision": "deny"}}
_FAILS = {**_CASE, "expect": {"decision": "allow"}}
_PATH = "/admin/policies"


async def _created(gate, **more: object):
    body = {"name": "Mine", "rego_policy": _REGO, "cases": [_PASSES], **more}
    return await gate.person().post(_PATH, json=body)


async def test_cases_are_kept_with_each_version_and_compared(gate) -> None:
    made = await _created(gate)
    assert made.status_code == 201, made.text
    path, admin = f"{_PATH}/{made.json()['id']}", gate.person()
    other = {**_PASSES, "name": "renamed"}
    changed = await admin.patch(path, json={"cases": [other]})
    assert (changed.status_code, changed.json()["version"], changed.json()["cases"]) == (200, 2, [other])
    assert (await admin.get(f"{path}/versions/1")).json()["policy"]["cases"] == [_PASSES]
    diff = (await admin.get(f"{path}/diff?from=1&to=2")).json()
    assert (diff["diff"], diff["changes"]) == ("", {"cases": {"from": [_PASSES], "to": [other]}})
    restored = await admin.post(f"{path}/restore", json={"version": 1})
    assert (restored.status_code, restored.json()["cases"]) == (200, [_PASSES])
    assert (await admin.get(path)).json()["cases"] == [_PASSES]


async def test_a_failing_case_refuses_and_is_named_unless_it_is_accepted(gate) -> None:
    refused = await _created(gate, cases=[_PASSES, _FAILS | {"name": "a wish"}])
    assert refused.status_code == 400, refused.text
    error = refused.json()["error"]
    assert error["message"].startswith("1 test fails: a wish: ")
    assert [one["name"] for one in error["details"]["failing"]] == ["a wish"]
    assert (await gate.person().get(f"{_PATH}?name=Mine")).json()["data"] == []
    accepted = await _created(gate, cases=[_FAILS], accept_failing_cases=True)
    assert accepted.status_code == 201, accepted.text
    path = f"{_PATH}/{accepted.json()['id']}"
    # A policy can always be switched off: a change that touches neither the Rego nor the cases runs none.
    assert (await gate.person().patch(path, json={"enabled": False})).status_code == 200
    rego = _REGO.replace("100", "150")
    assert (await gate.person().patch(path, json={"rego_policy": rego})).status_code == 400
    assert (await gate.person().patch(path, json={"rego_policy": rego, "cases": []})).status_code == 200


async def test_a_new_text_is_run_with_the_cases_of_before(gate) -> None:
    path = f"{_PATH}/{(await _created(gate)).json()['id']}"
    weaker = _REGO.replace("100", "1000")
    body = {"name": "Mine", "rego_policy": weaker}
    assert (await gate.person().put(path, json=body)).status_code == 400
    replaced = await gate.person().put(path, json={**body, "accept_failing_cases": True})
    assert (replaced.status_code, replaced.json()["cases"]) == (200, [_PASSES])


@pytest.mark.parametrize(
    "cases", [[{"name": "no input"}], [{"unknown": 1}], ["text"], [{**_PASSES, "note": "x" * 70_000}], [_PASSES] * 501]
)
async def test_cases_that_cannot_be_read(gate, cases: list[object]) -> None:
    for accepts in (False, True):
        assert (await _created(gate, cases=cases, accept_failing_cases=accepts)).status_code == 400


async def test_the_page_saves_and_shows_them(gate) -> None:
    path = f"/policies/{(await _created(gate)).json()['id']}"
    shown = (await gate.person().get(path)).text
    assert "kept with each version" in shown and "name: a large payment" in shown
    form = {"name": "Mine", "priority": "100", "mode": "enforce", "enabled": "on", "act": "save", "version": "1"}
    form |= {"rego_policy": _REGO.replace("100", "1000")}
    form["cases"] = "- name: a large payment\n  input: {tool: pay, operation: send, params: {amount: 200}}\n"
    form["cases"] += "  expect: {decision: deny}\n"
    refused = await gate.person().post(path, data=form)
    assert refused.status_code == 400
    assert "1 test fails: a large payment" in refused.text and "Save although tests fail" in refused.text
    saved = await gate.person().post(path, data=form | {"accept_failing_cases": "on"})
    assert saved.status_code == 303, saved.text
    assert "Test cases of this version" in (await gate.person().get(f"{path}?version=1")).text


async def test_changes_of_many_policies_take_none(gate) -> None:
    policy_id = (await _created(gate)).json()["id"]
    for change in (
        {"change": "create_policy", "policy": {"name": "Other", "rego_policy": _REGO, "cases": [_FAILS]}},
        {"change": "update_policy", "policy_id": policy_id, "policy": {"cases": [_FAILS]}},
    ):
        refused = await gate.person().post(f"{_PATH}/changes", json={"changes": [change]})
        assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, "cases"), refused.text
    kept = {"change": "update_policy", "policy_id": policy_id, "policy": {"priority": 7}}
    assert (await gate.person().post(f"{_PATH}/changes", json={"changes": [kept]})).is_success
    assert (await gate.person().get(f"{_PATH}/{policy_id}")).json()["cases"] == [_PASSES]


async def test_the_example_of_the_page_has_its_line_breaks(gate) -> None:
    shown = (await gate.person().get("/policies/new")).text
    assert 'placeholder="- name: a large payment waits\n  input:\n    tool: stripe' in shown
