"""A body that a route would ignore is refused: who sends a draft to ``…/test`` would take what is saved for tested."""

import pytest

from tests.integration.admin_api.conftest import Gate

_TEST = "/admin/settings/slack/test"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"channel": "#alerts"}', "channel"),
        (b'{"' + b"x" * 100 + b'": 1}', "x" * 64),
        (b'["draft"]', "body"),
        (b"0", "body"),
        (b'""', "body"),
    ],
)
async def test_a_body_is_refused(gate: Gate, body: bytes, field: str) -> None:
    answer = await gate.person().post(_TEST, content=body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["message"] == f"{field}: this route takes no body; send none, or an empty object"
    assert error["details"]["field"] == field


async def test_bytes_that_are_no_json_are_refused_as_such(gate: Gate) -> None:
    answer = await gate.person().post(_TEST, content=b"channel=%23alerts")
    assert answer.status_code == 400
    assert "JSON" in answer.json()["error"]["message"]


@pytest.mark.parametrize("body", [b"", b" \n", b"{}", b"null"])
async def test_an_empty_one_is_none(gate: Gate, body: bytes) -> None:
    answer = await gate.person().post(_TEST, content=body)
    assert answer.status_code == 404  # nothing is saved that could be tested


async def test_deleting_takes_none_either(gate: Gate) -> None:
    answer = await gate.person().request("DELETE", f"/admin/agents/{gate.agent_id}", json={"reason": "left"})
    assert answer.status_code == 400
    assert (await gate.person().get(f"/admin/agents/{gate.agent_id}")).status_code == 200


async def test_a_caller_without_the_scope_learns_nothing_of_it(gate: Gate) -> None:
    answer = await gate.as_agent.post(_TEST, json={"channel": "#alerts"})
    assert answer.status_code in (401, 403)
