"""Decisions of content policies on the pages of a call, of an approval request and of the overview: by name."""

import html

from headgate.organizations.model import Role

_POLICY = {"name": "No <b>addresses</b>", "type": "pii_detection", "threshold": 0.6}
_MAIL = {"to": "maria.keller@example.com"}


async def _policy(gate, on_match: str) -> str:
    answer = await gate.person().post("/admin/nlp-policies", json=_POLICY | {"on_match": on_match})
    return str(answer.json()["id"])


async def _called(gate, tool: str) -> dict:
    body = {"tool": tool, "operation": "line", "params": _MAIL}
    return (await gate.as_agent.post("/v1/actions", json=body)).json()


async def test_a_denied_call_shows_what_each_policy_said(gate) -> None:
    policy_id = await _policy(gate, "deny")
    action_id = (await _called(gate, "write"))["id"]
    rule, content = (await gate.person().get(f"/v1/actions/{action_id}?expand=all")).json()["policies"]
    assert (rule["name"], rule["decision"], rule["score"]) == ("gate", "require_approval", None)
    assert (content["policy_id"], content["name"], content["version"]) == (policy_id, _POLICY["name"], 1)
    assert content["decision"] == "deny"
    assert content["score"] >= _POLICY["threshold"]
    assert "email" in content["reason"]
    assert (await gate.as_agent.get(f"/v1/actions/{action_id}?expand=all")).json()["policies"] is None

    shown = (await gate.person("vera", Role.VIEWER).get(f"/calls/{action_id}")).text
    link = f'<a href="/policies/content/{policy_id}">{html.escape(_POLICY["name"])}</a>'
    assert shown.count(link) == 2  # the reason, and the table of results
    assert f"(score {content['score']:.2f})" in shown
    assert f'"/policies/{policy_id}' not in shown
    assert f"The policy “{html.escape(_POLICY['name'])}” denies the call." in shown
    assert (await gate.person().get(f"/policies/content/{policy_id}")).status_code == 200


async def test_a_held_request_names_the_content_policy(gate) -> None:
    policy_id = await _policy(gate, "require_approval")
    approval_id = (await _called(gate, "read"))["approval_id"]
    why = (await gate.person().get(f"/v1/approvals/{approval_id}")).json()["context"]["why"]
    assert [(one["policy_name"], one["decision"]) for one in why] == [
        ("gate", "allow"),
        (_POLICY["name"], "require_approval"),
    ]
    shown = (await gate.person("ann", Role.APPROVER).get(f"/inbox/{approval_id}")).text
    assert f'<a href="/policies/content/{policy_id}">{html.escape(_POLICY["name"])}</a>, version 1' in shown


async def test_the_overview_names_it(gate) -> None:
    policy_id = await _policy(gate, "deny")
    await _called(gate, "write")
    [denied] = (await gate.person().get("/admin/overview")).json()["denied_by"]
    assert (denied["policy_id"], denied["name"]) == (policy_id, _POLICY["name"])
    assert (
        f'<a href="/policies/content/{policy_id}">{html.escape(_POLICY["name"])}</a>'
        in (await gate.person().get("/overview")).text
    )


async def test_a_deleted_policy_keeps_its_name(gate) -> None:
    policy_id = await _policy(gate, "deny")
    action_id = (await _called(gate, "write"))["id"]
    assert (await gate.person().delete(f"/admin/nlp-policies/{policy_id}")).status_code in (200, 204)
    says = (await gate.person().get(f"/v1/actions/{action_id}?expand=all")).json()["policies"]
    assert says[-1]["name"] == _POLICY["name"]
