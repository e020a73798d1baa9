"""A stop reaches every proxy at once, held calls too, with Valkey or without."""

import signal
import time

from tests.e2e.clients import error_of

STOP = "/admin/settings/kill-switch"


def stop(administrator, *, stopped: bool) -> None:
    reason = "an incident" if stopped else "it is over"
    answer = administrator.api.put(STOP, json={"scope": "organization", "reason": reason, "stopped": stopped})
    assert answer.status_code == 200, answer.text


def test_held_calls_and_new_ones_are_refused_until_it_is_lifted(
    instance, administrator, agent, upstream, patient_path, path
) -> None:
    held = [agent.call_later("POST", f"{upstream.url}{patient_path}/{number}", json={}) for number in range(4)]
    approvals = [administrator.pending(f"{patient_path}/{number}") for number in range(4)]
    instance.kill("valkey", signal.SIGSTOP)
    try:
        began = time.monotonic()
        stop(administrator, stopped=True)
        try:
            refusals = [error_of(call.result(timeout=30)) for call in held]
            took = time.monotonic() - began
            assert {error["code"] for error in refusals} == {"ACTION_DENIED"}
            assert all("is stopped: an incident" in error["message"] for error in refusals)
            assert took < 5, f"{took:.1f} s"
            administrator.approve(approvals[0]["id"])
            again = agent.call("POST", f"{upstream.url}{patient_path}/0", json={})
            assert error_of(again)["code"] == "ACTION_DENIED", "approved before, stopped now"
            assert agent.call("GET", upstream.url + path).status_code == 403
        finally:
            stop(administrator, stopped=False)
    finally:
        instance.kill("valkey", signal.SIGCONT)
    assert agent.call("GET", upstream.url + path).status_code == 200
    assert agent.call("POST", f"{upstream.url}{patient_path}/0", json={}).status_code == 200, "its approval is unused"
    assert len(upstream.of(f"{patient_path}/0")) == 1
    assert upstream.of(f"{patient_path}/1") == []


def test_the_same_at_a_terminal(instance, agent, upstream, path) -> None:
    stopped = instance.try_command("stop", "--tool", "http", "--reason", "an incident at a terminal")
    assert "the tool http is stopped since" in stopped.stdout, stopped.stderr
    try:
        refused = error_of(agent.call("GET", upstream.url + path))
        assert refused["message"] == "this tool is stopped: an incident at a terminal"
        assert "is stopped since" in instance.try_command("doctor").stdout
        again = instance.try_command("start", "--tool", "http", "--reason", "an incident at a terminal")
        assert (again.returncode, "give the reason to resume" in again.stderr) == (1, True)
    finally:
        started = instance.try_command("start", "--tool", "http", "--reason", "it is over")
    assert started.stdout == "nothing is stopped\n"
    assert agent.call("GET", upstream.url + path).status_code == 200


def test_an_agent_is_stopped_by_its_name(instance) -> None:
    try:
        stopped = instance.try_command("stop", "--agent", "default", "--reason", "it runs wild")
        assert f"the agent {instance.runtime['agent_id']} is stopped since" in stopped.stdout, stopped.stderr
        nobody = instance.try_command("stop", "--agent", "defaul", "--reason", "a typing error")
        assert (nobody.returncode, "no agent defaul" in nobody.stderr) == (1, True)
    finally:
        started = instance.try_command("start", "--agent", "default", "--reason", "it was looked at")
    assert started.stdout == "nothing is stopped\n"


def test_a_stop_of_a_tool_that_nobody_ever_called_is_questioned(instance) -> None:
    stopped = instance.try_command("stop", "--tool", "no_such_tool", "--reason", "a typing error")
    try:
        assert "the tool no_such_tool is stopped since" in stopped.stdout
        assert "no recorded call of a tool no_such_tool. Check the name:" in stopped.stderr
    finally:
        instance.try_command("start", "--tool", "no_such_tool", "--reason", "it was one")


def test_a_suspended_agent_is_refused_inside_an_open_tunnel(instance, administrator, agent, upstream, path) -> None:
    address = f"/admin/agents/{instance.runtime['agent_id']}"
    with agent.client() as client:
        assert client.get(upstream.url + path).status_code == 200
        assert administrator.api.post(f"{address}/suspend", json={"reason": "under review"}).status_code == 200
        try:
            assert client.get(f"{upstream.url}{path}/suspended").status_code in (401, 403, 407)
            assert upstream.of(f"{path}/suspended") == []
        finally:
            assert administrator.api.post(f"{address}/resume").status_code == 200
    time.sleep(1.1)  # that a key did not work is believed for a second
    assert agent.call("GET", f"{upstream.url}{path}/resumed").status_code == 200
