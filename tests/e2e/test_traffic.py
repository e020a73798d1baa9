"""Intercepted traffic from the agent's call to the page of whoever looks at it, in a whole instance."""

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.io import FlowReader

from tests.e2e.waiting import wait_for

SETTING = "/admin/settings/captures"
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
CARD = "4111 1111 1111 1111"
MAIL = "eva.muster@example.com"


@contextmanager
def capturing(administrator: Any, **rule: object) -> Iterator[None]:
    """Everything is captured, or what ``rule`` says, for as long as the block runs."""
    answer = administrator.api.put(SETTING, json={"rules": [{"capture": "bodies", **rule}]})
    assert answer.status_code == 200, answer.text
    try:
        yield
    finally:
        administrator.api.put(SETTING, json={"rules": []}).raise_for_status()


def captured(administrator: Any, path: str, *, count: int = 1) -> list[dict[str, Any]]:
    """The exchanges of a path, oldest first, once so many are there."""

    def look() -> list[dict[str, Any]] | None:
        found = administrator.get("/admin/traffic", limit=200)["data"]
        mine = [one for one in found if (one["target"] or "").partition("?")[0] == path]
        return mine[::-1] if len(mine) >= count else None

    return wait_for(look, f"{count} exchanges of {path} are captured", seconds=90)


def test_an_exchange_is_captured_masked_and_shown_and_the_look_is_recorded(
    instance, administrator, agent, upstream, patient_path
) -> None:
    path = patient_path.replace("/patient", "/patient/traffic")
    body = {"password": "correct horse battery", "note": f"pay {CARD} for {MAIL}", "plain": "stays as it is"}
    with administrator.without_content_policies(), capturing(administrator):
        call = agent.call_later("POST", f"{upstream.url}{path}?token={SECRET}&q=1", json=body)
        administrator.approve(administrator.pending(path)["id"]).raise_for_status()
        assert call.result(60).status_code == 200
        (found,) = captured(administrator, path)
    assert (found["decision"], found["status"], found["method"]) == ("approved", 200, "POST")
    assert SECRET not in json.dumps(found)
    shown = administrator.get(f"/admin/traffic/{found['id']}")
    text = json.dumps(shown)
    for secret in (SECRET, CARD, MAIL, "correct horse", instance.runtime["agent_key"]):
        assert secret not in text, secret
    sent = json.loads(shown["request"]["body"]["text"])
    assert sent == {"note": "pay [masked] for [masked]", "password": "[masked]", "plain": "stays as it is"}
    assert shown["request"]["body"]["view"] == "JSON"
    assert shown["masking"]["request.body"] == {"places": 3, "kinds": {"email": 1, "payment_card": 1}}
    assert shown["masking"]["request.target"]["places"] >= 1
    assert shown["response"]["body"]["text"]
    events = administrator.get("/admin/audit", event_type="traffic.read", limit=10)["data"]
    assert any(event["data"]["exchange_id"] == found["id"] for event in events)
    assert json.loads(upstream.of(path)[0].body) == body, "what passes is not touched"
    for file in (instance.folder / "data" / "captures").rglob("*"):
        assert b"correct horse" not in (file.read_bytes() if file.is_file() else b"")


_RULES = """package e2e.masked

allow if input.http.path == "{path}/allowed"

deny contains "no" if input.http.path == "{path}/denied"

deny contains "no note that is masked" if {{
	input.http.path == "{path}/denied_masked"
	contains(json.marshal(input.params), "[masked: keyword]")
}}

allow if input.http.path == "{path}/denied_masked"

require_approval contains "a person decides" if input.http.path == "{path}/held"

approval := {{"hold_seconds": 60}}
"""
_WORD = "bluebird"


def test_a_call_that_is_refused_is_kept_as_a_policy_masks_it(administrator, agent, upstream, path) -> None:
    policy = {"name": "No birds", "type": "custom", "model": "keywords", "prompt": _WORD, "threshold": 0.5}
    made = administrator.api.post("/admin/nlp-policies", json=policy | {"on_match": "mask"})
    assert made.status_code == 201, made.text
    body = {"note": f"a {_WORD} sings"}
    url = upstream.url + path

    def kept(action_id: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            found = administrator.get("/admin/traffic", action_id=action_id)["data"]
            return administrator.get(f"/admin/traffic/{found[0]['id']}") if found else None

        shown = wait_for(look, f"the exchange of {action_id} is captured", seconds=90)
        assert isinstance(shown, dict)
        return shown

    try:
        with administrator.policy(_RULES.format(path=path), priority=1), capturing(administrator):
            held = agent.call_later("POST", f"{url}/held", json=body)
            unmaskable = agent.call_later("POST", f"{url}/allowed", json=body, headers={"x-note": _WORD})
            actions: dict[str, str] = {}
            for name in ("held", "allowed"):
                pending = administrator.pending(f"{path}/{name}")
                actions[name] = pending["action_id"]
                administrator.deny(pending["id"], "no")
            assert (held.result(60).status_code, unmaskable.result(60).status_code) == (403, 403)
            for name in ("denied", "denied_masked"):
                refused = agent.call("POST", f"{url}/{name}", json=body)
                assert refused.status_code == 403
                actions[name] = refused.json()["error"]["details"]["action_id"]
            found = {name: kept(action_id) for name, action_id in actions.items()}
    finally:
        administrator.api.delete(f"/admin/nlp-policies/{made.json()['id']}")
    assert upstream.of(f"{path}/allowed") == []
    shown = json.loads(found["held"]["request"]["body"]["text"])
    assert (shown, found["held"]["target"]) == ({"note": "a [masked: keyword] sings"}, f"{path}/held")
    for name in ("held", "allowed", "denied_masked"):
        assert _WORD not in json.dumps(found[name]), name
    assert (found["allowed"]["request"]["body"]["text"], found["allowed"]["request"]["headers"]) == (None, [])
    assert json.loads(found["denied"]["request"]["body"]["text"]) == body, "no policy about content looked at it"


def test_at_a_terminal(instance, administrator, agent, upstream, path, tmp_path: Path) -> None:
    with capturing(administrator):
        assert agent.call("GET", f"{upstream.url}{path}?q=1").status_code == 200
        (found,) = captured(administrator, path)
    listed = instance.try_subcommand("traffic", "list", "--action", found["action_id"])
    assert found["id"] in listed.stdout, listed.stderr
    shown = instance.try_subcommand("traffic", "show", found["id"])
    assert f"GET {upstream.url}{path}?q=1 HTTP/1.1" in shown.stdout, shown.stderr
    file = tmp_path / "traffic.flow"
    written = instance.try_subcommand(
        "traffic", "export", "--format", "flow", "--id", found["id"], "--output", str(file)
    )
    assert written.returncode == 0, written.stderr
    (flow,) = FlowReader(io.BytesIO(file.read_bytes())).stream()
    assert (flow.id, flow.request.path, flow.response.status_code) == (found["id"], f"{path}?q=1", 200)


def test_followed_compared_and_in_a_line_at_a_terminal(
    instance, administrator, agent, upstream, path, tmp_path: Path
) -> None:
    log = tmp_path / "tail.txt"
    command = [
        sys.executable,
        "-m",
        "headgate.cli.main",
        "traffic",
        "tail",
        "--runtime-file",
        str(instance.runtime_file),
    ]
    with capturing(administrator), log.open("wb") as output:
        follower = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            time.sleep(4)  # it has looked once, and shows what is new from then on
            for number in (1, 2):
                assert agent.call("GET", f"{upstream.url}{path}?n={number}").status_code == 200
            first, second = captured(administrator, path, count=2)
            wait_for(lambda: log.read_text().count(path) >= 2 or None, "both are shown", seconds=60)
        finally:
            follower.terminate()
            follower.wait(30)
    compared = instance.try_subcommand("traffic", "diff", first["id"], second["id"])
    assert f"- GET {upstream.url}{path}?n=1\n+ GET {upstream.url}{path}?n=2\n" in compared.stdout, compared.stderr
    line = instance.try_subcommand("traffic", "timeline", first["agent_id"])
    assert line.stdout.count(path) == 2, line.stderr
    refused = instance.try_subcommand("traffic", "list", "--filter", "~m (")
    assert (refused.returncode, "filter:" in refused.stderr) == (1, True)


def test_nothing_is_captured_where_nobody_asked_and_from_the_moment_that_it_is_switched_off(
    administrator, agent, upstream, new_path
) -> None:
    before, during, after = new_path(), new_path(), new_path()
    assert agent.call("GET", upstream.url + before).status_code == 200
    with capturing(administrator, hosts=["127.0.0.1"]):
        assert agent.call("GET", upstream.url + during).status_code == 200
    assert agent.call("GET", upstream.url + after).status_code == 200
    captured(administrator, during)
    time.sleep(2)
    targets = {one["target"] for one in administrator.get("/admin/traffic", limit=200)["data"]}
    assert during in targets
    assert not {before, after} & targets


def test_what_was_refused_is_captured_too(administrator, agent, upstream, path) -> None:
    rego = f'package e2e.refused_traffic\n\ndeny contains "no" if input.http.path == "{path}"\n'
    with administrator.policy(rego), capturing(administrator):
        assert agent.call("POST", upstream.url + path, json={"a": 1}).status_code == 403
        (found,) = captured(administrator, path)
    assert (found["decision"], found["status"]) == ("deny", 403)
    assert upstream.of(path) == []
    shown = administrator.get(f"/admin/traffic/{found['id']}")
    assert json.loads(shown["request"]["body"]["text"]) == {"a": 1}
    assert "ACTION_DENIED" in shown["response"]["body"]["text"]


def left_by(spool: Path, pid: int) -> list[Path]:
    """Files of a process' spool; reading takes the last of them away."""
    return list(spool.glob(f"{pid}-*"))


@pytest.mark.timeout(240)
def test_killed_proxies_lose_nothing_twice_and_say_what_they_lost(
    instance, administrator, agent, upstream, new_path
) -> None:
    """kill -9 of both proxies, and so of their masker, under load: each exchange is there once, or counted."""
    path = new_path()
    with capturing(administrator):
        calls = [agent.call_later("GET", f"{upstream.url}{path}/{number}") for number in range(60)]
        time.sleep(0.3)
        killed = instance.kill("proxy", signal.SIGKILL)
        for call in calls:
            call.exception(timeout=60)
        instance.wait_until_restarted("proxy", killed)
        # A masker is started again because there is something left for it.
        spool = instance.folder / "data" / "captures"
        wait_for(lambda: not any(left_by(spool, pid) for pid in killed) or None, "what was left is read", seconds=90)
    rows = instance.rows(
        "SELECT count(*) AS n, count(DISTINCT action_id) AS different FROM traffic_exchanges WHERE target LIKE %s",
        path + "/%",
    )[0]
    assert rows["n"] == rows["different"]
    done = {one.path for number in range(60) for one in upstream.of(f"{path}/{number}")}
    lost = sum(row["exchanges"] for row in instance.rows("SELECT exchanges FROM traffic_losses"))
    assert rows["n"] + lost >= len(done), "what went upstream was captured, or is told as lost"


def test_policies_say_what_is_kept(administrator, agent, upstream, new_path) -> None:
    """By what a policy says, the least wins: what is marked sensitive is never there, whatever the rules say."""
    sensitive, wanted = new_path(), new_path()
    rego = f"""package e2e.capture_marks

allow if input.http.path in {{"{sensitive}", "{wanted}"}}

capture := "off" if input.http.path == "{sensitive}"

capture := "bodies" if input.http.path == "{wanted}"
"""
    with administrator.policy(rego):
        assert agent.call("POST", upstream.url + wanted, json={"a": 1}).status_code == 200
        with capturing(administrator):
            assert agent.call("POST", upstream.url + sensitive, json={"a": 1}).status_code == 200
        (found,) = captured(administrator, wanted)
    assert found["level"] == "bodies"
    time.sleep(2)
    targets = {one["target"] for one in administrator.get("/admin/traffic", limit=200)["data"]}
    assert sensitive not in targets
