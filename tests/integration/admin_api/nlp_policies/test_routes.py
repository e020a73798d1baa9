"""NLP policies over the API: kept in versions, tested on the live path, strict on every failure."""

import json
from typing import Any

import httpx
import pytest

from headgate.agents.scopes import Scope
from headgate.organizations.model import Role
from tests.integration.admin_api.conftest import Gate
from tests.integration.judges.model_server import ModelServer

_PATH = "/admin/nlp-policies"
_PII = {"name": "No mail addresses", "type": "pii_detection", "threshold": 0.6}
_JUDGED = {
    "name": "No deletions",
    "type": "custom",
    "provider": "local",
    "model": "judge-1",
    "prompt": "Refuse deletions.",
    "on_match": "deny",
}


def _judgement(**changes: object) -> str:
    answer = {"flagged": True, "risk_score": 0.9, "confidence": 0.8, "detected_issues": ["deletion"], "reasoning": "x"}
    return json.dumps(answer | changes)


async def _created(admin: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
    answer = await admin.post(_PATH, json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()  # type: ignore[no-any-return]


async def _with_provider(admin: httpx.AsyncClient, server: ModelServer) -> None:
    provider = {"kind": "openai_compatible", "base_url": f"{server.url}/v1", "api_key": "no-real-key"}
    answer = await admin.put("/admin/settings/nlp-providers", json={"local": provider})
    assert answer.status_code == 200, answer.text


async def _tested(admin: httpx.AsyncClient, policy: dict[str, Any], content: str) -> dict[str, Any]:
    answer = await admin.post(f"{_PATH}/{policy['id']}/test", json={"content": content})
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "scope",
    [
        {"tools": ["HTTP"]},
        {"tools": ["http*"]},
        {"operations": ["a\0b"]},
        {"except_tools": ["A tool"]},
        {"agents": ["my-agent"]},
        {"agents": ["usr_01a22858-0fdc-7379-a883-6c9453567139"]},
    ],
)
async def test_a_scope_that_no_call_is_in_is_refused(gate: Gate, scope: dict[str, list[str]]) -> None:
    admin = gate.person()
    refused = await admin.post(_PATH, json={**_PII, "scope": scope})
    assert refused.status_code == 400, refused.text
    [named] = scope
    assert refused.json()["error"]["details"]["field"] == f"scope.{named}[0]"
    made = await _created(admin, {**_PII, "scope": {"agents": [gate.agent_id.removeprefix("agt_")]}})
    assert made["scope"]["agents"] == [gate.agent_id]
    assert (await admin.patch(f"{_PATH}/{made['id']}", json={"scope": scope})).status_code == 400


async def test_a_policy_lives_in_versions(gate: Gate) -> None:
    admin = gate.person()
    made = await _created(admin, _PII)
    assert (made["version"], made["provider"], made["model"], made["on_error"]) == (
        1,
        "embedded",
        "pii",
        "require_approval",
    )

    changed = (await admin.patch(f"{_PATH}/{made['id']}", json={"threshold": 0.9, "enabled": False})).json()
    assert (changed["version"], changed["threshold"], changed["enabled"]) == (2, 0.9, False)
    same = (await admin.patch(f"{_PATH}/{made['id']}", json={"threshold": 0.9})).json()
    assert same["version"] == 2

    listed = (await admin.get(_PATH)).json()
    assert [one["id"] for one in listed["data"]] == [made["id"]]
    assert listed["pagination"]["total"] == 1
    assert (await admin.get(_PATH, params={"enabled": "true"})).json()["data"] == []

    assert (await admin.delete(f"{_PATH}/{made['id']}")).json()["id"] == made["id"]
    assert (await admin.get(f"{_PATH}/{made['id']}")).status_code == 404
    assert (await admin.patch(f"{_PATH}/{made['id']}", json={"enabled": True})).status_code == 404
    events = (await admin.get("/admin/audit")).json()["data"]
    kinds = [one["event_type"] for one in events if one["event_type"].startswith("nlp_policy.")]
    assert kinds == ["nlp_policy.deleted", "nlp_policy.updated", "nlp_policy.created"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**_PII, "provider": "nobody", "model": "x"}, "provider"),
        ({**_PII, "model": "gpt"}, "model"),
        ({**_PII, "model": "keywords"}, "model"),
        ({"name": "k", "type": "custom"}, "model"),
        ({"name": "k", "type": "custom", "model": "keywords"}, "prompt"),
        ({**_PII, "threshold": -0.1}, "threshold"),
        ({**_PII, "threshold": "0.6"}, "threshold"),
        ({**_PII, "threshold": True}, "threshold"),
        ({**_PII, "enabled": "no"}, "enabled"),
        ({**_PII, "daily_limit": "7"}, "daily_limit"),
        ({**_PII, "threshold": 1.1}, "threshold"),
        ({**_PII, "on_error": "allow"}, "on_error"),
        ({**_PII, "on_match": "allow"}, "on_match"),
        ({**_PII, "name": ""}, "name"),
        ({**_PII, "unknown": 1}, "unknown"),
        ({**_PII, "type": "other"}, "type"),
    ],
)
async def test_what_cannot_be_a_policy_is_said(gate: Gate, body: dict[str, Any], field: str) -> None:
    answer = await gate.person().post(_PATH, json=body)

    assert answer.status_code == 400
    assert field in json.dumps(answer.json()["error"])


async def test_two_who_change_one_policy_do_not_overwrite_each_other(gate: Gate) -> None:
    admin = gate.person()
    made = await admin.post(_PATH, json=_PII)
    path = f"{_PATH}/{made.json()['id']}"
    assert made.headers["etag"] == (await admin.get(path)).headers["etag"] == '"1"'

    changed = await admin.patch(path, json={"threshold": 1, "version": 1})
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
    stale = {"If-Match": '"1"'}
    assert (await admin.patch(path, json={"threshold": 0.5, "version": 1})).status_code == 409
    assert (await admin.patch(path, json={"threshold": 0.5}, headers=stale)).status_code == 412
    assert (await admin.delete(path, params={"version": 1})).status_code == 409
    assert (await admin.delete(path, headers=stale)).status_code == 412
    assert (await admin.get(path)).json()["threshold"] == 1
    assert (await admin.delete(path, headers={"If-Match": '"2"'})).status_code == 200


async def test_a_threshold_of_zero_always_matches(gate: Gate) -> None:
    policy = await _created(gate.person(), {**_PII, "threshold": 0})

    found = await _tested(gate.person(), policy, "nothing of anybody")
    assert (found["decision"], found["details"]["outcome"]) == ("require_approval", "match")


async def test_the_embedded_provider_says_what_it_found_and_where(gate: Gate) -> None:
    admin = gate.person()
    policy = await _created(admin, {**_PII, "on_match": "deny"})

    found = await _tested(admin, policy, '{"to": "maria.keller@example.com"}')
    assert (found["policy_id"], found["decision"], found["risk_score"]) == (policy["id"], "deny", 0.95)
    details = found["details"]
    assert (details["detected_issues"], details["engine"], details["outcome"]) == (["email"], "detector", "match")
    [finding] = details["findings"]
    assert (finding["type"], finding["path"], finding["steps"], finding["offset"]) == ("email", "$", ["json:$.to"], 0)
    assert (finding["sample"], finding["confidence"]) == ("mar… (24 characters)", 0.95)
    assert "maria" not in found["reasoning"]
    assert (await _tested(admin, policy, "nobody"))["decision"] == "allow"


async def test_what_could_not_be_inspected_is_held(gate: Gate) -> None:
    admin = gate.person()
    policy = await _created(admin, _PII)
    found = await _tested(admin, policy, "a" + "\u0301" * 50)

    assert (found["decision"], found["details"]["error"], found["risk_score"]) == (
        "require_approval",
        "not_inspected",
        1.0,
    )


async def test_a_judge_is_asked_never_from_the_cache_and_sees_no_secret(gate: Gate, model_server: ModelServer) -> None:
    admin = gate.person()
    await _with_provider(admin, model_server)
    policy = await _created(admin, _JUDGED)
    await model_server.answers(_judgement())

    secret = "gl" + "pat-" + "Ab3dEf6hIj9kLm2nOp5q"
    for _ in range(2):
        found = await _tested(admin, policy, f"delete it with {secret}")
        assert (found["decision"], found["details"]["engine"], found["risk_score"]) == ("deny", "judge", 0.9)
    journal = await model_server.journal()
    assert len(journal) == 2
    assert secret not in json.dumps(journal)
    assert "[masked]" in json.dumps(journal)


@pytest.mark.parametrize(
    ("answer", "decision", "error"),
    [
        (_judgement(flagged=False, risk_score=0.1, detected_issues=[]), "allow", None),
        (_judgement(flagged=True, risk_score=0.1), "require_approval", "contradiction"),
        (_judgement(flagged=False, risk_score=0.9), "require_approval", "contradiction"),
        (_judgement(risk_score=2), "require_approval", "malformed_answer"),
        ("fine", "require_approval", "malformed_answer"),
    ],
)
async def test_the_threshold_is_applied_here_and_whatever_else_holds(
    gate: Gate, model_server: ModelServer, answer: str, decision: str, error: str | None
) -> None:
    admin = gate.person()
    await _with_provider(admin, model_server)
    policy = await _created(admin, _JUDGED)
    await model_server.answers(answer)
    found = await _tested(admin, policy, "anything")

    assert (found["decision"], found["details"]["error"]) == (decision, error)


async def test_a_provider_that_is_down_holds_or_denies_as_the_policy_says(
    gate: Gate, model_server: ModelServer
) -> None:
    admin = gate.person()
    await _with_provider(admin, model_server)
    await model_server.behaves(dropRate=1.0)
    holding = await _created(admin, _JUDGED)
    denying = await _created(admin, {**_JUDGED, "on_error": "deny"})

    assert (await _tested(admin, holding, "x"))["decision"] == "require_approval"
    found = await _tested(admin, denying, "x")
    assert (found["decision"], found["details"]["outcome"]) == ("deny", "error")


async def test_a_provider_that_is_gone_is_an_error(gate: Gate, model_server: ModelServer) -> None:
    admin = gate.person()
    await _with_provider(admin, model_server)
    policy = await _created(admin, _JUDGED)
    await admin.put("/admin/settings/nlp-providers", json={})
    found = await _tested(admin, policy, "x")

    assert (found["decision"], found["details"]["error"]) == ("require_approval", "not_configured")


async def test_the_days_budget_ends(gate: Gate, model_server: ModelServer) -> None:
    admin = gate.person()
    await _with_provider(admin, model_server)
    policy = await _created(admin, {**_JUDGED, "daily_limit": 1})
    await model_server.answers(_judgement(flagged=False, risk_score=0))

    assert (await _tested(admin, policy, "a"))["decision"] == "allow"
    assert (await _tested(admin, policy, "b"))["details"]["error"] == "budget_exhausted"


async def test_all_enabled_policies_are_asked_and_the_strictest_wins(gate: Gate) -> None:
    admin = gate.person()
    await _created(admin, {**_PII, "on_match": "require_approval"})
    await _created(admin, {"name": "k", "type": "custom", "model": "keywords", "prompt": "falcon", "on_match": "deny"})
    await _created(admin, {"name": "off", "type": "custom", "model": "keywords", "prompt": "a", "enabled": False})

    async def decision(content: str) -> tuple[str, int]:
        answer = (await admin.post(f"{_PATH}/evaluate", json={"content": content})).json()
        return answer["decision"], answer["policies_asked"]

    assert await decision("nothing") == ("allow", 2)
    assert await decision("mail maria@example.com") == ("require_approval", 2)
    assert await decision("falcon, mail maria@example.com") == ("deny", 2)


async def test_only_policies_that_cover_an_action_are_asked_about_it(gate: Gate) -> None:
    admin = gate.person()
    await _created(admin, {**_PII, "scope": {"tools": ["write"]}})
    await _created(admin, {**_PII, "scope": {"agents": [gate.agent_id]}})
    await _created(admin, {**_PII, "scope": {"direction": "response"}})
    action = (await gate.as_agent.post("/v1/actions", json={"tool": "read", "operation": "x", "params": {}})).json()
    body = {"content": "x", "action_id": action["id"]}

    assert (await admin.post(f"{_PATH}/evaluate", json=body)).json()["policies_asked"] == 1
    body["action_id"] = "act_01932c07-209c-7000-8000-000000000000"
    assert (await admin.post(f"{_PATH}/evaluate", json=body)).status_code == 404


async def test_templates_can_be_made_policies_as_they_are(gate: Gate) -> None:
    admin = gate.person()
    templates = (await admin.get(f"{_PATH}/templates")).json()["data"]
    per_type = [one["type"] for one in templates]
    assert all(per_type.count(kind) >= 2 for kind in set(per_type))
    assert set(per_type) == {"content_safety", "pii_detection", "intent_classification", "custom"}

    for one in templates:
        if one["provider"] == "embedded":
            body = {name: value for name, value in one.items() if name not in ("id", "cases", "profiles")}
            policy = await _created(admin, body)
            for case in one["cases"]:
                found = await _tested(admin, policy, case["content"])
                assert found["details"]["outcome"] == case["expected"], (one["id"], case)


async def test_another_organizations_policy_does_not_exist(gate: Gate, new_gate: Any) -> None:
    policy = await _created(gate.person(), _PII)
    stranger = (await new_gate()).person()

    assert (await stranger.get(f"{_PATH}/{policy['id']}")).status_code == 404
    assert (await stranger.post(f"{_PATH}/{policy['id']}/test", json={"content": "x"})).status_code == 404
    assert (await stranger.get(_PATH)).json()["data"] == []


async def test_who_may_read_may_test_and_not_write(gate: Gate) -> None:
    policy = await _created(gate.person(), _PII)
    viewer = gate.person("victor", Role.VIEWER)

    assert (await viewer.get(_PATH)).status_code == 200
    assert (await viewer.post(f"{_PATH}/{policy['id']}/test", json={"content": "x"})).status_code == 200
    assert (await viewer.post(_PATH, json=_PII)).status_code == 403
    assert (await viewer.delete(f"{_PATH}/{policy['id']}")).status_code == 403
    writer = await gate.key(Scope.POLICIES_WRITE)
    assert (await writer.post(_PATH, json=_PII)).status_code == 201
