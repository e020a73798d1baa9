"""A policy that changes while calls go through: what was asked for is still answered, and every proxy follows."""

import time

from tests.e2e.clients import Agent, error_of
from tests.e2e.waiting import wait_for

HOLDS = """package e2e.holds

require_approval contains "a person looks" if startswith(input.http.path, "%(path)s")

approval := {"hold_seconds": 0}
"""
DENIES = """package e2e.denies

deny contains "not any more" if startswith(input.http.path, "%(path)s")
"""


def test_an_approval_outlives_its_policy_and_the_call_is_decided_by_what_is_there_now(
    administrator, agent, upstream, path
) -> None:
    with administrator.policy(HOLDS % {"path": path}):
        held = error_of(agent.call("PUT", upstream.url + path, json={"a": 1}))
        assert held["code"] == "APPROVAL_PENDING"
    # The policy is deleted. People can still decide what they were asked.
    assert administrator.approval(held["details"]["approval_id"])["status"] == "pending"
    assert administrator.approve(held["details"]["approval_id"]).status_code == 200
    with administrator.policy(DENIES % {"path": path}):
        refused = agent.call("PUT", upstream.url + path, json={"a": 1})
        assert error_of(refused)["code"] == "ACTION_DENIED"
        assert upstream.of(path) == []
    with administrator.policy(HOLDS % {"path": path}):
        # Another policy asks, and it never had this approval.
        asked = error_of(agent.call("PUT", upstream.url + path, json={"a": 1}))
        assert asked["code"] == "APPROVAL_PENDING"
        assert asked["details"]["approval_id"] != held["details"]["approval_id"]
    assert upstream.of(path) == []


def test_a_change_is_in_force_in_every_proxy_at_once(instance, administrator, upstream, path) -> None:
    agents = [Agent(instance) for _ in range(6)]  # a connection each: both proxies are met
    try:
        for round_number in range(3):
            with administrator.policy(DENIES % {"path": path}):
                began = time.monotonic()
                statuses = [agent.call("GET", upstream.url + path).status_code for agent in agents]
                assert statuses == [403] * len(agents), round_number
                assert time.monotonic() - began < 30
            assert [agent.call("GET", upstream.url + path).status_code for agent in agents] == [200] * len(agents)
    finally:
        for agent in agents:
            agent.close()


def test_a_shadow_policy_watches_the_proxies(administrator, agent, upstream, path) -> None:
    body = {"name": "watch", "rego_policy": DENIES % {"path": path}, "mode": "shadow", "priority": 1}
    policy = administrator.api.post("/admin/policies", json=body).json()
    for _ in range(5):
        assert agent.call("GET", upstream.url + path).status_code == 200
    shadow = wait_for(
        lambda: next(
            (one for one in [administrator.get(f"/admin/policies/{policy['id']}")["shadow"]] if one["asked"] >= 5), None
        ),
        "five calls were watched",
    )
    assert shadow["changes"] == {"allow -> deny": 5}
    [action, *_] = administrator.actions_of(path)
    wait_for(lambda: "decision.shadowed" in administrator.event_types(action["id"]), "the event is there")
    administrator.api.delete(f"/admin/policies/{policy['id']}")
