"""An approved action when it is decided again: what a judge said when the approval was opened holds there too."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.admin_api.nlp_policies.test_decisions import _provider
from tests.integration.admin_api.nlp_policies.test_dry_run import _CLEAR, _JUDGED, _MATCH
from tests.integration.judges.conftest import model_server, model_server_process

__all__ = ["model_server", "model_server_process"]

_ORDER = {"tool": "shop", "operation": "create_order", "params": {"item": "book"}}


@pytest.fixture
async def held(new_gate, reach, model_server):
    """An organization in which people decide on what a judge has found nothing in; and the judge's policy."""
    gate = await new_gate("package gate\n\nrequire_approval if true\n")
    await reach(gate)
    await _provider(gate, model_server)
    await model_server.answers(_CLEAR)
    created = await gate.person().post("/admin/nlp-policies", json=_JUDGED | {"on_match": "deny"})
    assert created.status_code == 201, created.text
    return gate, created.json()["id"]


@pytest.fixture
def approved(held) -> Callable[[], Any]:
    gate, _ = held

    async def submit() -> str:
        answer = await gate.as_agent.post("/v1/actions", json=_ORDER)
        assert answer.status_code == 202, answer.text
        voted = await gate.person().post(f"/v1/approvals/{answer.json()['approval_id']}/approve", json={})
        assert voted.status_code == 200, voted.text
        return str(answer.json()["id"])

    return submit


async def test_a_judge_that_is_gone_does_not_fail_what_people_approved(
    held, approved, model_server, working, service, ended
) -> None:
    gate, judge_id = held
    action_id = await approved()
    await model_server.behaves(dropRate=1.0)
    asked = len(await model_server.journal())
    async with working():
        action = await ended(gate.as_agent, action_id)
    assert (action["status"], len(service.requests)) == ("completed", 1), action
    assert len(await model_server.journal()) == asked
    events = (await gate.person().get("/admin/audit", params={"action_id": action_id})).json()["data"]
    [entry] = next(one["data"]["nlp"] for one in events if one["data"].get("evaluated_for") == "execution")
    assert (entry["policy_id"], entry["outcome"], entry["cached"]) == (judge_id, "clear", True)


async def test_a_judge_that_says_otherwise_now_does_not_either(
    held, approved, model_server, working, service, ended
) -> None:
    gate, _ = held
    action_id = await approved()
    await model_server.reset()
    await model_server.answers(_MATCH)
    async with working():
        action = await ended(gate.as_agent, action_id)
    assert (action["status"], len(service.requests)) == ("completed", 1), action


async def test_a_changed_policy_is_asked_anew(held, approved, model_server, working, service, ended) -> None:
    gate, judge_id = held
    action_id = await approved()
    changed = await gate.person().patch(f"/admin/nlp-policies/{judge_id}", json={"prompt": "y"})
    assert changed.status_code == 200, changed.text
    await model_server.reset()
    await model_server.answers(_MATCH)
    async with working():
        action = await ended(gate.as_agent, action_id)
    assert (action["status"], service.requests) == ("failed", [])
    assert "denied by the current policies" in action["execution"]["error"]
