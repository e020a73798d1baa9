"""``headgate approvals``, ``grants`` and ``break-glass``, as a person and a script use them."""

import json
import subprocess
import sys
import threading

import pytest

from tests.e2e.clients import error_of
from tests.e2e.rules import rule
from tests.e2e.waiting import wait_for


def _held(agent, upstream, path: str, **body: object) -> str:
    refused = error_of(agent.call("POST", upstream.url + path, json=body or {"a": 1}))
    assert refused["code"] == "APPROVAL_PENDING"
    return str(refused["details"]["approval_id"])


def _approvals(instance, name: str, *words: str):
    return instance.try_subcommand("approvals", name, *words)


def test_the_exit_status_tells_the_decision(instance, administrator, agent, upstream, impatient_path) -> None:
    pending = _held(agent, upstream, impatient_path)
    shown = _approvals(instance, "show", pending, "--wait", "1")
    assert (shown.returncode, "wants to send POST https://127.0.0.1" in shown.stdout) == (5, True), shown.stderr
    assert _approvals(instance, "show", pending).returncode == 0

    waiting: list[int] = []
    thread = threading.Thread(
        target=lambda: waiting.append(_approvals(instance, "show", pending, "--wait", "60", "--json").returncode)
    )
    thread.start()
    assert _approvals(instance, "approve", pending).returncode == 0
    thread.join()
    assert waiting == [0]

    denied = _held(agent, upstream, impatient_path, other=True)
    assert _approvals(instance, "deny", denied, "--reason", "no").returncode == 0
    assert _approvals(instance, "show", denied, "--wait", "60").returncode == 3
    again = _approvals(instance, "deny", denied, "--reason", "no")
    assert (again.returncode, "already denied" in again.stderr) == (1, True)
    unknown = _approvals(instance, "approve", "apr_nope")
    assert unknown.returncode == 1
    assert "no approval request apr_nope. headgate approvals list --status all lists them" in unknown.stderr


def test_an_expired_one_has_its_own_exit_status(instance, administrator, agent, upstream, path) -> None:
    with administrator.policy(rule(path, approval='{"hold_seconds": 0, "expires_in_seconds": 3}')):
        approval_id = _held(agent, upstream, path)
        assert _approvals(instance, "show", approval_id, "--wait", "30").returncode == 4


def test_several_at_once(instance, agent, upstream, impatient_path) -> None:
    first, second = [_held(agent, upstream, impatient_path, number=number) for number in range(2)]
    done = _approvals(instance, "approve", first, second)
    assert (done.returncode, done.stdout.splitlines()) == (0, [f"{first} is approved", f"{second} is approved"])
    third = _held(agent, upstream, impatient_path, number=3)
    mixed = _approvals(instance, "deny", third, second, "--reason", "no", "--json")
    assert mixed.returncode == 1
    assert [one["result"] for one in json.loads(mixed.stdout)["results"]] == ["voted", "error"]


def test_other_people_are_asked(instance, administrator, agent, upstream, impatient_path) -> None:
    pending = _held(agent, upstream, impatient_path)
    done = _approvals(instance, "reassign", pending[-4:], "ana@example.com", "--reason", "on call")
    assert (done.returncode, done.stdout) == (0, f"{pending} waits for ana@example.com\n"), done.stderr
    done = _approvals(instance, "escalate", pending)
    assert (done.returncode, done.stdout) == (0, f"{pending} waits for ana@example.com\n"), done.stderr
    again = _approvals(instance, "escalate", pending)
    assert (again.returncode, "escalated" in again.stderr) == (1, True)


def test_a_grant_from_giving_to_revoking(instance, agent, upstream, impatient_path) -> None:
    approval_id = _held(agent, upstream, impatient_path)
    bounds = ("--uses", "2", "--for", "10m", "--reason", "the release")
    done = _approvals(instance, "grant", approval_id, *bounds, "--where", f"path^={impatient_path}", "--json")
    assert done.returncode == 0, done.stderr
    grant_id = json.loads(done.stdout)["grant"]["id"]
    assert agent.call("POST", upstream.url + impatient_path, json={"b": 2}).status_code == 200
    listed = instance.try_subcommand("grants", "list")
    assert (listed.returncode, grant_id in listed.stdout, "1/2" in listed.stdout) == (0, True, True)
    shown = instance.try_subcommand("grants", "show", grant_id)
    assert ("1 of 2" in shown.stdout, f"path^={impatient_path}" in shown.stdout) == (True, True)
    revoked = instance.try_subcommand("grants", "revoke", grant_id, "--reason", "released")
    assert revoked.stdout == f"{grant_id} is revoked\n"
    assert error_of(agent.call("POST", upstream.url + impatient_path, json={"c": 3}))["code"] == "APPROVAL_PENDING"
    created = instance.try_subcommand(
        "grants", "create", "--agent", instance.runtime["agent_id"], "--tool", "http", "--operation", "post",
        *bounds, "--where", f"path={impatient_path}",
    )  # fmt: skip
    assert (created.returncode, "in force: 2 uses" in created.stdout) == (0, True), created.stderr
    assert agent.call("POST", upstream.url + impatient_path, json={"d": 4}).status_code == 200


def test_breaking_the_glass_needs_the_role(instance, agent, upstream, path) -> None:
    denied = error_of(agent.call("DELETE", upstream.url + path))
    refused = instance.try_subcommand("break-glass", "open", denied["details"]["action_id"], "--reason", "INC-7")
    assert (refused.returncode, "break_glass:write" in refused.stderr) == (1, True)
    assert instance.try_subcommand("break-glass", "list", "--open").returncode == 0


def test_watch_shows_what_happens_and_keeps_its_place(instance, agent, upstream, impatient_path) -> None:
    command = [sys.executable, "-m", "headgate.cli.main", "approvals", "watch", "--json", "--count", "2"]
    command += ["--runtime-file", str(instance.runtime_file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        # It follows from now on; what it follows is asked for until it has seen some.
        approval_ids: list[str] = []
        lines: list[str] = []
        reading = threading.Thread(target=lambda: lines.extend(watching.stdout or ()))
        reading.start()

        def ask() -> bool:
            approval_ids.append(_held(agent, upstream, impatient_path, number=len(approval_ids)))
            return watching.poll() is not None

        wait_for(ask, "two events were shown", seconds=60)
        reading.join()
    events = [json.loads(line) for line in lines]
    assert [one["event"] for one in events] == ["approval.requested"] * 2
    places = [approval_ids.index(one["approval_id"]) for one in events]
    assert places[1] == places[0] + 1
    later = _approvals(instance, "watch", "--since", events[0]["id"], "--count", "1")
    assert events[1]["approval_id"] in later.stdout


@pytest.mark.parametrize(("option", "value"), [("--since", "x"), ("--since", "²"), ("--count", "0")])
def test_watch_says_what_is_wrong(instance, option, value) -> None:
    ended = _approvals(instance, "watch", option, value)
    assert ended.returncode == 2
    assert f"'{option}'" in ended.stderr
