"""What an approval covers: one very call, of one source, by the policies of the moment of its use."""

import httpx
import pytest

from headgate.kernel.public_roots import public_roots
from tests.e2e.clients import error_of
from tests.e2e.rules import rule

PAYMENT = {"to": "Globex", "amount": 9000}


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({"content": b"amount=9001"}, False),
        ({"headers": {"x-account": "2"}}, False),
        ({"params": {"dry_run": "0"}}, False),
        ({"headers": {"user-agent": "another", "traceparent": "00-1-2-01", "cookie": "session=2"}}, True),
    ],
    ids=["body", "header", "query", "what no approval covers"],
)
def test_what_an_approval_covers(administrator, agent, upstream, impatient_path, changed, same) -> None:
    call = {"content": b"amount=9000", "headers": {"x-account": "1"}}
    first = error_of(agent.call("POST", upstream.url + impatient_path, **call))["details"]["approval_id"]
    administrator.approve(first)
    headers = {**call["headers"], **changed.get("headers", {})}
    response = agent.call("POST", upstream.url + impatient_path, **{**call, **changed, "headers": headers})
    if same:
        assert response.status_code == 200
    else:
        error = error_of(response)
        assert error["code"] == "APPROVAL_PENDING"
        assert error["details"]["approval_id"] != first
        # Another call altogether: it repeats nothing, and the first one's approval still serves the first.
        assert administrator.approval(error["details"]["approval_id"])["repeats"] is None
        assert agent.call("POST", upstream.url + impatient_path, **call).status_code == 200
    assert len(upstream.of(impatient_path)) == 1


def test_an_explicit_approval_serves_no_intercepted_call(
    instance, administrator, agent, upstream, patient_path
) -> None:
    call = agent.call_later("POST", upstream.url + patient_path, json=PAYMENT)
    intercepted = administrator.pending(patient_path)
    submitted = httpx.post(
        instance.runtime["api_url"] + "/v1/actions",
        verify=public_roots(),
        json={name: intercepted["action"][name] for name in ("tool", "operation", "params")},
        headers={"authorization": f"Bearer {agent.key}"},
        trust_env=False,
    )
    assert submitted.status_code == 202, submitted.text
    explicit = submitted.json()["approval_id"]
    assert explicit != intercepted["id"]
    assert administrator.approve(explicit).status_code == 200
    assert administrator.approval(intercepted["id"])["status"] == "pending"
    administrator.deny(intercepted["id"], "the other one was meant")
    assert call.result().status_code == 403
    # What was approved, Headgate may carry out itself, once.
    assert administrator.approval(intercepted["id"])["used_at"] is None
    assert len(upstream.of(patient_path)) <= 1


def test_a_policy_of_now_refuses_what_was_approved(administrator, agent, upstream, impatient_path) -> None:
    url = upstream.url + impatient_path
    approval_id = error_of(agent.call("POST", url))["details"]["approval_id"]
    administrator.approve(approval_id)
    with administrator.policy(rule(impatient_path, verdict="deny")):
        error = error_of(agent.call("POST", url))
        assert error["code"] == "ACTION_DENIED"
        assert "a test asks for it" in error["message"]
    assert upstream.of(impatient_path) == []
    # The policy is gone, and the approval was not used.
    assert agent.call("POST", url).status_code == 200


def test_a_policy_of_now_that_demands_more_asks_anew(administrator, agent, upstream, impatient_path) -> None:
    url = upstream.url + impatient_path
    approved = error_of(agent.call("POST", url))["details"]["approval_id"]
    administrator.approve(approved)
    with administrator.policy(rule(impatient_path, approval='{"required_approvals": 2, "hold_seconds": 0}')):
        error = error_of(agent.call("POST", url))
        assert error["code"] == "APPROVAL_PENDING"
        anew = administrator.approval(error["details"]["approval_id"])
        assert (anew["repeats"], anew["required_approvals"]) == (approved, 2)
        # Still pending when it is outgrown itself: it gives way to one that covers both policies.
        with administrator.policy(rule(impatient_path, approval='{"required_approvals": 3}')):
            error = error_of(agent.call("POST", url))
            last = administrator.approval(error["details"]["approval_id"])
            assert (last["repeats"], last["required_approvals"]) == (anew["id"], 3)
            assert administrator.approval(anew["id"])["status"] == "expired"
            assert "approval.superseded" in administrator.event_types(anew["action_id"])
    assert upstream.of(impatient_path) == []
