"""How long an approval, and a denial, hold."""

import pytest

from tests.e2e.clients import error_of
from tests.e2e.rules import rule
from tests.e2e.waiting import wait_for


def test_denied_stays_denied_until_it_expires(administrator, agent, upstream, path) -> None:
    url = upstream.url + path
    with administrator.policy(rule(path, approval='{"hold_seconds": 0, "expires_in_seconds": 5}')):
        approval_id = error_of(agent.call("POST", url))["details"]["approval_id"]
        administrator.deny(approval_id, "not this one")
        for _ in range(2):
            error = error_of(agent.call("POST", url))
            assert (error["code"], error["details"]["approval_id"]) == ("APPROVAL_DENIED", approval_id)
        assert len(administrator.actions_of(path)) == 1
        error = wait_for(
            lambda: (error := error_of(agent.call("POST", url)))["code"] != "APPROVAL_DENIED" and error,
            "the denial has expired",
        )
    assert error["code"] == "APPROVAL_PENDING"
    assert administrator.approval(error["details"]["approval_id"])["repeats"] == approval_id
    assert len(administrator.actions_of(path)) == 2
    assert upstream.of(path) == []


def test_an_expired_approval_is_asked_for_anew(administrator, agent, upstream, path) -> None:
    url = upstream.url + path
    with administrator.policy(rule(path, approval='{"hold_seconds": 0, "expires_in_seconds": 1}')):
        first = error_of(agent.call("POST", url))["details"]
        wait_for(lambda: administrator.approval(first["approval_id"])["status"] == "expired", "it expires")
        assert administrator.approve(first["approval_id"]).status_code == 409
        second = error_of(agent.call("POST", url))
    assert second["code"] == "APPROVAL_PENDING"
    assert administrator.approval(second["details"]["approval_id"])["repeats"] == first["approval_id"]
    wait_for(lambda: "approval.expired" in administrator.event_types(first["action_id"]), "its end is recorded")
    assert administrator.event_types(first["action_id"]).count("approval.expired") == 1
    assert administrator.action(first["action_id"])["status"] == "denied"
    assert upstream.of(path) == []


def test_expired_while_the_call_is_held(administrator, agent, upstream, path) -> None:
    """The agent is told: asking anew by itself, each time, would bury the reviewers."""
    with administrator.policy(rule(path, approval='{"hold_seconds": 90, "expires_in_seconds": 1}')):
        error = error_of(agent.call("POST", upstream.url + path))
    assert error["code"] == "APPROVAL_DENIED"
    assert error["details"]["expired"] is True
    assert len(administrator.actions_of(path)) == 1
    assert upstream.of(path) == []


@pytest.mark.parametrize(("decided_minutes_ago", "usable"), [(14, True), (16, False)])
def test_approved_late_it_can_be_used_for_15_minutes(
    instance, administrator, agent, upstream, impatient_path, decided_minutes_ago, usable
) -> None:
    approval_id = error_of(agent.call("POST", upstream.url + impatient_path))["details"]["approval_id"]
    administrator.approve(approval_id)
    [times] = instance.rows("SELECT expires_at, decided_at FROM approvals WHERE approval_id = %s", approval_id)
    instance.execute(
        "UPDATE approvals SET expires_at = now() - interval '1 second', decided_at = now() - %s * interval '1 minute'"
        " WHERE approval_id = %s",
        decided_minutes_ago,
        approval_id,
    )
    response = agent.call("POST", upstream.url + impatient_path)
    # Or verifying would find, rightly, that somebody has changed them.
    restored = "UPDATE approvals SET expires_at = %s, decided_at = %s WHERE approval_id = %s"
    instance.execute(restored, times["expires_at"], times["decided_at"], approval_id)
    if usable:
        assert response.status_code == 200
    else:
        anew = error_of(response)["details"]["approval_id"]
        assert administrator.approval(anew)["repeats"] == approval_id
    assert len(upstream.of(impatient_path)) == int(usable)
