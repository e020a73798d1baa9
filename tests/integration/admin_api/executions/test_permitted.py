"""Explicit actions that a grant or a broken glass lets through are carried out like those that a policy allows; and are
decided once more before they are."""

import pytest

from headgate.organizations.model import Role

_REGO = """package gate

require_approval if input.operation == "create_order"

deny if input.operation == "put_order"
"""
_CREATE = {"tool": "shop", "operation": "create_order", "params": {"item": "book"}}
_PUT = {"tool": "shop", "operation": "put_order", "params": {"order": "7", "item": "book"}}


@pytest.fixture
async def gate(new_gate, reach):
    made = await new_gate(_REGO)
    await reach(made)
    return made


async def _grant(gate) -> str:
    body = {
        "agent_id": gate.agent_id, "tool": "shop", "operation": "create_order", "max_uses": 1,
        "conditions": [{"param": "item", "equals": "book"}], "expires_in_seconds": 600, "reason": "books",
    }  # fmt: skip
    created = await gate.person().post("/admin/grants", json=body)
    assert created.status_code == 201, created.text
    return str(created.json()["id"])


async def _submit(gate, body: dict) -> dict:
    answer = await gate.as_agent.post("/v1/actions", json=body)
    assert answer.status_code in (201, 202), answer.text
    return answer.json()


async def test_what_a_grant_lets_through_is_carried_out(gate, working, service, ended) -> None:
    grant_id = await _grant(gate)
    action = await _submit(gate, _CREATE)
    assert (action["status"], action["execution"]["status"]) == ("allowed", "queued")
    async with working():
        done = await ended(gate.as_agent, action["id"])
    assert (done["status"], len(service.requests)) == ("completed", 1), done
    events = (await gate.person().get("/admin/audit", params={"action_id": action["id"]})).json()["data"]
    decided = [event["data"] for event in events if event["event_type"] == "decision.made"]
    assert [one["exempted_by"] for one in decided] == [grant_id] * 2
    assert (await _submit(gate, _CREATE))["status"] == "pending_approval"


async def test_a_grant_that_is_revoked_meanwhile_lets_nothing_run(gate, working, service, ended) -> None:
    grant_id = await _grant(gate)
    action = await _submit(gate, _CREATE)
    await gate.person().delete(f"/admin/grants/{grant_id}", params={"reason": "enough"})
    async with working():
        done = await ended(gate.as_agent, action["id"])
    assert (done["status"], service.requests) == ("failed", [])
    assert "was revoked: enough" in done["execution"]["error"]


async def test_a_policy_that_asks_anew_is_not_answered(gate, working, service, ended) -> None:
    await _grant(gate)
    action = await _submit(gate, _CREATE)
    body = {"name": "new", "rego_policy": 'package new\n\nrequire_approval contains "new" if true\n', "priority": 1}
    assert (await gate.person().post("/admin/policies", json=body)).status_code == 201
    async with working():
        done = await ended(gate.as_agent, action["id"])
    assert (done["status"], service.requests) == ("failed", [])
    assert "does so no more" in done["execution"]["error"]


async def test_what_a_broken_glass_lets_through_is_carried_out(gate, working, service, ended) -> None:
    denied = await _submit(gate, _PUT)
    assert denied["status"] == "denied"
    opened = await gate.person("frida", Role.BREAK_GLASS).post(
        "/admin/break-glass", json={"action_id": denied["id"], "reason": "production burns"}
    )
    assert opened.status_code == 201, opened.text
    action = await _submit(gate, _PUT)
    assert action["status"] == "allowed"
    async with working():
        done = await ended(gate.as_agent, action["id"])
    assert (done["status"], len(service.requests)) == ("completed", 1), done
    assert (await _submit(gate, _PUT))["status"] == "denied"


async def _open(gate, action_id: str) -> str:
    body = {"action_id": action_id, "reason": "production burns"}
    opened = await gate.person("frida", Role.BREAK_GLASS).post("/admin/break-glass", json=body)
    assert opened.status_code == 201, opened.text
    return str(opened.json()["id"])


async def _stop(gate) -> None:
    body = {"scope": "tool", "target": "shop", "reason": "the shop is under attack"}
    assert (await gate.person().put("/admin/settings/kill-switch", json=body)).status_code == 200


async def test_nothing_goes_around_a_stop(gate, working, service, ended) -> None:
    """Neither before it is queued nor after: a stop is for what nobody foresaw, and a broken glass is older."""
    await _grant(gate)
    await _open(gate, (await _submit(gate, _PUT))["id"])
    queued = await _submit(gate, _PUT)
    granted = await _submit(gate, _CREATE)
    await _stop(gate)
    async with working():
        for action in (queued, granted):
            done = await ended(gate.as_agent, action["id"])
            assert (done["status"], service.requests) == ("failed", []), done
            assert "the shop is under attack" in done["execution"]["error"]
    assert (await _submit(gate, _PUT))["status"] == "denied"


async def _closed(service) -> None:
    """Nobody listens there any more."""
    service.server.close()
    await service.server.wait_closed()


async def _given_back(gate, action_id: str) -> list[object]:
    events = (await gate.person().get("/admin/audit", params={"action_id": action_id, "limit": 200})).json()["data"]
    ended = [one["data"] for one in events if one["event_type"] == "execution.failed"]
    return [one.get("exemption_given_back") for one in ended]


async def _uses(gate, grant_id: str) -> int:
    return (await gate.person().get(f"/admin/grants/{grant_id}")).json()["uses"]


async def test_a_use_without_a_connection_is_given_back_once(gate, working, service, ended) -> None:
    """After the last attempt, and not again when a person orders another."""
    grant_id = await _grant(gate)
    action = await _submit(gate, _CREATE)
    await _closed(service)
    async with working():
        done = await ended(gate.as_agent, action["id"])
        assert (done["status"], done["execution"]["attempts"]) == ("failed", 3), done
        assert await _uses(gate, grant_id) == 0
        retry = {"execution_id": done["execution"]["id"], "reset_attempts": True}
        assert (await gate.person().post("/v1/executions/retry", json=retry)).status_code == 200
        done = await ended(gate.as_agent, action["id"])
    assert "submit it again" in done["execution"]["error"]
    assert await _given_back(gate, action["id"]) == [None, grant_id]  # newest first
    assert await _uses(gate, grant_id) == 0
    assert (await _submit(gate, _CREATE))["status"] == "allowed"


async def test_a_use_that_is_refused_before_sending_is_given_back(gate, working, service, ended) -> None:
    grant_id = await _grant(gate)
    action = await _submit(gate, _CREATE)
    await _stop(gate)
    async with working():
        await ended(gate.as_agent, action["id"])
    assert await _given_back(gate, action["id"]) == [grant_id]
    assert await _uses(gate, grant_id) == 0


async def test_a_use_that_its_agent_takes_back_is_given_back(gate) -> None:
    grant_id = await _grant(gate)
    action = await _submit(gate, _CREATE)
    cancelled = await gate.as_agent.post(f"/v1/actions/{action['id']}/cancel", json={})
    assert cancelled.status_code == 200, cancelled.text
    assert await _given_back(gate, action["id"]) == [grant_id]
    assert await _uses(gate, grant_id) == 0


@pytest.mark.parametrize("answers", [[None], [(503, {"Retry-After": "1"}, {})]])
async def test_a_use_that_may_have_been_sent_stays_one(gate, working, service, ended, answers: list) -> None:
    """Also where a later attempt is not sent at all."""
    grant_id = await _grant(gate)
    service.answers, service.then_closes = answers, True
    action = await _submit(gate, _CREATE)
    async with working():
        done = await ended(gate.as_agent, action["id"])
    assert done["status"] == "failed" and len(service.requests) == 1
    assert await _given_back(gate, action["id"]) == [None]
    assert await _uses(gate, grant_id) == 1


async def test_a_broken_glass_of_what_was_not_sent_is_whole_again(gate, working, service, ended) -> None:
    await _open(gate, (await _submit(gate, _PUT))["id"])
    action = await _submit(gate, _PUT)
    await _closed(service)
    async with working():
        await ended(gate.as_agent, action["id"])
    [pass_id] = await _given_back(gate, action["id"])
    assert str(pass_id).startswith("brk_")
    assert (await _submit(gate, _PUT))["status"] == "allowed"


async def test_a_broken_glass_that_was_not_justified_lets_nothing_run(gate, working, service, ended) -> None:
    glass_id = await _open(gate, (await _submit(gate, _PUT))["id"])
    queued = await _submit(gate, _PUT)
    assert queued["status"] == "allowed"
    body = {"outcome": "not_justified", "note": "nothing burns"}
    reviewed = await gate.person().post(f"/admin/break-glass/{glass_id}/review", json=body)
    assert reviewed.status_code == 200, reviewed.text
    async with working():
        done = await ended(gate.as_agent, queued["id"])
    assert (done["status"], service.requests) == ("failed", [])
    assert "not justified" in done["execution"]["error"]
