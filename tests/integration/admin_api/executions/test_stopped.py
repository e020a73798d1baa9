"""What waits when its tool is stopped ends as failed; no order makes it run before the stop is lifted."""

import pytest

_ORDER = {"tool": "shop", "operation": "create_order", "params": {"item": "book"}}
_STOP = {"scope": "tool", "target": "shop", "reason": "the shop is under attack"}
_LIFT = _STOP | {"stopped": False, "reason": "over"}


@pytest.fixture
async def stopped(new_gate, reach):
    """An organization with a queued execution of a tool that was stopped since."""
    gate = await new_gate("package gate\n\nallow if true\n")
    await reach(gate)
    action = (await gate.as_agent.post("/v1/actions", json=_ORDER)).json()
    assert action["execution"]["status"] == "queued"
    assert (await gate.person().put("/admin/settings/kill-switch", json=_STOP)).status_code == 200
    return gate, action


async def _order(gate, what: str, **body: object) -> None:
    answer = await gate.person().post(f"/v1/executions/{what}", json=body)
    assert answer.status_code in (200, 202), answer.text


async def _is_stopped(gate, action_id: str, service, ended) -> None:
    action = await ended(gate.as_agent, action_id)
    assert (action["status"], service.requests) == ("failed", [])
    assert "the shop is under attack" in action["execution"]["error"]


@pytest.mark.parametrize("everything", [False, True])
async def test_it_is_not_processed(stopped, working, service, ended, everything: bool) -> None:
    gate, action = stopped
    if everything:
        await _order(gate, "process-all")
    else:
        await _order(gate, "process", execution_id=action["execution"]["id"])
    async with working():
        await _is_stopped(gate, action["id"], service, ended)


async def test_it_is_not_retried_until_the_stop_is_lifted(stopped, working, service, ended) -> None:
    gate, action = stopped
    execution_id = action["execution"]["id"]
    async with working():
        await _is_stopped(gate, action["id"], service, ended)
        await _order(gate, "retry", execution_id=execution_id, reset_attempts=True)
        await _is_stopped(gate, action["id"], service, ended)
        lifted = await gate.person().put("/admin/settings/kill-switch", json=_LIFT)
        assert lifted.status_code == 200, lifted.text
        await _order(gate, "retry", execution_id=execution_id, reset_attempts=True)
        action = await ended(gate.as_agent, action["id"])
    assert (action["status"], len(service.requests)) == ("completed", 1)
