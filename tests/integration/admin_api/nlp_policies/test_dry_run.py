"""A dry run with NLP policies is what the live path answers, and leaves the live path as it was."""

import json
from typing import Any

import pytest

from tests.integration.admin_api.conftest import Gate
from tests.integration.admin_api.nlp_policies.test_decisions import _decision_event, _provider
from tests.integration.judges.model_server import ModelServer

_PII = {"name": "No addresses", "type": "pii_detection", "threshold": 0.6}
_SECRETS = {"name": "No keys", "type": "custom", "model": "secrets", "threshold": 0.6, "on_match": "deny"}
_JUDGED = {"name": "Judge", "type": "custom", "provider": "local", "model": "m", "prompt": "x"}
_MAIL = {"to": "maria.keller@example.com"}
_KEY = {"header": "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"}
_PLAIN = {"note": "nothing"}
_CLEAR, _MATCH, _CONTRADICTION, _GARBAGE = (
    json.dumps({"flagged": flagged, "risk_score": score, "confidence": 1, "detected_issues": [], "reasoning": "said"})
    for flagged, score in ((False, 0.1), (True, 0.9), (True, 0.1), ("no", "such"))
)
_OF_THE_MOMENT = ("evaluation_time_ms", "latency_ms")


async def _create(gate: Gate, body: dict[str, Any]) -> str:
    answer = await gate.person().post("/admin/nlp-policies", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def _supposed(gate: Gate, tool: str, params: dict[str, Any], **more: Any) -> dict[str, Any]:
    body = {"action": {"tool": tool, "operation": "go", "params": params}, "agent_id": gate.agent_id, **more}
    answer = await gate.person().post("/v1/dry-run", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


async def _live(gate: Gate, tool: str, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The agent's answer and the decision's event."""
    answer = await gate.as_agent.post("/v1/actions", json={"tool": tool, "operation": "go", "params": params})
    return answer.json(), await _decision_event(gate.person(), answer.json()["id"])


def _lasting(members: dict[str, Any], names: list[str]) -> dict[str, Any]:
    return {name: members[name] for name in names if name not in _OF_THE_MOMENT}


@pytest.mark.parametrize("tool", ["read", "write", "wipe", "unknown"])
@pytest.mark.parametrize("params", [_MAIL, _KEY, _PLAIN], ids=["mail", "key", "plain"])
@pytest.mark.parametrize("said", [_CLEAR, _MATCH, _CONTRADICTION, _GARBAGE], ids=["clear", "match", "odd", "garbage"])
async def test_it_is_what_the_live_path_decides(
    gate: Gate, model_server: ModelServer, tool: str, params: dict[str, Any], said: str
) -> None:
    await _provider(gate, model_server)
    for policy in (_PII, _SECRETS, _JUDGED, {**_JUDGED, "name": "Elsewhere", "scope": {"tools": ["unknown"]}}):
        await _create(gate, policy)
    await model_server.answers(said)

    supposed = await _supposed(gate, tool, params)
    action, recorded = await _live(gate, tool, params)

    assert _lasting(supposed, list(action["decision"])) == _lasting(action["decision"], list(action["decision"]))
    entries = recorded.get("nlp", [])
    told = {one["policy_id"]: one for one in supposed["nlp"] if one["decision"] is not None}
    if recorded["decision"] == "deny":  # the first deny ends the rest, and which were faster is chance
        assert {one["policy_id"] for one in entries if one["decision"] == "deny"} <= told.keys()
    else:
        assert told.keys() == {one["policy_id"] for one in entries}
    names = [
        "policy_id",
        "version",
        "provider",
        "model",
        "outcome",
        "decision",
        "score",
        "issues",
        "reasoning",
        "error",
    ]
    for entry in entries:
        if entry["policy_id"] in told:
            assert _lasting(told[entry["policy_id"]], names) == _lasting(entry, names)
    if recorded["decision"] == "require_approval":
        events = (await gate.person().get("/admin/audit", params={"action_id": action["id"]})).json()["data"]
        [requested] = [one["data"] for one in events if one["event_type"] == "approval.requested"]
        told = supposed["approval"]["requirements"]
        # The record leaves out what nobody asked for.
        assert [
            {name: one[name] for name in recorded_one}
            for one, recorded_one in zip(told, requested["requirements"], strict=True)
        ] == requested["requirements"]


async def test_it_says_what_a_judge_was_asked_and_keeps_no_answer(gate: Gate, model_server: ModelServer) -> None:
    await _provider(gate, model_server)
    await _create(gate, _JUDGED)
    await model_server.answers(_CLEAR)

    for _ in range(2):
        [word] = (await _supposed(gate, "read", {**_PLAIN, **_KEY}))["nlp"]
        assert (word["question"]["policy"], word["question"]["requested"], word["cached"]) == ("x", True, False)
        assert word["question"]["action"]["params"]["note"] == "nothing"
        assert _KEY["header"] not in json.dumps(word)
    assert len(await model_server.journal()) == 2
    await _live(gate, "read", {**_PLAIN, **_KEY})
    assert len(await model_server.journal()) == 3  # no dry run had answered in its place

    [word] = (await _supposed(gate, "read", {**_PLAIN, **_KEY}))["nlp"]
    assert (word["question"]["requested"], word["cached"]) == (False, True)  # as the live path would not ask again
    assert len(await model_server.journal()) == 3


async def test_judges_may_be_left_out_and_that_is_said(gate: Gate, model_server: ModelServer) -> None:
    await _provider(gate, model_server)
    await _create(gate, _JUDGED)
    await _create(gate, _PII)
    await model_server.answers(_MATCH)

    found = await _supposed(gate, "read", _MAIL, judges=False)
    words = {one["name"]: one for one in found["nlp"]}
    assert (words["Judge"]["asked"], words["Judge"]["decision"], words["Judge"]["question"]) == (False, None, None)
    assert (words["No addresses"]["asked"], words["No addresses"]["decision"]) == (True, "require_approval")
    assert found["policy_name"] == "No addresses"
    assert await model_server.journal() == []


async def test_failures_of_dry_runs_do_not_open_the_breaker_of_calls(gate: Gate, model_server: ModelServer) -> None:
    await _provider(gate, model_server)
    await _create(gate, _JUDGED)
    await model_server.behaves(dropRate=1.0)
    for number in range(6):
        [word] = (await _supposed(gate, "read", {"n": number}))["nlp"]
        assert (word["error"], word["decision"]) == ("provider_error", "require_approval")
    await model_server.reset()
    await model_server.answers(_CLEAR)

    assert (await _live(gate, "read", {"n": 0}))[0]["status"] == "allowed"


async def test_a_breaker_that_is_open_is_told_and_stays_as_it_is(gate: Gate, model_server: ModelServer) -> None:
    await _provider(gate, model_server)
    await _create(gate, _JUDGED)
    await model_server.behaves(dropRate=1.0)
    for number in range(5):
        await _live(gate, "read", {"n": number})

    [word] = (await _supposed(gate, "read", {"n": 9}))["nlp"]
    assert (word["error"], word["question"]["requested"]) == ("breaker_open", False)


async def test_budgets_of_calls_and_dry_runs_are_counted_apart(gate: Gate, model_server: ModelServer) -> None:
    await _provider(gate, model_server)
    await _create(gate, {**_JUDGED, "daily_limit": 2})
    await model_server.answers(_CLEAR)

    outcomes = [(await _supposed(gate, "read", {"n": number}))["nlp"][0]["error"] for number in range(3)]
    assert outcomes == [None, None, "budget_exhausted"]  # nor can dry runs cost without end
    statuses = [(await _live(gate, "read", {"n": number}))[0]["status"] for number in range(3)]
    assert statuses == ["allowed", "allowed", "pending_approval"]


async def test_a_simulation_of_one_rule_policy_knows_what_content_makes_of_it(gate: Gate) -> None:
    await _create(gate, {**_PII, "on_match": "deny"})
    body = {"name": "Opens", "rego_policy": 'package opens\n\nallow if input.tool == "wider"\n', "priority": 5}
    policy_id = (await gate.person().post("/admin/policies", json=body)).json()["id"]
    call = {"action": {"tool": "wider", "operation": "go", "params": _MAIL}, "agent_id": gate.agent_id}

    found = (await gate.person().post(f"/admin/policies/{policy_id}/simulate", json=call)).json()
    assert (found["decision"], found["overall"]["decision"]) == ("allow", "deny")
    assert (found["overall"]["policy_name"], found["nlp"][0]["outcome"]) == ("No addresses", "match")
