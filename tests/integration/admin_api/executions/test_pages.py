"""/executions in a browser: what waits, what failed, and what an administrator does about it."""

import html
import re

import pytest

from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role

_HOSTILE = "<script>alert(1)</script>\u202e"
_ORDER = {"tool": "shop", "operation": "create_order", "params": {"item": _HOSTILE}}


@pytest.fixture
async def free(new_gate, reach):
    gate = await new_gate("package gate\n\nallow if true\n")
    await reach(gate, most_attempts=1)
    return gate


async def _submitted(gate) -> tuple[str, str]:
    answer = (await gate.as_agent.post("/v1/actions", json=_ORDER)).json()
    return answer["id"], answer["execution"]["id"]


def _rows(text: str) -> list[str]:
    return re.findall(r'data-row="(exe_[^"]+)"', text)


async def test_an_empty_list_teaches_how_to_submit_a_call(free) -> None:
    person = free.person()
    shown = html.unescape((await person.get("/executions")).text)
    assert "No executions yet" in shown
    assert "/v1/actions" in shown
    assert "No dead letter" in (await person.get("/executions?view=dead")).text
    assert (await person.get("/executions?view=buried")).status_code == 404


async def test_a_queued_one_is_run_and_a_failed_one_is_tried_again(free, working, service, ended) -> None:
    action_id, execution_id = await _submitted(free)
    person, path = free.person(), f"/executions/{execution_id}"
    for view, found in (("all", [execution_id]), ("queued", [execution_id]), ("failed", []), ("dead", [])):
        assert _rows((await person.get(f"/executions?view={view}")).text) == found, view
    assert "Run now" in (await person.get(path)).text
    assert (await person.post(path, data={"act": "process"})).headers["location"] == path
    assert (await person.post("/executions", data={"act": "process-all"})).status_code == 303
    service.answers = [(500, {}, {"error": _HOSTILE})]
    async with working():
        await ended(free.as_agent, action_id)
    shown = (await person.get(path)).text
    assert "the destination answered 500" in shown
    assert "<script>alert" not in shown and "U+202E</span>" in shown
    for query, found in (
        ("view=dead", [execution_id]),
        ("view=succeeded", []),
        ("tool=shop", [execution_id]),
        ("tool=other", []),
        (f"action_id={action_id}", [execution_id]),
    ):
        assert _rows((await person.get(f"/executions?{query}")).text) == found, query
    assert (await person.post(path, data={"act": "retry", "reset_attempts": "yes"})).status_code == 303
    async with working():
        assert (await ended(free.as_agent, action_id))["status"] == "completed"
    steps = re.findall(r"</span><div>(.*?)</div>", (await person.get(path)).text)
    words = [html.unescape(re.sub(r"<[^>]+>.*", "", one)).strip() for one in steps]
    assert [one.split(" by ")[0] for one in words] == [
        "Forwarded",
        "Failed",
        "Retry requested",
        "Forwarded, attempt 2",
        "Completed",
    ]
    refused = await person.post(path, data={"act": "retry"})
    assert (refused.status_code, "only a failed execution can be retried" in refused.text) == (400, True)


async def test_forms_that_name_no_button_or_no_execution(free) -> None:
    _, execution_id = await _submitted(free)
    person = free.person()
    for path, act, status in (
        ("/executions", "dance", 400),
        (f"/executions/{execution_id}", "dance", 400),
        (f"/executions/{new_id(IdPrefix.EXECUTION)}", "retry", 404),
    ):
        assert (await person.post(path, data={"act": act})).status_code == status, path


async def test_others_look_and_do_not_act(free, new_gate) -> None:
    _, execution_id = await _submitted(free)
    path = f"/executions/{execution_id}"
    for role in (Role.VIEWER, Role.APPROVER, Role.AUDITOR):
        person = free.person(role.value, role)
        assert "Run now" not in (await person.get(path)).text
        assert (await person.get("/executions")).status_code == 200
        for target in (path, "/executions"):
            assert (await person.post(target, data={"act": "process-all"})).status_code == 403
    stranger = (await new_gate()).person()
    assert (await stranger.get(path)).status_code == 404
    assert (await stranger.post(path, data={"act": "process"})).status_code == 404
