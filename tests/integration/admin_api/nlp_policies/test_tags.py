"""Policies that tag, from the decision to the lists: the call passes, and its kinds are found again."""

from typing import Any

import pytest

from headgate.nlp_policies import detector_round
from headgate.organizations.model import Role
from tests.integration.admin_api.conftest import Gate

_MAIL = {"to": "maria.keller@example.com"}
_TAG = {"name": "Label addresses", "type": "pii_detection", "threshold": 0.6, "on_match": "tag"}


async def _policy(gate: Gate, **fields: Any) -> str:
    answer = await gate.person().post("/admin/nlp-policies", json=_TAG | fields)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def _submitted(gate: Gate, tool: str, params: dict[str, Any]) -> dict[str, Any]:
    answer = await gate.as_agent.post("/v1/actions", json={"tool": tool, "operation": "go", "params": params})
    assert answer.status_code in (201, 202), answer.text
    return answer.json()  # type: ignore[no-any-return]


async def _listed(gate: Gate, path: str) -> list[str]:
    answer = await gate.person().get(path)
    assert answer.status_code == 200, answer.text
    return [one["id"] for one in answer.json()["data"]]


async def test_a_tagged_call_passes_and_every_list_finds_it(gate: Gate) -> None:
    policy_id = await _policy(gate)
    other = await _submitted(gate, "read", {"to": "nobody"})
    tagged = await _submitted(gate, "read", _MAIL)
    assert (tagged["status"], tagged["decision"]["policy_id"]) == ("allowed", other["decision"]["policy_id"])

    person = gate.person()
    action = (await person.get(f"/v1/actions/{tagged['id']}?expand=all")).json()
    assert action["tags"] == ["email"]
    assert [one["decision"] for one in action["policies"] if one["policy_id"] == policy_id] == ["tag"]
    assert "tags" not in (await person.get(f"/v1/actions/{tagged['id']}")).json()
    assert (await person.get(f"/v1/actions/{other['id']}?expand=all")).json()["tags"] == []
    for path in ("/v1/actions?tag=email", "/v1/actions/search?tag=email", "/v1/actions/search?tag=email&tool=read"):
        assert await _listed(gate, path) == [tagged["id"]]
    assert await _listed(gate, "/v1/actions?tag=iban") == []
    assert (await person.get("/v1/actions?tag=email")).json()["pagination"]["total"] == 1


async def test_a_held_call_is_tagged_too(gate: Gate) -> None:
    await _policy(gate)
    held = await _submitted(gate, "write", _MAIL)
    assert held["status"] == "pending_approval"
    assert await _listed(gate, "/v1/actions?tag=email&status=pending_approval") == [held["id"]]


async def test_the_pages_show_the_tags(gate: Gate) -> None:
    policy_id = await _policy(gate)
    tagged = await _submitted(gate, "read", _MAIL)
    viewer = gate.person("vera", Role.VIEWER)
    link = 'href="/activity?q=tag:email"'
    assert link in (await viewer.get(f"/calls/{tagged['id']}")).text
    shown = (await viewer.get("/activity?q=tag:email")).text
    assert link in shown and tagged["id"] in shown
    assert tagged["id"] not in (await viewer.get("/activity?q=tag:iban")).text
    assert "Tag</span>" in (await gate.person().get("/policies/content")).text
    form = (await gate.person().get(f"/policies/content/{policy_id}")).text
    assert '<option value="tag" selected>' in form


async def test_a_dry_run_and_a_test_say_tag(gate: Gate) -> None:
    policy_id = await _policy(gate)
    body = {"action": {"tool": "read", "operation": "go", "params": _MAIL}, "agent_id": gate.agent_id}
    would = (await gate.person().post("/v1/dry-run", json=body)).json()
    assert (would["decision"], [one["decision"] for one in would["nlp"]]) == ("allow", ["tag"])
    tried = await gate.person().post(f"/admin/nlp-policies/{policy_id}/test", json={"content": _MAIL["to"]})
    assert tried.json()["decision"] == "tag"


async def test_a_defect_lets_nothing_pass(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    await _policy(gate, on_error="deny")

    def explode(*_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(detector_round.AssessedContent, "assess", explode)
    assert (await _submitted(gate, "read", _MAIL))["status"] == "denied"


async def test_only_detectors_tag(gate: Gate) -> None:
    policy_id = await _policy(gate)
    refused = await gate.person().patch(
        f"/admin/nlp-policies/{policy_id}", json={"provider": "openai_compatible", "model": "m"}
    )
    assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, "on_match")
