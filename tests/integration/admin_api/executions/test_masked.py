"""Explicit actions in which policies replace what they find: what runs is what was decided, recorded and approved."""

import json

import pytest

from headgate.nlp_policies import detector_round

_MAIL = "maria.keller@example.com"
_MASKED = "[masked: email]"
_MASK = {"name": "Mask addresses", "type": "pii_detection", "threshold": 0.6, "on_match": "mask"}
_ORDER = {"tool": "shop", "operation": "create_order", "params": {"note": f"for {_MAIL}", "n": 1.5}}
_RULES = "package gate\n\n{} if true\n"


@pytest.fixture
async def gate(new_gate, reach, request):
    made = await new_gate(_RULES.format(getattr(request, "param", "allow")))
    await reach(made)
    created = await made.person().post("/admin/nlp-policies", json=_MASK)
    assert created.status_code == 201, created.text
    return made


async def _submitted(gate, body=_ORDER) -> dict:
    answer = await gate.as_agent.post("/v1/actions", json=body)
    assert answer.status_code in (201, 202), answer.text
    return answer.json()


async def test_what_runs_is_the_masked_call(gate, working, service, ended) -> None:
    submitted = await _submitted(gate)
    assert submitted["status"] == "allowed"
    async with working():
        action = await ended(gate.as_agent, submitted["id"])
    assert action["status"] == "completed"
    [(_, path, headers, body)] = service.requests
    assert (path, json.loads(body)) == ("/orders", {"note": f"for {_MASKED}", "n": 1.5})
    assert {name.lower(): value for name, value in headers.items()}["content-length"] == str(len(body))
    shown = (await gate.person().get(f"/v1/actions/{submitted['id']}?expand=all")).json()
    assert (shown["masked"], shown["request"]["params"]["note"]) == (
        {"count": 1, "kinds": ["email"]},
        f"for {_MASKED}",
    )
    events = (await gate.person().get("/admin/audit", params={"action_id": submitted["id"]})).text
    assert _MAIL not in events and '"masked"' in events
    page = (await gate.person().get(f"/calls/{submitted['id']}")).text
    assert "replaced 1 finding before it was sent: email" in page


async def test_a_dry_run_says_what_the_live_path_does(gate) -> None:
    async def supposed(action: dict) -> tuple[str, str]:
        answer = await gate.person().post("/v1/dry-run", json={"action": action, "agent_id": gate.agent_id})
        assert answer.status_code == 200, answer.text
        return answer.json()["decision"], answer.json()["nlp"][-1]["decision"]

    assert await supposed(_ORDER) == ("allow", "mask")
    assert await supposed({**_ORDER, "context": {"note": _MAIL}}) == ("require_approval", "require_approval")


@pytest.mark.parametrize("gate", ["require_approval"], indirect=True)
async def test_an_approval_is_for_the_masked_call(gate, working, service, ended) -> None:
    submitted = await _submitted(gate)
    assert submitted["status"] == "pending_approval"
    approval = await gate.person().get(f"/v1/approvals/{submitted['approval_id']}")
    assert _MAIL not in approval.text and _MASKED in approval.text
    approved = await gate.person().post(f"/v1/approvals/{submitted['approval_id']}/approve", json={})
    assert approved.status_code == 200, approved.text
    async with working():
        action = await ended(gate.as_agent, submitted["id"])
    assert action["status"] == "completed"
    assert [json.loads(body)["note"] for *_, body in service.requests] == [f"for {_MASKED}"]


@pytest.mark.parametrize(
    "body",
    [
        {"tool": "shop", "operation": "get_order", "params": {"order": _MAIL}},
        {**_ORDER, "context": {"note": _MAIL}},
        {**_ORDER, "params": {_MAIL: 1}},
        {**_ORDER, "params": {"note": _MAIL.encode().hex()}},
        {"tool": "unknown", "operation": "go", "params": {"note": _MAIL}},
    ],
    ids=["path", "context", "name", "encoded", "of the agent"],
)
async def test_what_cannot_be_masked_is_held(gate, service, body) -> None:
    assert (await _submitted(gate, body))["status"] == "pending_approval"
    assert service.requests == []


async def test_a_policy_of_later_lets_no_unmasked_call_run(new_gate, reach, working, service, ended) -> None:
    made = await new_gate(_RULES.format("allow"))
    await reach(made)
    submitted = await _submitted(made)
    await made.person().post("/admin/nlp-policies", json=_MASK)
    async with working():
        action = await ended(made.as_agent, submitted["id"])
    assert (action["status"], service.requests) == ("failed", [])
    assert "submit it again" in action["execution"]["error"]


@pytest.mark.parametrize("failing", [1, 2])
@pytest.mark.parametrize("error", [RuntimeError("a defect"), TimeoutError()], ids=["defect", "time-out"])
async def test_a_detector_that_fails_lets_nothing_pass(gate, service, monkeypatch, failing: int, error) -> None:
    """At the first look, and at the one that follows the replacement."""
    looks = 0
    assess = detector_round.AssessedContent.assess

    def explode(content, query):
        nonlocal looks
        looks += 1
        if looks >= failing:
            raise error
        return assess(content, query)

    monkeypatch.setattr(detector_round.AssessedContent, "assess", explode)
    assert (await _submitted(gate))["status"] == "pending_approval"
    assert looks == failing
