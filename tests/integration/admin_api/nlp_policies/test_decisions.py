"""NLP policies in decisions: after the rules, on what is not denied, only stricter, and in the record."""

import json
from typing import Any

import httpx
import pytest

from headgate.db.rows import insert_row
from tests.integration.admin_api.conftest import Gate
from tests.integration.judges.model_server import ModelServer

_MAIL = {"to": "maria.keller@example.com"}
_PII = {"name": "No addresses", "type": "pii_detection", "threshold": 0.6}
_JUDGED = {"name": "Judge", "type": "custom", "provider": "local", "model": "m", "prompt": "x", "on_match": "deny"}


async def _submitted(gate: Gate, tool: str, params: dict[str, Any]) -> dict[str, Any]:
    answer = await gate.as_agent.post("/v1/actions", json={"tool": tool, "operation": "go", "params": params})
    assert answer.status_code in (201, 202), answer.text
    return answer.json()  # type: ignore[no-any-return]


async def _policy(gate: Gate, body: dict[str, Any]) -> str:
    answer = await gate.person().post("/admin/nlp-policies", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def _decision_event(admin: httpx.AsyncClient, action_id: str) -> dict[str, Any]:
    events = (await admin.get("/admin/audit", params={"action_id": action_id})).json()["data"]
    return next(one["data"] for one in events if one["event_type"] == "decision.made")


async def _provider(gate: Gate, server: ModelServer) -> None:
    setting = {"kind": "openai_compatible", "base_url": f"{server.url}/v1", "api_key": "no-real-key"}
    answer = await gate.person().put("/admin/settings/nlp-providers", json={"local": setting})
    assert answer.status_code == 200, answer.text


async def test_rules_alone_decide_where_no_policy_is_about_content(gate: Gate) -> None:
    action = await _submitted(gate, "read", _MAIL)

    assert action["status"] == "allowed"
    assert "nlp" not in await _decision_event(gate.person(), action["id"])


async def test_what_the_rules_allow_a_policy_denies_or_holds(gate: Gate) -> None:
    policy_id = await _policy(gate, {**_PII, "on_match": "deny"})

    denied = await _submitted(gate, "read", _MAIL)
    assert (denied["status"], denied["decision"]["policy_id"]) == ("denied", policy_id)
    assert denied["decision"]["risk_level"] == "high"
    assert (await _submitted(gate, "read", {"to": "nobody"}))["status"] == "allowed"

    await gate.person().patch(f"/admin/nlp-policies/{policy_id}", json={"on_match": "require_approval"})
    held = await _submitted(gate, "read", _MAIL)
    assert (held["status"], held["approval_id"] is not None) == ("pending_approval", True)


async def test_the_record_says_which_policies_ran_and_nothing_of_what_they_found(gate: Gate) -> None:
    policy_id = await _policy(gate, {**_PII, "on_match": "deny"})
    action = await _submitted(gate, "read", _MAIL)
    event = await _decision_event(gate.person(), action["id"])

    [entry] = event["nlp"]
    assert (entry["policy_id"], entry["version"], entry["outcome"]) == (policy_id, 1, "match")
    assert (entry["provider"], entry["model"], entry["issues"], entry["error"]) == ("embedded", "pii", ["email"], None)
    assert "maria" not in json.dumps(event)


async def test_a_rule_that_denies_is_not_judged_and_one_that_holds_is_not_loosened(gate: Gate) -> None:
    await _policy(gate, _PII)

    wiped = await _submitted(gate, "wipe", _MAIL)
    assert wiped["status"] == "denied"
    assert "nlp" not in await _decision_event(gate.person(), wiped["id"])
    assert (await _submitted(gate, "write", {"to": "nobody"}))["status"] == "pending_approval"


async def test_both_ask_and_both_must_be_met(gate: Gate) -> None:
    policy_id = await _policy(gate, _PII)
    action = await _submitted(gate, "write", _MAIL)
    admin = gate.person()
    events = (await admin.get("/admin/audit", params={"action_id": action["id"]})).json()["data"]
    requested = next(one["data"] for one in events if one["event_type"] == "approval.requested")

    assert len(requested["requirements"]) == 2
    assert policy_id in [one["policy_id"] for one in requested["requirements"]]


async def test_a_policy_is_asked_only_about_what_it_covers(gate: Gate) -> None:
    await _policy(gate, {**_PII, "on_match": "deny", "scope": {"tools": ["write"]}})
    await _policy(gate, {**_PII, "on_match": "deny", "enabled": False})

    assert (await _submitted(gate, "read", _MAIL))["status"] == "allowed"


async def test_a_policy_that_was_deleted_decides_no_more(gate: Gate) -> None:
    policy_id = await _policy(gate, {**_PII, "on_match": "deny"})
    assert (await _submitted(gate, "read", _MAIL))["status"] == "denied"
    await gate.person().delete(f"/admin/nlp-policies/{policy_id}")

    assert (await _submitted(gate, "read", _MAIL))["status"] == "allowed"


async def test_a_judge_decides_and_its_failure_never_allows(gate: Gate, model_server: ModelServer) -> None:
    await _provider(gate, model_server)
    await _policy(gate, _JUDGED)
    answer = {"flagged": False, "risk_score": 0.1, "confidence": 1, "detected_issues": [], "reasoning": "fine"}
    await model_server.answers(json.dumps(answer))
    assert (await _submitted(gate, "read", {"a": 1}))["status"] == "allowed"
    assert (await _submitted(gate, "read", {"a": 1}))["status"] == "allowed"
    assert len(await model_server.journal()) == 1  # the second answer was known

    await model_server.behaves(dropRate=1.0)
    held = await _submitted(gate, "read", {"a": 2})
    assert held["status"] == "pending_approval"
    [entry] = (await _decision_event(gate.person(), held["id"]))["nlp"]
    assert (entry["outcome"], entry["error"]) == ("error", "provider_error")


@pytest.mark.own_api
async def test_a_key_that_does_not_open_holds(gate: Gate, model_server: ModelServer) -> None:
    await _provider(gate, model_server)
    await _policy(gate, _JUDGED)
    async with gate.api.dependencies.database.transaction(gate.org_id) as connection:
        row = await (await connection.execute("DELETE FROM vault_secrets RETURNING *")).fetchone()
        await insert_row(connection, "vault_secrets", {**row, "ciphertext": row["ciphertext"][::-1]})
    await gate.person().patch(f"/admin/nlp-policies/{await _policy(gate, _JUDGED)}", json={"enabled": False})
    held = await _submitted(gate, "read", {"a": 3})

    [entry] = (await _decision_event(gate.person(), held["id"]))["nlp"]
    assert (held["status"], entry["error"]) == ("pending_approval", "not_configured")
