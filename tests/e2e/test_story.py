"""The story that everything else is there for: read, refused, held, approved, denied, told to come back."""

import json

from tests.e2e.clients import Administrator, error_of
from tests.e2e.instance import HOLD_SECONDS
from tests.e2e.waiting import wait_for

PAYMENT = {"to": "Globex", "amount": 9000}


def _agents_named(administrator: Administrator, action_id: str) -> list[str | None]:
    """The names of the agents that did what the call's events say, the outcome included."""
    actors = [event["actor"] for event in administrator.events(action_id)]
    return [actor["name"] for actor in actors if actor["type"] == "agent"]


def test_a_read_is_allowed_recorded_and_forwarded(instance, administrator, agent, upstream, path) -> None:
    response = agent.call("GET", upstream.url + path)
    assert response.status_code == 200
    assert response.json()["path"] == path
    assert len(upstream.of(path)) == 1
    [action] = administrator.actions_of(path)
    assert (action["tool"], action["operation"]) == ("http", "get")
    assert action["decision"]["decision"] == "allow"
    settled = administrator.settled(action["id"])
    assert settled["status"] == "completed"
    assert settled["execution"]["status"] == "succeeded"
    assert settled["execution"]["result"]["status"] == 200
    assert settled["execution"]["result"]["size_bytes"] == len(response.content)
    expected = ["action.submitted", "decision.made", "execution.started", "execution.completed"]
    assert administrator.event_types(action["id"]) == expected
    assert _agents_named(administrator, action["id"]) == ["default"] * 3
    # Durable before the first byte went upstream, by the database's own word.
    [started] = instance.rows("SELECT started_at FROM executions WHERE action_id = %s", action["id"])
    assert started["started_at"].timestamp() <= upstream.of(path)[0].at


def test_an_answer_of_404_is_a_failed_execution(administrator, agent, upstream) -> None:
    assert agent.call("GET", upstream.url + "/missing/page").status_code == 404
    [action] = administrator.actions_of("/missing/page")
    settled = administrator.settled(action["id"])
    assert (settled["status"], settled["execution"]["status"]) == ("failed", "failed")
    assert settled["execution"]["error"] == "the destination answered 404"


def test_a_deletion_is_denied(instance, administrator, agent, upstream, path) -> None:
    response = agent.call("DELETE", upstream.url + path)
    assert response.status_code == 403
    error = error_of(response)
    assert error["code"] == "ACTION_DENIED"
    assert response.reason_phrase == f"Denied by policy {error['details']['action_id']}"
    assert "cannot be undone" in error["message"]
    assert upstream.of(path) == []
    [action] = administrator.actions_of(path)
    assert action["id"] == error["details"]["action_id"]
    assert error["details"]["help_url"] == f"{instance.runtime['api_url']}/calls/{action['id']}"
    assert (action["status"], action["execution"]) == ("denied", None)
    assert administrator.event_types(action["id"]) == ["action.submitted", "decision.made"]


def test_a_write_is_held_until_it_is_approved(administrator, agent, upstream, patient_path) -> None:
    call = agent.call_later("POST", upstream.url + patient_path, json=PAYMENT)
    approval = administrator.pending(patient_path)
    assert approval["action"]["params"]["body"] == PAYMENT
    assert upstream.of(patient_path) == []
    assert not call.done()
    assert administrator.approve(approval["id"]).status_code == 200
    assert call.result().status_code == 200
    [received] = upstream.of(patient_path)
    assert received.method == "POST"
    settled = administrator.settled(approval["action_id"])
    assert settled["execution"]["status"] == "succeeded"
    assert administrator.approval(approval["id"])["used_at"] is not None
    assert administrator.event_types(approval["action_id"]) == [
        *("action.submitted", "decision.made", "approval.requested", "approval.approved"),
        *("decision.made", "execution.started", "execution.completed"),
    ]
    agents = _agents_named(administrator, approval["action_id"])
    assert agents[-1] == "default" and set(agents) == {"default"}
    first, again = (one for one in administrator.events(approval["action_id"]) if one["event_type"] == "decision.made")
    assert "matched_by" not in first["data"]
    # Decided again at the moment of use: still to be approved, and this approval is the one asked for.
    assert (again["data"]["decision"], again["data"]["evaluated_for"]) == ("require_approval", "use")
    assert again["data"]["matched_by"] == approval["id"]


def test_a_denial_carries_the_reviewers_reason(administrator, agent, upstream, patient_path) -> None:
    call = agent.call_later("POST", upstream.url + patient_path, json=PAYMENT)
    approval = administrator.pending(patient_path)
    administrator.deny(approval["id"], "not to Globex, they are in liquidation")
    response = call.result()
    assert response.status_code == 403
    error = error_of(response)
    assert error["code"] == "APPROVAL_DENIED"
    assert "not to Globex, they are in liquidation" in error["message"]
    assert response.reason_phrase == f"Denied by reviewer {approval['id']}"
    assert upstream.of(patient_path) == []
    assert administrator.action(approval["action_id"])["status"] == "denied"


def test_told_to_come_back_and_coming_back(instance, administrator, agent, upstream, path) -> None:
    url = upstream.url + path
    first = agent.call("POST", url, json=PAYMENT)
    assert first.status_code == 403
    error = error_of(first)
    assert error["code"] == "APPROVAL_PENDING"
    approval_id, action_id = error["details"]["approval_id"], error["details"]["action_id"]
    assert first.reason_phrase == f"Held for approval {approval_id}"
    assert int(first.headers["retry-after"]) >= 1
    assert error["details"]["status_url"] == f"{instance.runtime['api_url']}/v1/actions/{action_id}?wait=30"
    assert first.elapsed.total_seconds() >= HOLD_SECONDS - 0.1
    assert upstream.of(path) == []

    # A plain retry attaches to the pending approval: the same action, and one more event.
    second = agent.call("POST", url, json=PAYMENT)
    assert error_of(second)["details"]["approval_id"] == approval_id
    assert len(administrator.actions_of(path)) == 1
    assert administrator.event_types(action_id)[-1] == "action.retried"

    # Approved while nobody was waiting: the next one goes through.
    administrator.approve(approval_id)
    assert agent.call("POST", url, json=PAYMENT).status_code == 200
    assert len(upstream.of(path)) == 1
    assert administrator.settled(action_id)["execution"]["status"] == "succeeded"

    # Used up: the same call asks anew, and says which approval it repeats.
    anew = error_of(agent.call("POST", url, json=PAYMENT))["details"]
    assert anew["approval_id"] != approval_id
    assert anew["action_id"] != action_id
    assert administrator.approval(anew["approval_id"])["repeats"] == approval_id
    assert len(upstream.of(path)) == 1


def test_the_status_address_with_the_agents_own_key(instance, administrator, agent, upstream, path) -> None:
    """As the refusal says: directly, and through the gate, whose guard lets exactly this origin through."""
    status_url = error_of(agent.call("POST", upstream.url + path, json=PAYMENT))["details"]["status_url"]
    headers = {"authorization": f"Bearer {agent.key}"}
    from_gate = agent.call_later("GET", status_url, headers=headers)
    approval = administrator.pending(path)
    administrator.approve(approval["id"])
    assert from_gate.result().json()["status"] == "approved"


def test_the_chain_is_valid(instance, administrator) -> None:
    def sealed() -> int:
        [counted] = instance.rows(
            "SELECT count(*) AS events FROM audit_chain WHERE org_id = (SELECT org_id FROM agents WHERE agent_id = %s)",
            instance.runtime["agent_id"],
        )
        return int(counted["events"])

    before = sealed()
    verified = wait_for(
        lambda: administrator.api.post("/admin/audit/verify", json={}).json(), "the chain can be verified"
    )
    assert verified["valid"], json.dumps(verified)
    # Verifying seals what waits; what other calls leave behind may be sealed on either side of it.
    assert 0 < before <= verified["events_verified"] <= sealed()
