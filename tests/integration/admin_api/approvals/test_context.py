"""What the person who decides is shown beside the request."""

from headgate.organizations.model import Role


async def _submit(gate, text: str = "hello", **more: object) -> dict:
    body = {"tool": "write", "operation": "line", "params": {"text": text}} | more
    return (await gate.as_agent.post("/v1/actions", json=body)).json()


async def _shown(gate, approval_id: str) -> dict:
    answer = await gate.person("v", Role.VIEWER).get(f"/v1/approvals/{approval_id}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_everything_that_there_is_to_know(gate) -> None:
    parent = (await gate.as_agent.post("/v1/actions", json={"tool": "read", "operation": "all", "params": {}})).json()
    delegation = {"orchestratorId": "planner\u202e", "workflowId": "w1", "stepName": "write"}
    held = await _submit(
        gate, "x\u200by", parentActionId=parent["id"], delegationContext=delegation, context={"api_key": "sk-live-1"}
    )
    context = (await _shown(gate, held["approval_id"]))["context"]
    assert context["summary"] == "Robot wants to do write.line: text x\\u{200b}y."
    assert (context["risk_level"], context["effect"]) == ("high", None)
    [why] = context["why"]
    assert (why["decision"], why["policy_version"]) == ("require_approval", 1)
    assert context["agent"] == {"id": gate.agent_id, "name": "Robot", "description": None}
    assert context["delegation"]["orchestratorId"] == "planner\\u{202e}"
    assert [(one["action_id"], one["operation"]) for one in context["on_behalf_of"]] == [(parent["id"], "all")]
    assert context["request"]["params"] == {"text": "x\\u{200b}y"}
    assert "sk-live-1" not in str(context)
    assert context["hidden_characters"] == ["/delegation/orchestratorId", "/params/text"]


async def test_what_was_decided_before(gate) -> None:
    approved = await _submit(gate, "one")
    await gate.person().post(f"/v1/approvals/{approved['approval_id']}/approve", json={"comment": "fine"})
    denied = await _submit(gate, "two")
    await gate.person().post(f"/v1/approvals/{denied['approval_id']}/deny", json={"reason": "not now"})
    await _submit(gate, "other", operation="page")
    now = await _submit(gate, "two")
    similar = (await _shown(gate, now["approval_id"]))["context"]["similar"]
    assert {name: similar[name] for name in ("looked_at", "approved", "denied", "expired", "pending")} == {
        "looked_at": 2, "approved": 1, "denied": 1, "expired": 0, "pending": 0,
    }  # fmt: skip
    newest = similar["newest"]
    assert [(one["status"], one["comment"], one["outcome"], one["same_request"]) for one in newest] == [
        ("denied", "not now", "denied", True), ("approved", "fine", "approved", False),
    ]  # fmt: skip
    assert all(one["decided_by"].startswith("usr_") and "@" in one["decided_by_name"] for one in newest)


async def test_identical_ones_are_shown_together(gate) -> None:
    same = [(await _submit(gate, "same"))["approval_id"] for _ in range(3)]
    other = (await _submit(gate, "other"))["approval_id"]
    context = (await _shown(gate, same[1]))["context"]
    assert context["identical_pending"] == same
    listed = (await gate.person().get("/v1/approvals", params={"status": "pending"})).json()["data"]
    assert {one["id"]: one["identical_pending"] for one in listed} == dict.fromkeys(same, 3) | {other: 1}


async def test_earlier_decisions_are_found_by_index(gate, superuser) -> None:
    """However many actions there are: the newest of this agent's and operation's are read, and no others."""
    superuser.execute(
        "INSERT INTO actions (org_id, action_id, agent_id, source, tool, operation, status, digest, request, decision,"
        " risk_level, approval_id, created_at, updated_at)"
        " SELECT %s, 'act_' || n, CASE n %% 50 WHEN 0 THEN %s ELSE 'agt_other' END, 'api', 'write',"
        " CASE n %% 2 WHEN 0 THEN 'line' ELSE 'page' END, 'denied',"
        " sha256(''), '{}', '{}', 'low', 'apr_' || n, now(), now() FROM generate_series(1, 20000) AS n",
        [gate.org_id, gate.agent_id],
    )
    superuser.execute("ANALYZE actions")
    plan = superuser.execute(
        "EXPLAIN SELECT x.action_id FROM actions x WHERE x.org_id = %s AND x.agent_id = %s AND x.tool = 'write'"
        " AND x.operation = 'line' AND x.approval_id IS NOT NULL ORDER BY x.action_id DESC LIMIT 200",
        [gate.org_id, gate.agent_id],
    ).fetchall()
    text = "\n".join(str(row[0]) for row in plan)
    assert "actions_decided_alike" in text
    assert "Sort" not in text
