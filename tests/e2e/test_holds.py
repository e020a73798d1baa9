"""Retry, use, expiry: what an approval covers, and that it is used exactly once."""

import signal
import socket
import threading
from contextlib import closing

import httpx
import pytest

from tests.e2e.clients import Agent, error_of
from tests.e2e.instance import one_more_proxy
from tests.e2e.upstream import serving
from tests.e2e.waiting import wait_for

PAYMENT = {"to": "Globex", "amount": 9000}
MCP_HEADERS = {"accept": "application/json, text/event-stream"}


def rule(path: str, *, verdict: str = "require_approval", approval: str = "{}") -> str:
    """A policy that speaks about one path."""
    package = path.strip("/").replace("/", ".t").replace("-", "_")
    return (
        f"package {package}\n\n"
        f'{verdict} contains "a test asks for it" if input.http.path == "{path}"\n\n'
        f"approval := {approval}\n"
    )


def raw_post(path: str, host: str) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\n"
    return head.encode() + b"hello"


def held_together(administrator, approval_id: str, calls: int) -> None:
    """Until that many calls are attached to the approval."""
    action_id = administrator.approval(approval_id)["action_id"]
    wait_for(
        lambda: administrator.event_types(action_id).count("action.retried") == calls - 1,
        f"{calls} calls wait for {approval_id}",
    )


def test_one_approval_lets_one_of_two_identical_calls_through(administrator, agent, upstream, patient_path) -> None:
    calls = [agent.call_later("POST", upstream.url + patient_path, json=PAYMENT) for _ in range(2)]
    first = administrator.pending(patient_path)
    held_together(administrator, first["id"], 2)
    administrator.approve(first["id"])
    second = administrator.pending(patient_path)
    assert second["repeats"] == first["id"]
    assert second["action_id"] != first["action_id"]
    assert len(upstream.of(patient_path)) == 1
    administrator.deny(second["id"], "one payment is enough")
    assert sorted(call.result().status_code for call in calls) == [200, 403]
    assert len(upstream.of(patient_path)) == 1


def test_two_proxies_use_an_approval_once(instance, administrator, agent, upstream, patient_path) -> None:
    with one_more_proxy(instance) as proxy_url, closing(Agent(instance, proxy_url=proxy_url)) as elsewhere:
        calls = [
            one.call_later("POST", upstream.url + patient_path, json=PAYMENT)
            for one in (agent, elsewhere)
            for _ in range(3)
        ]
        previous = None
        for left in (6, 5):
            approval = administrator.pending(patient_path)
            assert approval["repeats"] == previous
            held_together(administrator, approval["id"], left)
            administrator.approve(approval["id"])
            previous = approval["id"]
        last = administrator.pending(patient_path)
        assert len(upstream.of(patient_path)) == 2
        administrator.deny(last["id"], "twice is enough")
        assert sorted(call.result().status_code for call in calls) == [200, 200, 403, 403, 403, 403]
        assert len(upstream.of(patient_path)) == 2
    started = instance.rows("SELECT used_by FROM approvals WHERE used_by IS NOT NULL GROUP BY 1 HAVING count(*) > 1")
    assert started == []


def test_a_client_that_leaves_leaves_its_approval_open(administrator, agent, upstream, patient_path) -> None:
    with agent.tunnel(upstream.url) as secure:
        secure.sendall(raw_post(patient_path, upstream.url.removeprefix("https://")))
        approval = administrator.pending(patient_path)
    administrator.approve(approval["id"])
    assert administrator.approval(approval["id"])["status"] == "approved"
    with agent.tunnel(upstream.url) as secure:
        # The very same bytes: what was approved is what is sent.
        secure.sendall(raw_post(patient_path, upstream.url.removeprefix("https://")))
        assert secure.recv(4096).startswith(b"HTTP/1.1 200")
    assert len(upstream.of(patient_path)) == 1
    assert [action["id"] for action in administrator.actions_of(patient_path)] == [approval["action_id"]]


def test_of_two_the_one_that_stayed_uses_the_approval(administrator, agent, upstream, patient_path) -> None:
    host = upstream.url.removeprefix("https://")
    with agent.tunnel(upstream.url) as stays:
        with agent.tunnel(upstream.url) as leaves:
            leaves.sendall(raw_post(patient_path, host))
            approval = administrator.pending(patient_path)
            stays.sendall(raw_post(patient_path, host))
            held_together(administrator, approval["id"], 2)
        administrator.approve(approval["id"])
        assert stays.recv(4096).startswith(b"HTTP/1.1 200")
    assert len(upstream.of(patient_path)) == 1


def test_decided_while_the_proxies_were_down(instance, administrator, agent, upstream, patient_path) -> None:
    call = agent.call_later("POST", upstream.url + patient_path, json=PAYMENT)
    approval = administrator.pending(patient_path)
    killed = instance.kill("proxy")
    with pytest.raises(httpx.HTTPError):
        call.result()
    administrator.approve(approval["id"])
    instance.wait_until_restarted("proxy", killed)
    assert agent.call("POST", upstream.url + patient_path, json=PAYMENT).status_code == 200
    assert len(upstream.of(patient_path)) == 1
    [action] = administrator.actions_of(patient_path)
    assert action["approval_id"] == approval["id"]


def test_a_denial_and_an_approval_at_the_same_moment(administrator, agent, upstream, new_path) -> None:
    for _ in range(5):
        path = "/patient" + new_path()
        call = agent.call_later("POST", upstream.url + path, json=PAYMENT)
        approval = administrator.pending(path)
        barrier = threading.Barrier(2)
        answers: dict[str, int] = {}

        def approve(barrier=barrier, approval=approval, answers=answers) -> None:
            barrier.wait()
            answers["approve"] = administrator.approve(approval["id"]).status_code

        def deny(barrier=barrier, approval=approval, answers=answers) -> None:
            barrier.wait()
            answers["deny"] = administrator.deny(approval["id"], "no").status_code

        threads = [threading.Thread(target=decide) for decide in (approve, deny)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers.values()) == [200, 409]
        approved = answers["approve"] == 200
        assert call.result().status_code == (200 if approved else 403)
        assert len(upstream.of(path)) == (1 if approved else 0)
        decided = [name for name in administrator.event_types(approval["action_id"]) if name.startswith("approval.")]
        assert decided == ["approval.requested", "approval.approved" if approved else "approval.denied"]


def test_nothing_sent_gives_the_use_back(administrator, agent, certificates, patient_path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"https://127.0.0.1:{port}{patient_path}"
    call = agent.call_later("POST", url, json=PAYMENT)
    approval = administrator.pending(patient_path)
    administrator.approve(approval["id"])
    refused = call.result()
    assert refused.status_code == 502
    assert error_of(refused)["code"] == "UPSTREAM_FAILED"
    wait_for(lambda: administrator.approval(approval["id"])["used_at"] is None, "the use is given back")
    wait_for(lambda: administrator.action(approval["action_id"])["status"] == "approved", "the action can be used")
    with serving(certificates[1], port) as repaired:
        assert agent.call("POST", url, json=PAYMENT).status_code == 200
        assert len(repaired.of(patient_path)) == 1
    settled = administrator.settled(approval["action_id"])
    assert settled["status"] == "completed"
    assert administrator.event_types(approval["action_id"])[-3:] == [
        *("decision.made", "execution.started", "execution.completed")
    ]
    assert "execution.failed" in administrator.event_types(approval["action_id"])


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


@pytest.mark.parametrize(("decided_minutes_ago", "usable"), [(14, True), (16, False)])
def test_approved_late_it_can_be_used_for_15_minutes(
    instance, administrator, agent, upstream, impatient_path, decided_minutes_ago, usable
) -> None:
    approval_id = error_of(agent.call("POST", upstream.url + impatient_path))["details"]["approval_id"]
    administrator.approve(approval_id)
    instance.execute(
        "UPDATE approvals SET expires_at = now() - interval '1 second', decided_at = now() - %s * interval '1 minute'"
        " WHERE approval_id = %s",
        decided_minutes_ago,
        approval_id,
    )
    response = agent.call("POST", upstream.url + impatient_path)
    if usable:
        assert response.status_code == 200
    else:
        anew = error_of(response)["details"]["approval_id"]
        assert administrator.approval(anew)["repeats"] == approval_id
    assert len(upstream.of(impatient_path)) == int(usable)


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
    assert administrator.approval(explicit)["used_at"] is None
    assert upstream.of(patient_path) == []


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


class TestMcp:
    """MCP clients hide the body of an HTTP error: a call is answered as JSON-RPC says."""

    def message(self, path: str, number: int) -> dict[str, object]:
        params = {"name": "send_mail", "arguments": {"path": path}, "_meta": {"progressToken": number}}
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}

    def test_held_then_approved(self, administrator, agent, upstream, patient_path) -> None:
        options = {"json": self.message(patient_path, 1), "headers": MCP_HEADERS}
        call = agent.call_later("POST", upstream.url + patient_path, **options)
        approval = administrator.pending(patient_path)
        assert approval["action"]["operation"] == "send_mail"
        administrator.approve(approval["id"])
        assert call.result().status_code == 200
        assert len(upstream.of(patient_path)) == 1

    def test_denied(self, administrator, agent, upstream, patient_path) -> None:
        options = {"json": self.message(patient_path, 7), "headers": MCP_HEADERS}
        call = agent.call_later("POST", upstream.url + patient_path, **options)
        administrator.deny(administrator.pending(patient_path)["id"], "no mail today")
        answer = call.result().json()
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", 7)
        assert "result" not in answer
        assert "no mail today" in answer["error"]["message"]
        assert answer["error"]["data"]["error"]["code"] == "APPROVAL_DENIED"

    def test_a_retry_with_another_id_is_the_same_call(self, administrator, agent, upstream, path) -> None:
        url, errors = upstream.url + path, []
        for number in (1, 2):
            options = {"json": self.message(path, number), "headers": MCP_HEADERS}
            answer = agent.call("POST", url, **options).json()
            assert answer["id"] == number
            errors.append(answer["error"]["data"]["error"])
        assert [error["code"] for error in errors] == ["APPROVAL_PENDING"] * 2
        assert errors[0]["details"]["approval_id"] == errors[1]["details"]["approval_id"]
        administrator.approve(errors[0]["details"]["approval_id"])
        options = {"json": self.message(path, 3), "headers": MCP_HEADERS}
        assert agent.call("POST", url, **options).json()["path"] == path


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL], ids=lambda number: number.name)
def test_without_valkey_a_held_call_is_released_by_the_poll(
    instance, administrator, agent, upstream, patient_path, number
) -> None:
    call = agent.call_later("POST", upstream.url + patient_path, json=PAYMENT)
    approval = administrator.pending(patient_path)
    killed = instance.kill("valkey", number)
    try:
        assert administrator.approve(approval["id"]).status_code == 200
        assert call.result(30).status_code == 200
    finally:
        if number is signal.SIGSTOP:
            instance.kill("valkey", signal.SIGCONT)
        else:
            instance.wait_until_restarted("valkey", killed)
    assert len(upstream.of(patient_path)) == 1
