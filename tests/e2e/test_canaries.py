"""A canary token of the organization leaves in no call, however it is written, and people are told."""

import base64
import gzip

import httpx

from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.public_roots import public_roots
from tests.e2e.clients import error_of
from tests.e2e.waiting import wait_for

ALLOW = """package e2e.canaries

allow if startswith(input.http.path, "{path}")

allow if input.tool == "notes"
"""


def test_no_call_holds_a_canary(instance, administrator, agent, upstream, path) -> None:
    value = instance.try_subcommand("canaries", "create", f"wiki {path}").stdout.strip()
    assert len(value) == 40
    listed = administrator.get("/admin/canaries")["data"]
    [canary] = [one for one in listed if one["name"] == f"wiki {path}"]
    assert value not in str(listed)
    text = f"look at {value} please"
    encoded = base64.b64encode(text.encode()).decode()
    url = upstream.url + path
    with administrator.policy(ALLOW.format(path=path), priority=1):
        assert agent.call("POST", url, json={"note": "nothing"}).status_code == 200
        refused = [
            agent.call("POST", url, json={"note": text}),
            agent.call("POST", url, json={"note": {"deep": [encoded]}}),
            agent.call("POST", url, content=gzip.compress(text.encode()), headers={"content-encoding": "gzip"}),
            agent.call("GET", f"{url}/{value}"),
            agent.call("GET", f"{url}?q={value.upper()}"),
            agent.call("GET", url, headers={"x-trace": encoded}),
            agent.call("GET", url, headers={"authorization": f"Bearer {value}"}),
        ]
        assert [one.status_code for one in refused] == [403] * len(refused)
        assert {error_of(one)["code"] for one in refused} == {"ACTION_DENIED"}
        assert "must not leave" in error_of(refused[0])["message"]
        submitted = httpx.post(
            instance.runtime["api_url"] + "/v1/actions",
            verify=public_roots(),
            json={"tool": "notes", "operation": "write", "params": {"text": encoded}},
            headers={"X-Agent-Key": agent.key},
            trust_env=False,
        ).json()
        assert submitted["decision"]["decision"] == "deny"
        assert len(upstream.of(path)) == 1

        details = error_of(refused[1])["details"]
        assert administrator.event_types(details["action_id"]) == ["action.submitted", "decision.made", "canary.found"]
        [*_, event] = administrator.events(details["action_id"])
        [found] = event["data"]["canaries"]
        assert (found["canary_id"], found["name"]) == (canary["id"], f"wiki {path}")
        assert "$.body.note.deep[0]" in found["place"]
        assert "canary.found" in administrator.event_types(submitted["id"])
        for one in (*(error_of(answer)["details"]["action_id"] for answer in refused), submitted["id"]):
            recorded = administrator.get(f"/v1/actions/{one}", expand="all")
            assert value not in str(recorded).lower()
            assert encoded not in str(recorded)

        revoked = instance.try_subcommand("canaries", "revoke", canary["id"])
        assert revoked.returncode == 0, revoked.stderr
        wait_for(lambda: agent.call("POST", url, json={"note": text}).status_code == 200, "it may be sent again")
    verified = administrator.api.post("/admin/audit/verify", json={}, timeout=60).json()
    assert verified["valid"], verified


def test_a_value_that_is_given_and_what_is_refused(administrator, path) -> None:
    value = "Nobody.reads-this@corp.example"
    created = administrator.api.post("/admin/canaries", json={"name": path, "value": value})
    assert created.status_code == 201, created.text
    try:
        assert (created.json()["value"], created.json()["begins_with"]) == (value, "Nobo")
        again = administrator.api.post("/admin/canaries", json={"name": "again", "value": value.upper()})
        assert again.status_code == 409
        short = administrator.api.post("/admin/canaries", json={"name": "short", "value": "a" * 20})
        assert short.status_code == 400
        assert value.encode() not in canonical_bytes(administrator.get("/admin/audit", limit=50))
    finally:
        assert administrator.api.delete(f"/admin/canaries/{created.json()['id']}").status_code == 200
