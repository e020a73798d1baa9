"""An approval is used exactly once: two calls, two proxies, nobody there, nothing sent, two reviewers at odds."""

import signal
import threading
from contextlib import closing

import httpx
import pytest

from tests.e2e.clients import Agent, error_of
from tests.e2e.instance import one_more_proxy
from tests.e2e.rules import rule
from tests.e2e.upstream import serving
from tests.e2e.waiting import wait_for
from tests.free_port import free_port

PAYMENT = {"to": "Globex", "amount": 9000}


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
    wait_for(lambda: upstream.of(patient_path), "the first of them has arrived")
    administrator.deny(second["id"], "one payment is enough")
    assert sorted(call.result().status_code for call in calls) == [200, 403]
    assert len(upstream.of(patient_path)) == 1


def test_a_call_that_is_sent_again_waits_again(administrator, agent, upstream, new_path) -> None:
    path = new_path()
    with administrator.policy(rule(path, approval='{"hold_seconds": 2}')):
        assert error_of(agent.call("POST", upstream.url + path, json=PAYMENT))["code"] == "APPROVAL_PENDING"
        approval_id = administrator.pending(path)["id"]
        wait_for(lambda: administrator.approval(approval_id)["held_until"] is None, "nothing waits any more")

        def waiting() -> list[str]:
            return [one["id"] for one in administrator.get("/v1/approvals", status="pending", held=True)["data"]]

        assert approval_id not in waiting()
        again = agent.call_later("POST", upstream.url + path, json=PAYMENT)
        wait_for(lambda: approval_id in waiting(), "the call waits again")
        administrator.approve(approval_id)
        assert again.result().status_code == 200


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
        # The others may be held again before the one that was let through has arrived.
        wait_for(lambda: len(upstream.of(patient_path)) >= 2, "both approved calls have arrived")
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


def _found(administrator, search: dict[str, str]) -> list[str]:
    return [one["id"] for one in administrator.api.get("/v1/actions/search", params=search).json()["data"]]


def test_nothing_sent_gives_the_use_back(administrator, agent, certificates, patient_path) -> None:
    port = free_port()
    url = f"https://127.0.0.1:{port}{patient_path}"
    call = agent.call_later("POST", url, json=PAYMENT)
    approval = administrator.pending(patient_path)
    administrator.approve(approval["id"])
    refused = call.result()
    assert refused.status_code == 502
    assert error_of(refused)["code"] == "UPSTREAM_FAILED"
    wait_for(lambda: administrator.approval(approval["id"])["used_at"] is None, "the use is given back")
    wait_for(lambda: administrator.action(approval["action_id"])["status"] == "approved", "the action can be used")
    failed = {"status": "failed", "path": patient_path}
    assert _found(administrator, failed) == [approval["action_id"]]
    assert _found(administrator, {**failed, "status": "approved"}) == [approval["action_id"]]
    with serving(certificates[1], port) as repaired:
        assert agent.call("POST", url, json=PAYMENT).status_code == 200
        assert len(repaired.of(patient_path)) == 1
    settled = administrator.settled(approval["action_id"])
    assert settled["status"] == "completed"
    assert _found(administrator, failed) == []
    assert administrator.event_types(approval["action_id"])[-3:] == [
        *("decision.made", "execution.started", "execution.completed")
    ]
    assert "execution.failed" in administrator.event_types(approval["action_id"])


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


def test_a_proxy_that_stops_tells_held_calls_to_come_back(
    instance, administrator, agent, upstream, patient_path
) -> None:
    with one_more_proxy(instance) as proxy_url:
        elsewhere = Agent(instance, proxy_url=proxy_url)
        call = elsewhere.call_later("POST", upstream.url + patient_path, json=PAYMENT)
        approval = administrator.pending(patient_path)
    with closing(elsewhere):
        assert call.result(30).status_code == 403
        assert error_of(call.result())["code"] == "APPROVAL_PENDING"
        assert call.result().headers["retry-after"] == "10"
    assert administrator.approve(approval["id"]).status_code == 200
    assert agent.call("POST", upstream.url + patient_path, json=PAYMENT).status_code == 200
    assert len(upstream.of(patient_path)) == 1
