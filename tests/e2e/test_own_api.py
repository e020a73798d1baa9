"""The status address of a held call is readable through the gate too, with the agent's own key."""

from tests.e2e.clients import error_of


def test_the_status_address_is_readable_through_the_gate(instance, agent, upstream, path) -> None:
    held = agent.call("POST", upstream.url + path, json={"amount": 1})
    error = error_of(held)
    assert error["code"] == "APPROVAL_PENDING"
    answer = agent.call(
        "GET",
        error["details"]["status_url"].replace("wait=30", "wait=0"),
        headers={"X-Agent-Key": instance.runtime["agent_key"]},
    )
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "pending_approval"
