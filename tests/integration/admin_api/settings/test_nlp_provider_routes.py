"""Providers of language models: set, tried, and their keys kept where nobody reads them."""

import json
from typing import Any

import psycopg
import pytest

from headgate.organizations.model import Role
from tests.integration.admin_api.conftest import Gate
from tests.integration.judges.conftest import model_server, model_server_process
from tests.integration.judges.model_server import ModelServer

__all__ = ["model_server", "model_server_process"]

_PATH = "/admin/settings/nlp-providers"
_KEY = "no-real-key-7f3a"
_PROVIDER = {"kind": "anthropic", "api_key": _KEY}


@pytest.mark.own_api
async def test_a_key_is_never_shown_or_logged_and_lies_encrypted(
    gate: Gate, superuser: psycopg.Connection[tuple[object, ...]], capfd: pytest.CaptureFixture[str]
) -> None:
    admin = gate.person()
    answer = await admin.put(_PATH, json={"claude": _PROVIDER})

    assert answer.status_code == 200
    shown = answer.json()["claude"]
    assert (shown["kind"], shown["base_url"], shown["has_api_key"]) == ("anthropic", "https://api.anthropic.com", True)
    assert _KEY not in answer.text
    assert _KEY not in (await admin.get(_PATH)).text
    assert _KEY not in (await admin.get("/admin/audit")).text
    logged = capfd.readouterr()
    assert "nlp-providers" in logged.out + logged.err
    assert _KEY not in logged.out + logged.err
    for table in ("settings", "vault_secrets", "audit_payloads", "journal"):
        found = superuser.execute("SELECT to_regclass(%s)", [table]).fetchone()
        if found is not None and found[0] is not None:
            rows = superuser.execute(f"SELECT * FROM {table} WHERE org_id = %s", [gate.org_id]).fetchall()  # noqa: S608
            assert _KEY not in repr(rows)
            assert _KEY.encode() not in b"".join(bytes(one) for row in rows for one in row if isinstance(one, bytes))


async def test_a_name_that_is_a_kind_needs_none_and_models_are_those_that_policies_may_name(gate: Gate) -> None:
    admin = gate.person()
    setting = {"base_url": "http://127.0.0.1:9/v1", "api_key": _KEY, "models": ["small", "large", "small"]}
    answer = await admin.put(_PATH, json={"openai_compatible": setting, "gemini": {}})

    assert answer.status_code == 200
    shown = answer.json()
    assert shown == (await admin.get(_PATH)).json()
    assert (shown["openai_compatible"]["kind"], shown["openai_compatible"]["models"]) == (
        "openai_compatible",
        ["small", "large"],
    )
    assert (shown["gemini"]["kind"], shown["gemini"]["models"], shown["gemini"]["has_api_key"]) == ("gemini", [], False)
    policy = {"name": "jokes", "type": "custom", "prompt": "No jokes.", "provider": "openai_compatible"}
    refused = await admin.post("/admin/nlp-policies", json={**policy, "model": "medium"})
    assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, "model")
    assert (await admin.post("/admin/nlp-policies", json={**policy, "model": "large"})).status_code == 201
    tried = await admin.post(f"{_PATH}/test", json={"provider": "openai_compatible"})
    assert (tried.json()["ok"], tried.json()["error"]) == (False, "unreachable")
    assert (await admin.post(f"{_PATH}/test", json={"provider": "gemini"})).status_code == 400


async def test_a_policy_may_name_a_provider_that_is_not_set_yet(gate: Gate) -> None:
    admin = gate.person()
    policy = {"name": "jokes", "type": "custom", "prompt": "No jokes.", "provider": "anthropic", "model": "any"}
    created = await admin.post("/admin/nlp-policies", json=policy)

    assert created.status_code == 201
    assert created.json()["warnings"] == ["the provider anthropic is not configured: until it is, on_error decides"]
    path = f"/admin/nlp-policies/{created.json()['id']}"
    answer = (await admin.post(f"{path}/test", json={"content": "a joke"})).json()
    assert (answer["decision"], answer["details"]["outcome"]) == ("require_approval", "error")
    await admin.put(_PATH, json={"anthropic": {"api_key": _KEY}})
    assert (await admin.get(path)).json()["warnings"] == []


async def test_a_key_that_is_left_out_stays_and_null_forgets_it(gate: Gate) -> None:
    admin = gate.person()
    await admin.put(_PATH, json={"claude": _PROVIDER})

    async def has_key(entry: dict[str, Any]) -> bool:
        answer = await admin.put(_PATH, json={"claude": entry})
        return answer.json()["claude"]["has_api_key"]  # type: ignore[no-any-return]

    assert await has_key({"kind": "anthropic", "input_price": 1.5, "output_price": 5})
    assert not await has_key({"kind": "anthropic", "api_key": None})
    assert not await has_key({"kind": "anthropic"})


async def test_a_key_does_not_follow_to_another_address(gate: Gate) -> None:
    admin = gate.person()
    await admin.put(_PATH, json={"claude": _PROVIDER})
    moved = {"kind": "anthropic", "base_url": "https://elsewhere.example"}

    assert (await admin.put(_PATH, json={"claude": moved})).status_code == 400
    assert (await admin.put(_PATH, json={"claude": {**moved, "api_key": "other-key"}})).status_code == 200
    await admin.put(_PATH, json={})
    answer = await admin.put(_PATH, json={"claude": moved})
    assert not answer.json()["claude"]["has_api_key"]


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"claude": _PROVIDER, "more": 1},
        {"anthropic": {"kind": "anthropic", "models": "one"}},
        {"anthropic": {"models": [""]}},
        {"a": {}},
        {"embedded": _PROVIDER},
        {"Upper": _PROVIDER},
        {"a": {"kind": "embedded"}},
        {"a": {"kind": "other"}},
        {"a": {**_PROVIDER, "extra": 1}},
        {"a": {**_PROVIDER, "base_url": "ftp://x"}},
        {"a": {**_PROVIDER, "base_url": "https://user:pw@x"}},
        {"a": {**_PROVIDER, "base_url": "https://x?y=1"}},
        {"a": {**_PROVIDER, "base_url": "https://x:99999"}},
        {"a": {**_PROVIDER, "api_key": "two words"}},
        {"a": {**_PROVIDER, "api_key": "line\r\nfeed"}},
        {"a": {**_PROVIDER, "api_key": ""}},
        {"a": {**_PROVIDER, "input_price": -1}},
        {f"a{one}": {"kind": "gemini"} for one in range(21)},
    ],
)
async def test_what_cannot_be_set_is_refused(gate: Gate, document: object) -> None:
    answer = await gate.person().put(_PATH, content=json.dumps(document))

    assert answer.status_code == 400
    assert _KEY not in answer.text


async def test_a_provider_is_tried(gate: Gate, model_server: ModelServer) -> None:
    admin = gate.person()
    local = {"kind": "gemini", "base_url": model_server.url, "api_key": _KEY}
    await admin.put(_PATH, json={"local": local})
    body = {"provider": "local", "model": "any"}

    failed = (await admin.post(f"{_PATH}/test", json=body)).json()
    assert (failed["error"], failed["requests"]) == ("refused", None)
    judgement = {"flagged": False, "risk_score": 0, "confidence": 1, "detected_issues": [], "reasoning": "fine"}
    await model_server.answers(json.dumps(judgement))
    answer = (await admin.post(f"{_PATH}/test", json=body)).json()
    assert (answer["ok"], answer["error"], answer["requests"]) == (True, None, 1)
    assert (await admin.post(f"{_PATH}/test", json={**body, "provider": "none"})).status_code == 404


async def test_only_administrators_set_providers(gate: Gate) -> None:
    for role in (Role.VIEWER, Role.APPROVER, Role.AUDITOR):
        person = gate.person(role.value, role)
        assert (await person.get(_PATH)).status_code == 403
        assert (await person.put(_PATH, json={})).status_code == 403
