"""/v1/executions, and what agents and administrators do with them."""

import asyncio

import pytest

from headgate.agents.scopes import Scope
from headgate.organizations.model import Role

ORDER = {"tool": "shop", "operation": "create_order", "params": {"item": "book"}}
NO_EXECUTION = "exe_01932c07-209c-7000-8000-000000000000"


async def submit(gate, **body):
    return (await gate.as_agent.post("/v1/actions", json=ORDER | body)).json()


@pytest.fixture
async def free(new_gate, reach):
    gate = await new_gate(
        'package gate\n\nallow if input.operation != "held"\n\nrequire_approval if input.operation == "held"\n'
    )
    await reach(gate, most_attempts=1, agent_concurrency=2, destination_concurrency=3)
    return gate


async def test_list_get_and_filters(free, working, service, ended, running_api, organization, execute) -> None:
    submitted = [await submit(free) for _ in range(3)]
    admin, agent = free.person(), free.as_agent
    page = (await agent.get("/v1/executions", params={"limit": 2})).json()
    assert [one["id"] for one in page["data"]] == [one["execution"]["id"] for one in reversed(submitted)][:2]
    assert page["pagination"]["total"] == 3
    last = (await agent.get("/v1/executions", params={"cursor": page["pagination"]["next_cursor"]})).json()
    assert [one["id"] for one in last["data"]] == [submitted[0]["execution"]["id"]]
    service.answers = [(500, {}, {"error": "no"})]
    async with working():
        ends = [await ended(agent, one["id"]) for one in submitted]
    failed = next(one for one in ends if one["status"] == "failed")
    for query, count in (
        ({"status": "failed"}, 1), ({"status": "succeeded"}, 2), ({"status": "queued"}, 0), ({"tool": "shop"}, 3),
        ({"tool": "other"}, 0), ({"operation": "create_order"}, 3), ({"source": "proxy"}, 0), ({"source": "api"}, 3),
        ({"action_id": failed["id"]}, 1), ({"retryable": "true"}, 1), ({"agent_id": free.agent_id}, 3),
    ):  # fmt: skip
        found = (await admin.get("/v1/executions", params=query)).json()
        assert (len(found["data"]), found["pagination"]["total"]) == (count, count), query
    detail = (await admin.get(f"/v1/executions/{failed['execution']['id']}")).json()
    assert detail["action"]["params"] == {"item": "book"} and detail["can_retry"] is True
    assert detail["error"] == "the destination answered 500" and detail["destination"] == f"127.0.0.1:{service.port}"
    stats = (await agent.get("/v1/executions/stats")).json()
    assert (stats["queued"], stats["running"], stats["sampled"], stats["retryable"]) == (0, 0, 3, 1)
    assert stats["tools"]["shop"]["succeeded"] == 2 and 0.66 < stats["success_rate"] < 0.67
    assert stats["duration"]["p50_ms"] > 0
    assert (await agent.get(f"/v1/executions/{NO_EXECUTION}")).status_code == 404
    assert (await agent.get("/v1/executions", params={"cursor": NO_EXECUTION})).status_code == 400


async def test_an_agent_sees_its_own_only(free, new_gate) -> None:
    submitted = await submit(free)
    stranger = (await new_gate()).as_agent
    assert (await stranger.get(f"/v1/executions/{submitted['execution']['id']}")).status_code == 404
    assert (await stranger.get("/v1/executions")).json()["data"] == []
    assert (await stranger.get("/v1/executions", params={"agent_id": free.agent_id})).status_code == 404


async def test_who_may_process_and_retry(free) -> None:
    for client in (free.as_agent, free.person("eve", Role.APPROVER), await free.key(Scope.ACTIONS_WRITE)):
        for path, body in (("process", {}), ("process-all", None), ("retry", {"execution_id": NO_EXECUTION})):
            assert (await client.post(f"/v1/executions/{path}", json=body)).status_code == 403
    assert (await free.person().post("/v1/executions/retry", json={"execution_id": NO_EXECUTION})).status_code == 404


async def test_retry(free, working, service, ended) -> None:
    service.answers = [(404, {}, {})]
    submitted, admin = await submit(free), free.person()
    order = {"execution_id": submitted["execution"]["id"]}
    assert (await admin.post("/v1/executions/retry", json=order)).status_code == 400  # it has not failed
    async with working():
        await ended(free.as_agent, submitted["id"])
        again = await admin.post("/v1/executions/retry", json=order | {"reset_attempts": True})
        assert (again.status_code, again.json()["status"], again.json()["attempts"]) == (200, "queued", 0)
        action = await ended(free.as_agent, submitted["id"])
    assert (action["status"], action["execution"]["attempts"], len(service.requests)) == ("completed", 1, 2)
    assert (await admin.post("/v1/executions/retry", json=order)).status_code == 400  # it has succeeded


async def test_intercepted_calls_are_in_the_list_and_are_not_retried(
    running_api, cluster, free, execute, superuser
) -> None:
    class Own:
        org_id, agent_id = free.org_id, free.agent_id

    generation = superuser.execute("SELECT generation FROM org_state WHERE org_id = %s", [free.org_id]).fetchone()[0]
    forwarded = await execute(Own, "ins_1", generation=generation)
    admin = free.person()
    [listed] = (await admin.get("/v1/executions", params={"source": "proxy"})).json()["data"]
    assert (listed["id"], listed["status"], listed["attempts"]) == (forwarded.execution_id, "running", 1)
    for path in ("process", "retry"):
        answer = await admin.post(f"/v1/executions/{path}", json={"execution_id": forwarded.execution_id})
        assert answer.status_code == 409 and "send it again" in answer.json()["error"]["message"]


async def test_process_hurries_what_waits(new_gate, reach, working, service, ended) -> None:
    gate = await new_gate("package gate\n\nallow if true\n")
    await reach(gate, first_retry_seconds=600, last_retry_seconds=600)
    service.answers = [(429, {}, {}), (429, {}, {})]
    admin, one, two = gate.person(), await submit(gate), await submit(gate)
    async with working():
        async with asyncio.timeout(20):
            while (await admin.get("/v1/executions/stats")).json()["scheduled"] != 2:
                await asyncio.sleep(0.05)
        hurried = await admin.post("/v1/executions/process", json={"execution_id": one["execution"]["id"]})
        assert hurried.json() == {"execution_id": one["execution"]["id"], "processed": 1}
        assert (await ended(gate.as_agent, one["id"]))["status"] == "completed"
        refused = await admin.post("/v1/executions/process-all", json={"execution_id": two["execution"]["id"]})
        assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, "execution_id")
        assert (await admin.post("/v1/executions/process-all")).json()["processed"] == 1
        assert (await ended(gate.as_agent, two["id"]))["status"] == "completed"
    assert (await admin.post("/v1/executions/process", json={})).json() == {"execution_id": None, "processed": 0}
    gone = await admin.post("/v1/executions/process", json={"execution_id": one["execution"]["id"]})
    assert gone.status_code == 400


async def test_concurrency_is_bounded_per_agent(free, working, service, ended) -> None:
    service.wait_seconds = 0.2
    submitted = [await submit(free) for _ in range(8)]
    async with working():
        for one in submitted:
            assert (await ended(free.as_agent, one["id"]))["status"] == "completed"
    assert service.most_in_flight == 2 and len(service.requests) == 8


async def test_a_breaker_opens_is_shown_and_closes(new_gate, reach, working, service, ended) -> None:
    gate = await new_gate("package gate\n\nallow if true\n")
    await reach(gate, most_attempts=1, breaker_failures=2, breaker_seconds=2, agent_concurrency=1)
    service.answers = [(500, {}, {}), (500, {}, {})]
    admin = gate.person()
    async with working():
        for _ in range(2):
            assert (await ended(gate.as_agent, (await submit(gate))["id"]))["status"] == "failed"
        [shown] = (await admin.get("/v1/executions/destinations")).json()["data"]
        assert (shown["breaker"], shown["failures"]) == ("open", 2) and shown["open_until"]
        waiting = await submit(gate)
        await asyncio.sleep(0.5)
        assert len(service.requests) == 2
        assert (await ended(gate.as_agent, waiting["id"]))["status"] == "completed"
    [shown] = (await admin.get("/v1/executions/destinations")).json()["data"]
    assert (shown["breaker"], shown["failures"], shown["open_until"]) == ("closed", 0, None)
    health = (await admin.get("/health/circuit-breakers")).json()
    assert health["closed"] >= 1
    assert f"127.0.0.1:{service.port}" in [one["name"] for one in health["breakers"]]


async def test_outcome_of_what_an_agent_carries_out(free) -> None:
    action = await submit(free, tool="mail", operation="send", params={"to": "x"})
    told = {"status": "succeeded", "result": {"id": 7, "api_key": "sk-live-0123456789abcdef0123456789abcdef"}}
    answer = await free.as_agent.post(f"/v1/actions/{action['id']}/outcome", json=told)
    assert (answer.status_code, answer.json()["status"]) == (200, "completed")
    assert answer.json()["execution"]["result"]["id"] == 7 and "sk-live" not in answer.text
    again = await free.as_agent.post(f"/v1/actions/{action['id']}/outcome", json=told)
    assert again.status_code == 409
    own = await submit(free)
    ours = await free.as_agent.post(f"/v1/actions/{own['id']}/outcome", json={"status": "failed", "error": "no"})
    assert ours.status_code == 409 and "itself" in ours.json()["error"]["message"]
    assert (await free.person().post(f"/v1/actions/{action['id']}/outcome", json=told)).status_code == 403
    held = await submit(free, tool="mail", operation="held", params={})
    early = await free.as_agent.post(f"/v1/actions/{held['id']}/outcome", json=told)
    assert early.status_code == 409
    await free.person().post(f"/v1/approvals/{held['approval_id']}/approve", json={})
    late = await free.as_agent.post(f"/v1/actions/{held['id']}/outcome", json={"status": "failed", "error": "no"})
    assert (late.status_code, late.json()["status"]) == (200, "failed")


async def test_what_an_agent_says_of_a_failure_is_masked_and_can_be_kept(free) -> None:
    """The error is told, recorded for ever and shown to people, as the result is."""
    secret = "sk-live-0123456789abcdef0123456789abcdef"
    action = await submit(free, tool="mail", operation="send", params={"to": "x"})
    path = f"/v1/actions/{action['id']}/outcome"
    nul = await free.as_agent.post(path, json={"status": "failed", "error": "a\0b"})
    assert nul.status_code == 400, nul.text
    told = {"status": "failed", "error": f"401 with api_key={secret}"}
    answer = await free.as_agent.post(path, json=told)
    assert (answer.status_code, answer.json()["status"]) == (200, "failed")
    other = await submit(free, tool="mail", operation="held", params={})
    nul = await free.as_agent.post(f"/v1/actions/{other['id']}/cancel", json={"reason": "a\0b"})
    assert nul.status_code == 400, nul.text
    gone = await free.as_agent.post(f"/v1/actions/{other['id']}/cancel", json={"reason": f"api_key={secret} leaked"})
    assert gone.status_code == 200
    record = (await free.person().get("/admin/audit", params={"limit": 200})).text
    assert "401 with" in record and secret not in record + answer.text + gone.text


async def test_cancel(free, new_gate, working, service) -> None:
    held = await submit(free, tool="mail", operation="held", params={})
    answer = await free.as_agent.post(f"/v1/actions/{held['id']}/cancel", json={"reason": "not needed"})
    assert (answer.status_code, answer.json()["status"], answer.json()["approval"]["status"]) == (
        200,
        "denied",
        "expired",
    )
    assert (await free.person().post(f"/v1/approvals/{held['approval_id']}/approve", json={})).status_code == 409
    queued = await submit(free)
    stranger = (await new_gate()).as_agent
    assert (await stranger.post(f"/v1/actions/{queued['id']}/cancel")).status_code == 404
    answer = await free.as_agent.post(f"/v1/actions/{queued['id']}/cancel")
    assert (answer.status_code, answer.json()["status"]) == (200, "failed")
    assert answer.json()["execution"]["error"] == "cancelled by its agent"
    assert (await free.as_agent.post(f"/v1/actions/{queued['id']}/cancel")).status_code == 409
    async with working():
        await asyncio.sleep(1)
    assert service.requests == []


@pytest.mark.parametrize(
    "document", [[], {"most": 1}, {"most_attempts": 0}, {"most_attempts": True}, {"timeout_seconds": 10**9}]
)
async def test_limits_that_make_no_sense_are_refused(gate, document) -> None:
    assert (await gate.person().put("/admin/settings/executions", json=document)).status_code == 400


async def test_the_operator_bounds_the_concurrency_that_an_organization_sets(new_gate, superuser) -> None:
    gate = await new_gate("package gate\n\nallow if true\n")
    admin = gate.person()
    for name in ("agent_concurrency", "destination_concurrency"):
        refused = await admin.put("/admin/settings/executions", json={name: 65})
        assert refused.status_code == 400
        assert refused.json()["error"]["message"] == (
            f"executions.{name}: must be a whole number from 1 to 64"
            " (HEADGATE_EXECUTION_CONCURRENCY_MAX: ask the operator for more)"
        )
    assert (await admin.put("/admin/settings/executions", json={"agent_concurrency": 64})).status_code == 200
    superuser.execute(
        "UPDATE settings SET document = %s WHERE org_id = %s AND name = 'executions'",
        ['{"agent_concurrency":1000}', gate.org_id],
    )
    shown = await admin.get("/admin/settings/executions")
    assert shown.json()["agent_concurrency"] == 64, "what was set before the ceiling"


async def test_what_was_set_above_the_operators_ceiling_is_cut_to_it(free, working, service, ended) -> None:
    service.wait_seconds = 0.2
    submitted = [await submit(free) for _ in range(3)]
    async with working(execution_concurrency_max=1):
        for one in submitted:
            await ended(free.as_agent, one["id"])
    assert service.most_in_flight == 1


async def test_credentials_are_never_shown(gate) -> None:
    admin = gate.person()
    secret = "hidden-value-12345"
    assert (await admin.put("/admin/settings/credentials", json={"credentials": {"a": secret, "b": "x"}})).json() == {
        "credentials": ["a", "b"]
    }
    assert (await admin.put("/admin/settings/credentials", json={"credentials": {"b": None}})).json() == {
        "credentials": ["a"]
    }
    assert secret not in (await admin.get("/admin/audit", params={"limit": 100})).text
    bad = await admin.put("/admin/settings/credentials", json={"credentials": {"a": "line\nbreak-secret"}})
    assert bad.status_code == 400 and "break-secret" not in bad.text
