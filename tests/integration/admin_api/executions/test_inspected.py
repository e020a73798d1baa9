"""Answers that Headgate receives for an agent are looked at by policies about content, before anybody sees them."""

import json

import pytest

from headgate.gate import inspect_answer
from headgate.nlp_policies import detector_round

_MAIL = "maria.keller@example.com"
_PII = {"name": "No addresses", "type": "pii_detection", "threshold": 0.6, "on_match": "require_approval"}
_GET = {"tool": "shop", "operation": "get_order", "params": {"order": "ord_1"}}
_GET_FOUND = (200, {}, {"id": "ord_1", "state": _MAIL})


@pytest.fixture
async def gate(new_gate, reach):
    made = await new_gate("package gate\n\nallow if true\n")
    await reach(made)
    return made


async def _policy(gate, direction: str = "response", **fields) -> str:
    body = {**_PII, "scope": {"direction": direction}, **fields}
    created = await gate.person().post("/admin/nlp-policies", json=body)
    assert created.status_code == 201, created.text
    return str(created.json()["id"])


async def _carried_out(gate, working, ended, body=_GET) -> dict:
    submitted = await gate.as_agent.post("/v1/actions", json=body)
    assert submitted.json()["status"] == "allowed", submitted.text
    async with working():
        return await ended(gate.as_agent, submitted.json()["id"])


async def _withheld_events(gate, action_id: str) -> list[dict]:
    events = (await gate.person().get("/admin/audit", params={"action_id": action_id})).json()["data"]
    assert _MAIL not in json.dumps(events)
    return [one["data"] for one in events if one["event_type"] == "response.withheld"]


async def _is_withheld(gate, action: dict, why: str) -> None:
    """By everything that an agent, or a reader of the record, can ask."""
    execution = action["execution"]
    assert set(execution["result"]) == {"status", "size_bytes", "sha256", "duration_ms", "note", "inspection"}
    assert execution["result"]["note"] == "RESPONSE_WITHHELD"
    assert execution["result"]["inspection"]["withheld"] is True
    assert why in execution["result"]["inspection"]["reason"]
    listed = await gate.as_agent.get(f"/v1/executions/{execution['id']}")
    assert _MAIL not in listed.text and "body" not in listed.json()["result"]
    [event] = await _withheld_events(gate, action["id"])
    assert (event["execution_id"], event["withheld"]) == (execution["id"], True)
    assert event["nlp"][0]["decision"] == "withhold"


@pytest.mark.parametrize("direction", ["response", "both"])
async def test_a_match_withholds_the_answer(gate, working, service, ended, direction: str) -> None:
    policy_id = await _policy(gate, direction)
    service.answers = [_GET_FOUND]
    action = await _carried_out(gate, working, ended)
    assert action["status"] == "completed" and action["execution"]["error"] is None
    await _is_withheld(gate, action, "No addresses: email")
    [entry] = action["execution"]["result"]["inspection"]["nlp"]
    assert (entry["policy_id"], entry["outcome"], entry["issues"]) == (policy_id, "match", ["email"])


async def test_a_tag_of_the_answer_is_a_tag_of_the_action(gate, working, service, ended) -> None:
    await _policy(gate, on_match="tag")
    service.answers = [_GET_FOUND]
    action = await _carried_out(gate, working, ended)
    assert action["execution"]["result"]["body"] == _GET_FOUND[2]
    found = (await gate.person().get("/v1/actions/search?tag=email")).json()["data"]
    assert [(one["id"], one["tags"]) for one in found] == [(action["id"], ["email"])]


async def test_a_mask_keeps_the_answer_without_what_was_found(gate, working, service, ended) -> None:
    await _policy(gate, on_match="mask")
    service.answers = [_GET_FOUND]
    action = await _carried_out(gate, working, ended)
    result = action["execution"]["result"]
    assert result["body"] == {"id": "ord_1", "state": "[masked: email]"}
    assert (result["inspection"]["masked"]["kinds"], result["inspection"]["nlp"][0]["decision"]) == (["email"], "mask")
    assert result["sha256"] == result["inspection"]["masked"]["sha256"]
    events = (await gate.person().get("/admin/audit", params={"action_id": action["id"]})).text
    assert _MAIL not in events


async def test_a_mask_of_a_header_withholds(gate, working, service, ended) -> None:
    await _policy(gate, on_match="mask")
    service.answers = [(200, {"X-Owner": _MAIL}, {"id": "ord_1"})]
    await _is_withheld(gate, await _carried_out(gate, working, ended), "email")


async def test_a_header_counts_too(gate, working, service, ended) -> None:
    await _policy(gate)
    service.answers = [(200, {"X-Owner": _MAIL}, {"id": "ord_1"})]
    await _is_withheld(gate, await _carried_out(gate, working, ended), "email")


async def test_the_destinations_status_decides_how_it_ended(gate, working, service, ended) -> None:
    await _policy(gate)
    service.answers = [(404, {}, {"about": _MAIL})]
    action = await _carried_out(gate, working, ended)
    assert (action["status"], action["execution"]["error"]) == ("failed", "the destination answered 404")
    await _is_withheld(gate, action, "email")


async def test_an_answer_before_another_attempt_is_not_kept_either(gate, working, service, ended) -> None:
    await _policy(gate)
    service.answers = [(503, {"Retry-After": "1"}, {"about": _MAIL})]
    action = await _carried_out(gate, working, ended)
    assert (action["status"], action["execution"]["attempts"]) == ("completed", 2)
    assert action["execution"]["result"]["inspection"]["withheld"] is False
    assert len(await _withheld_events(gate, action["id"])) == 1


async def test_what_is_clear_is_kept_and_says_who_looked(gate, working, ended) -> None:
    policy_id = await _policy(gate)
    action = await _carried_out(gate, working, ended)
    result = action["execution"]["result"]
    assert result["body"] == {"id": "ord_1", "state": "open"}
    assert [one["policy_id"] for one in result["inspection"]["nlp"]] == [policy_id]
    assert await _withheld_events(gate, action["id"]) == []


@pytest.mark.parametrize("scope", [{"direction": "request"}, {"direction": "response", "tools": ["other"]}])
async def test_a_policy_that_does_not_cover_it_is_not_asked(gate, working, service, ended, scope: dict) -> None:
    await _policy(gate, scope=scope)
    service.answers = [_GET_FOUND]
    action = await _carried_out(gate, working, ended)
    assert action["execution"]["result"]["body"]["state"] == _MAIL
    assert "inspection" not in action["execution"]["result"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((200, {"Content-Encoding": "br, gzip"}, {}), "content coding"),
        ((200, {"Content-Type": "text/plain; charset=utf-7"}, {}), "character set"),
        ((206, {"Content-Range": "bytes 0-1/9"}, {}), "part of something larger"),
        ((200, {}, "x" * (1 << 20)), "larger than the 1048576 bytes"),
    ],
)
async def test_what_cannot_be_inspected_is_withheld(gate, working, service, ended, answer, why: str) -> None:
    await _policy(gate)
    service.answers = [answer]
    action = await _carried_out(gate, working, ended)
    assert action["status"] == "completed"
    await _is_withheld(gate, action, why)


async def test_a_detector_that_raises_withholds(gate, working, service, ended, monkeypatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(_MAIL)

    await _policy(gate)
    monkeypatch.setattr(detector_round.AssessedContent, "assess", broken)
    await _is_withheld(gate, await _carried_out(gate, working, ended), "could not be asked")


async def test_an_inspection_that_raises_withholds(gate, working, service, ended, monkeypatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(_MAIL)

    await _policy(gate)
    monkeypatch.setattr(inspect_answer, "judged_answer", broken)
    await _is_withheld(gate, await _carried_out(gate, working, ended), "the inspection failed")


async def test_a_model_that_is_not_configured_withholds(gate, working, service, ended) -> None:
    await _policy(gate, type="custom", provider="gemini", model="m", prompt="x")
    await _is_withheld(gate, await _carried_out(gate, working, ended), "not_configured")
