"""Grants through the real proxies: what they let through reaches the destination so often and no more, whoever is
killed meanwhile; and a grant that is taken back is gone at once."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any

import httpx
import pytest

from tests.e2e.clients import Administrator, Agent, error_of
from tests.e2e.instance import Instance
from tests.e2e.rules import rule
from tests.e2e.waiting import wait_for
from tests.free_port import free_port

_CALLS = 50

type Grant = Callable[..., str]


@pytest.fixture(scope="module")
def grantee(instance: Instance) -> dict[str, Any]:
    """An agent of this file's own: it leaves more open approvals than one agent may have."""
    with closing(Administrator(instance)) as administrator:
        return administrator.new_agent("has grants")


@pytest.fixture
def agent(instance: Instance, grantee: dict[str, Any]) -> Iterator[Agent]:
    with closing(Agent(instance, key=grantee["api_key"]["key"])) as agent:
        yield agent


@pytest.fixture
def grant(administrator: Administrator, grantee: dict[str, Any]) -> Grant:
    return partial(_grant, administrator, str(grantee["id"]))


def _grant(administrator: Administrator, agent_id: str, path: str, **changes: Any) -> str:
    body = {
        "agent_id": agent_id,
        "tool": "http",
        "operation": "post",
        "conditions": [{"param": "path", "prefix": path}],
        "max_uses": 10,
        "expires_in_seconds": 600,
        "reason": "a test asks for it",
    }
    created = administrator.api.post("/admin/grants", json=body | changes)
    assert created.status_code == 201, created.text
    return str(created.json()["id"])


def _all_at_once(agent: Agent, url: str, bodies: list[dict[str, Any]]) -> Counter[int]:
    """How often each status was answered; 0: the connection broke."""

    def call(body: dict[str, Any]) -> int:
        try:
            return agent.call("POST", url, json=body).status_code
        except httpx.HTTPError:
            return 0

    with ThreadPoolExecutor(_CALLS) as pool:
        return Counter(pool.map(call, bodies))


def _numbered(**members: Any) -> list[dict[str, Any]]:
    return [{"number": number, **members} for number in range(_CALLS)]


def test_fifty_at_once_and_ten_go_through(administrator, grant, agent, upstream, impatient_path) -> None:
    grant_id = grant(impatient_path)
    answers = _all_at_once(agent, upstream.url + impatient_path, _numbered())
    assert answers == {200: 10, 403: 40}
    assert len(upstream.of(impatient_path)) == 10
    grant = administrator.get(f"/admin/grants/{grant_id}")
    assert (grant["uses"], grant["status"]) == (10, "exhausted")
    seen = []
    for use in grant["newest_uses"]:
        assert administrator.settled(use["action_id"])["status"] == "completed"
        seen.append(administrator.event_types(use["action_id"]))
    once = ["action.submitted", "decision.made", "grant.used", "execution.started", "execution.completed"]
    assert [[event for event in events if event != "grant.exhausted"] for events in seen] == [once] * 10
    assert sum("grant.exhausted" in events for events in seen) == 1


def test_the_sum_of_all_is_within_its_bound(grant, agent, upstream, impatient_path) -> None:
    grant(impatient_path, max_uses=1000, sum={"param": "/body/amount", "at_most": 100})
    answers = _all_at_once(agent, upstream.url + impatient_path, _numbered(amount=15))
    assert answers == {200: 6, 403: 44}
    assert len(upstream.of(impatient_path)) == 6


def test_a_proxy_that_is_killed_loses_no_count(instance, administrator, grant, agent, upstream, impatient_path) -> None:
    grant_id = grant(impatient_path, max_uses=25)
    url = upstream.url + impatient_path
    with ThreadPoolExecutor(1) as beside:
        first = beside.submit(_all_at_once, agent, url, _numbered(round=1))
        wait_for(lambda: len(upstream.of(impatient_path)) >= 2, "some have arrived", seconds=30)
        killed = instance.kill("proxy")
        first.result()
    instance.wait_until_restarted("proxy", killed)
    _all_at_once(agent, url, _numbered(round=2))
    grant = administrator.get(f"/admin/grants/{grant_id}")
    counted = [use for use in grant["newest_uses"] if use["given_back_at"] is None]
    assert (grant["uses"], len(counted)) == (25, 25)
    # What was claimed and not sent is lost, never the other way round.
    assert 2 <= len(upstream.of(impatient_path)) <= 25
    executions = instance.rows(
        "SELECT e.execution_id FROM grant_uses u JOIN executions e USING (org_id, action_id)"
        " WHERE u.grant_id = %s AND u.given_back_at IS NULL",
        grant_id,
    )
    assert len(executions) == 25


def test_revoked_is_effective_within_a_second_at_every_proxy(
    administrator, grant, agent, upstream, impatient_path
) -> None:
    grant_id = grant(impatient_path, max_uses=1000)
    url = upstream.url + impatient_path
    # Each call has a connection of its own, so that both proxies know the grant.
    assert {agent.call("POST", url, json={"warm": number}).status_code for number in range(8)} == {200}
    began = time.monotonic()
    assert administrator.api.delete(f"/admin/grants/{grant_id}", params={"reason": "enough"}).status_code == 200
    answers = [agent.call("POST", url, json={"after": number}) for number in range(8)]
    assert {error_of(answer)["code"] for answer in answers} == {"APPROVAL_PENDING"}
    assert len(upstream.of(impatient_path)) == 8
    assert time.monotonic() - began < 20


def test_what_was_not_sent_is_given_back(administrator, grant, agent, upstream, impatient_path) -> None:
    grant_id = grant(impatient_path, max_uses=1)
    nobody = f"http://127.0.0.1:{free_port()}"
    assert agent.call("POST", nobody + impatient_path).status_code == 502
    wait_for(lambda: administrator.get(f"/admin/grants/{grant_id}")["uses"] == 0, "the use is given back")
    [use] = administrator.get(f"/admin/grants/{grant_id}")["newest_uses"]
    assert use["given_back_at"] is not None
    url = upstream.url + impatient_path
    wait_for(lambda: agent.call("POST", url).status_code == 200, "the grant lets another call through", seconds=5)
    assert error_of(agent.call("POST", url, json={"one": "more"}))["code"] == "APPROVAL_PENDING"
    assert len(upstream.of(impatient_path)) == 1


def test_an_approval_of_exactly_this_call_goes_first(administrator, grant, agent, upstream, impatient_path) -> None:
    url = upstream.url + impatient_path
    error = error_of(agent.call("POST", url, json={"denied": True}))
    grant(impatient_path)
    assert error_of(agent.call("POST", url, json={"denied": True}))["code"] == "APPROVAL_PENDING"
    administrator.deny(error["details"]["approval_id"], "not this one")
    assert error_of(agent.call("POST", url, json={"denied": True}))["code"] == "APPROVAL_DENIED"
    assert agent.call("POST", url, json={"denied": False}).status_code == 200


def test_approve_and_grant_releases_the_held_call_and_the_next_ones(
    administrator, agent, upstream, impatient_path
) -> None:
    url = upstream.url + impatient_path
    approval_id = error_of(agent.call("POST", url, json={"weekly": 1}))["details"]["approval_id"]
    body = {"max_uses": 2, "expires_in_seconds": 600, "reason": "each week"}
    granted = administrator.api.post(f"/v1/approvals/{approval_id}/grant", json=body)
    assert granted.status_code == 200, granted.text
    answers = [agent.call("POST", url, json={"weekly": 1}).status_code for _ in range(4)]
    assert answers == [200, 200, 200, 403]
    assert len(upstream.of(impatient_path)) == 3
    assert administrator.approval(approval_id)["used_at"] is not None


def test_a_broken_glass_lets_the_next_identical_call_through(instance, administrator, agent, upstream, path) -> None:
    frida = instance.command("token", "--user", "frida@example.com", "--role", "break_glass").strip()
    with (
        administrator.policy(rule(path, verdict="deny")),
        closing(Administrator(instance, token=frida)) as breaker,
    ):
        url = upstream.url + path
        error = error_of(agent.call("POST", url, json={"a": 1}))
        assert error["code"] == "ACTION_DENIED"
        body = {"action_id": error["details"]["action_id"], "reason": "production burns"}
        opened = breaker.api.post("/admin/break-glass", json=body)
        assert opened.status_code == 201, opened.text
        answers = [agent.call("POST", url, json={"a": number}).status_code for number in (2, 1, 1)]
        assert answers == [403, 200, 403]
        [received] = upstream.of(path)
        assert received.body == b'{"a":1}'
