"""Explicit actions that Headgate carries out: once, as they were approved, and honestly where they were not."""

import json

import pytest

ORDER = {"tool": "shop", "operation": "create_order", "params": {"item": "book", "password": "hunter22hunter22"}}


async def submit(gate, **body):
    return await gate.as_agent.post("/v1/actions", json=ORDER | body)


@pytest.fixture
async def free(new_gate, reach):
    """An organization in which everything is allowed."""
    gate = await new_gate("package gate\n\nallow if true\n")
    await reach(gate)
    return gate


@pytest.fixture
async def held(new_gate, reach):
    """An organization in which writes are held."""
    gate = await new_gate(
        'package gate\n\nallow if input.http.method == "GET"\n\nrequire_approval if input.http.method == "POST"\n'
    )
    await reach(gate)
    return gate


async def test_an_allowed_action_is_carried_out_once(free, working, service, ended) -> None:
    await free.person().put("/admin/settings/credentials", json={"credentials": {"shop": "s3cret-token"}})
    answer = await submit(free)
    assert (answer.status_code, answer.json()["status"]) == (201, "allowed")
    execution = answer.json()["execution"]
    assert execution["status"] == "queued"
    async with working():
        action = await ended(free.as_agent, answer.json()["id"])
    assert action["status"] == "completed" and action["execution"]["id"] == execution["id"]
    assert action["execution"]["attempts"] == 1
    assert action["execution"]["result"]["body"] == {"id": "ord_1", "state": "open", "more": "x"}
    [(method, path, headers, body)] = service.requests
    assert (method, path) == ("POST", "/orders")
    assert json.loads(body) == ORDER["params"]  # what is sent is unmasked
    assert headers["authorization"] == "Bearer s3cret-token"
    assert headers["idempotency-key"] == execution["id"]
    assert "hunter22" not in json.dumps(action) and "s3cret" not in json.dumps(action)
    assert action["request"]["http"]["host"] == "127.0.0.1"


async def test_an_approved_action_is_carried_out_after_the_vote(held, working, service, ended) -> None:
    answer = await submit(held)
    assert (answer.status_code, answer.json()["execution"]) == (202, None)
    async with working():
        approved = await held.person().post(f"/v1/approvals/{answer.json()['approval_id']}/approve", json={})
        assert approved.status_code == 200
        action = await ended(held.as_agent, answer.json()["id"])
    assert action["status"] == "completed" and len(service.requests) == 1


async def test_a_policy_that_denies_meanwhile_stops_it(held, working, service, ended) -> None:
    answer = await submit(held)
    await held.person().post(f"/v1/approvals/{answer.json()['approval_id']}/approve", json={})
    created = await held.person().post(
        "/admin/policies",
        json={"name": "no", "rego_policy": 'package no\n\ndeny contains "closed" if true\n', "priority": 1},
    )
    assert created.status_code == 201, created.text
    async with working():
        action = await ended(held.as_agent, answer.json()["id"])
    assert action["status"] == "failed" and "denied by the current policies: closed" in action["execution"]["error"]
    assert service.requests == [] and action["execution"]["attempts"] == 0


async def test_only_the_kept_members_become_the_result(free, working, service, ended) -> None:
    answer = await submit(free, operation="get_order", params={"order": "ord_1"})
    async with working():
        action = await ended(free.as_agent, answer.json()["id"])
    assert action["execution"]["result"]["body"] == {"id": "ord_1", "state": "open"}


async def test_a_lost_connection_is_not_tried_again_unless_declared(free, working, service, ended) -> None:
    service.answers = [None, None]
    once = await submit(free)
    async with working():
        action = await ended(free.as_agent, once.json()["id"])
        assert action["status"] == "failed" and action["execution"]["error"].startswith("outcome unknown")
        assert len(service.requests) == 1
        again = await submit(free, operation="put_order", params={"order": "ord_1", "item": "pen"})
        action = await ended(free.as_agent, again.json()["id"])
    assert action["status"] == "completed" and action["execution"]["attempts"] == 2
    keys = {headers["idempotency-key"] for _, path, headers, _ in service.requests if path == "/orders/ord_1"}
    assert len(service.requests) == 3 and len(keys) == 1


@pytest.mark.parametrize(
    ("answers", "status", "attempts"),
    [
        ([(503, {"Retry-After": "1"}, {})], "completed", 2),  # it says that it took nothing
        ([(429, {}, {})], "completed", 2),
        ([(500, {}, {})], "failed", 1),  # what became of it is unknown
        ([(429, {"Retry-After": "86400"}, {})], "failed", 1),
        ([(429, {}, {})] * 9, "failed", 3),
        ([(302, {"Location": "http://169.254.169.254/"}, {})], "failed", 1),  # not expected, and never followed
        ([(404, {}, {})], "failed", 1),
    ],
)
async def test_what_a_destination_says_decides(
    free, working, service, ended, answers, status: str, attempts: int
) -> None:
    service.answers = answers
    submitted = await submit(free)
    async with working():
        action = await ended(free.as_agent, submitted.json()["id"])
    assert (action["status"], action["execution"]["attempts"], len(service.requests)) == (status, attempts, attempts)


async def test_a_private_address_is_denied_before_any_policy(new_gate) -> None:
    gate = await new_gate("package gate\n\nallow if true\n")
    for url in ("http://10.1.2.3/", "http://169.254.169.254/latest/meta-data", "http://[::1]/"):
        answer = await submit(gate, tool="http", operation="get", params={"url": url})
        assert answer.json()["status"] == "denied" and "allowlist" in answer.json()["decision"]["reason"]


async def test_a_name_that_leads_to_a_private_address_is_not_called(new_gate, working, service, ended) -> None:
    gate = await new_gate("package gate\n\nallow if true\n")
    answer = await submit(gate, tool="http", operation="get", params={"url": f"http://localhost:{service.port}/"})
    assert answer.json()["status"] == "allowed"
    async with working():
        action = await ended(gate.as_agent, answer.json()["id"])
    assert action["status"] == "failed" and "allowlist" in action["execution"]["error"] and service.requests == []


async def test_a_rule_on_the_host_cannot_be_walked_around(new_gate, reach) -> None:
    gate = await new_gate('package gate\n\nallow if true\n\ndeny if input.http.host == "api.github.com"\n')
    answer = await submit(gate, tool="github", operation="get_repo", params={"owner": "a", "repo": "b"})
    assert answer.json()["status"] == "denied"
    answer = await submit(gate, tool="http", operation="get", params={"url": "https://api.github.com/repos/a/b"})
    assert answer.status_code == 400 and answer.json()["error"]["details"]["operation"] == "get_repo"


async def test_what_has_no_call_stays_its_agents(free, working) -> None:
    answer = await submit(free, tool="mail", operation="send", params={"to": "x"})
    assert (answer.json()["status"], answer.json()["execution"]) == ("allowed", None)
