"""An agent cannot bury the people who decide, and with them the one call that matters."""

from contextlib import closing

from headgate.approvals.gate_store import MOST_OPEN_APPROVALS
from tests.e2e.clients import Agent, error_of
from tests.e2e.instance import one_more_proxy


def test_one_agent_has_a_bounded_number_of_open_approvals(instance, administrator, upstream) -> None:
    created = administrator.new_agent("buries")
    key = created["api_key"]["key"]
    with (
        one_more_proxy(instance, HEADGATE_RATE_LIMITS="on") as proxy_url,
        closing(Agent(instance, key=key, proxy_url=proxy_url)) as flooding,
        closing(Agent(instance, proxy_url=proxy_url)) as another,
        flooding.client() as client,
    ):
        first, *others = [
            client.post(f"{upstream.url}/impatient/bury/{number}") for number in range(MOST_OPEN_APPROVALS)
        ]
        opened = [error_of(answer)["details"]["approval_id"] for answer in (first, *others)]
        try:
            refused = client.post(f"{upstream.url}/impatient/bury/more")
            assert (refused.status_code, error_of(refused)["code"]) == (429, "RATE_LIMITED")
            assert administrator.actions_of("/impatient/bury/more") == []
            # Asking again for what is open already, and reading, go on; another agent's calls too.
            again = client.post(f"{upstream.url}/impatient/bury/0")
            assert error_of(again)["details"]["approval_id"] == opened[0]
            assert client.get(f"{upstream.url}/bury/read").status_code == 200
            assert error_of(another.call("POST", f"{upstream.url}/impatient/bury/other"))["code"] == "APPROVAL_PENDING"
        finally:
            for approval_id in opened:
                administrator.deny(approval_id, "a test asked for it")
        assert error_of(client.post(f"{upstream.url}/impatient/bury/room"))["code"] == "APPROVAL_PENDING"
    assert not [one for one in upstream.received if one.path.startswith("/impatient/bury/")]
