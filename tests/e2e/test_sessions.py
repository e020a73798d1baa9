"""Policies judge a call by what its agent did before, whichever process of the proxy saw it."""

from contextlib import closing

import pytest

from tests.e2e.clients import Agent, error_of
from tests.e2e.waiting import wait_for

FIRST = """package e2e.sessions

mine if startswith(input.http.path, "{path}")

allow if {{
	mine
	input.http.method == "GET"
}}

deny contains "nothing was read before" if {{
	mine
	input.http.method == "POST"
	count([call | some call in input.session.recent; call.effect == "read"; call.seconds_ago < 600]) < 3
}}

allow if {{
	mine
	input.http.method == "POST"
}}
"""


@pytest.fixture
def own_agent(administrator, instance):
    """With a session of its own."""
    created = administrator.new_agent("with a session")
    with closing(Agent(instance, key=created["api_key"]["key"])) as agent:
        yield agent


def test_a_write_after_reads(administrator, own_agent, upstream, path) -> None:
    with administrator.policy(FIRST.format(path=path), priority=1):
        refused = own_agent.call("POST", upstream.url + path, json={})
        assert "nothing was read before" in error_of(refused)["message"]
        for _ in range(3):
            assert own_agent.call("GET", upstream.url + path).status_code == 200
        # Another process learns of them some milliseconds later.
        wait_for(lambda: own_agent.call("POST", upstream.url + path, json={}).status_code == 200, "the reads are known")
        for _ in range(6):  # whichever process it meets
            assert own_agent.call("POST", upstream.url + path, json={}).status_code == 200
    [*_, last] = administrator.actions_of(path)
    recorded = administrator.get(f"/v1/actions/{last['id']}", expand="all")
    assert recorded["status"] == "completed"


def test_another_agents_calls_are_no_part_of_it(administrator, agent, own_agent, upstream, path) -> None:
    with administrator.policy(FIRST.format(path=path), priority=1):
        for _ in range(3):
            assert agent.call("GET", upstream.url + path).status_code == 200
        assert own_agent.call("POST", upstream.url + path, json={}).status_code == 403
