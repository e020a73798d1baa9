"""A commit whose answer from PostgreSQL is lost on the way: nothing is sent twice, nothing is unrecorded."""

from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from headgate.kernel.public_roots import public_roots
from tests.e2e.clients import Administrator, Agent, error_of
from tests.e2e.cutting_relay import CuttingRelay, cutting_relay
from tests.e2e.instance import one_more_api, one_more_proxy
from tests.e2e.waiting import wait_for


@pytest.fixture(scope="module")
def to_proxy(instance) -> Iterator[CuttingRelay]:
    with cutting_relay(instance.environment_of("proxy")["HEADGATE_PROXY_DATABASE_URL"]) as relay:
        yield relay


@pytest.fixture(scope="module")
def far_proxy(instance, to_proxy) -> Iterator[str]:
    """A proxy whose database is behind the relay."""
    with one_more_proxy(instance, HEADGATE_PROXY_DATABASE_URL=to_proxy.dsn) as url:
        yield url


@pytest.fixture
def far_agent(instance, far_proxy) -> Iterator[Agent]:
    with closing(Agent(instance, proxy_url=far_proxy)) as agent:
        yield agent


@pytest.fixture(scope="module")
def to_api(instance) -> Iterator[CuttingRelay]:
    with cutting_relay(instance.environment_of("api")["HEADGATE_API_DATABASE_URL"]) as relay:
        yield relay


@pytest.fixture(scope="module")
def far_api(instance, to_api) -> Iterator[httpx.Client]:
    """An API whose database is behind the relay, as the administrator."""
    headers = {"authorization": f"Bearer {instance.runtime['admin_token']}"}
    with (
        one_more_api(instance, HEADGATE_API_DATABASE_URL=to_api.dsn) as url,
        httpx.Client(verify=public_roots(), base_url=url, headers=headers, timeout=30, trust_env=False) as client,
    ):
        yield client


def _repeated(agent: Agent, method: str, url: str) -> httpx.Response:
    """Until the proxy has its database again."""
    last: list[httpx.Response] = []

    def call() -> bool:
        last.append(agent.call(method, url))
        return last[-1].status_code != 503

    wait_for(call, "the proxy records again")
    return last[-1]


def _every_attempt_is_on_record(administrator: Administrator, path: str) -> list[dict[str, object]]:
    actions = administrator.actions_of(path)
    for one in actions:
        assert administrator.event_types(one["id"])[0] == "action.submitted"
    verified = administrator.api.post("/admin/audit/verify", json={}).json()
    assert verified["valid"] is True, verified
    return actions


def test_of_an_allowed_call(administrator, far_agent, upstream, to_proxy, path) -> None:
    assert _repeated(far_agent, "GET", upstream.url + path + "/first").status_code == 200
    before = to_proxy.cuts
    to_proxy.cut_next(path.encode())
    refused = far_agent.call("GET", upstream.url + path)
    assert (refused.status_code, error_of(refused)["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert to_proxy.cuts == before + 1
    assert upstream.of(path) == []
    assert _repeated(far_agent, "GET", upstream.url + path).status_code == 200
    assert len(upstream.of(path)) == 1
    first, *_, last = _every_attempt_is_on_record(administrator, path)
    assert administrator.settled(last["id"])["status"] == "completed"
    # The one whose answer was lost is closed as what it is: recorded, and not known to have been sent.
    ended = administrator.settled(first["id"])
    assert ended["status"] == "failed", ended


def test_of_an_outcome(administrator, far_agent, upstream, to_proxy, path) -> None:
    assert _repeated(far_agent, "GET", upstream.url + path + "/first").status_code == 200
    upstream.go_on.clear()
    slow = "/slow" + path
    call = far_agent.call_later("GET", upstream.url + slow)
    wait_for(lambda: upstream.of(slow), "the upstream has the request")
    [action] = administrator.actions_of(slow)
    before = to_proxy.cuts
    to_proxy.cut_next(action["id"].encode())
    upstream.go_on.set()
    assert call.result().status_code == 200
    wait_for(lambda: to_proxy.cuts == before + 1, "the outcome's answer is lost")
    assert administrator.settled(action["id"])["status"] == "completed"
    assert administrator.event_types(action["id"]).count("execution.completed") == 1
    assert len(upstream.of(slow)) == 1


def test_of_the_use_of_an_approval(administrator, far_agent, upstream, to_proxy, impatient_path) -> None:
    url = upstream.url + impatient_path
    held = error_of(_repeated(far_agent, "POST", url))
    assert held["code"] == "APPROVAL_PENDING"
    approval_id = held["details"]["approval_id"]
    assert administrator.approve(approval_id).status_code == 200
    before = to_proxy.cuts
    to_proxy.cut_next(approval_id.encode())
    refused = far_agent.call("POST", url)
    assert (refused.status_code, to_proxy.cuts) == (503, before + 1)
    assert upstream.of(impatient_path) == []
    answers = [_repeated(far_agent, "POST", url) for _ in range(2)]
    assert len(upstream.of(impatient_path)) <= 1
    assert [one.status_code for one in answers].count(200) == len(upstream.of(impatient_path))
    _every_attempt_is_on_record(administrator, impatient_path)


def test_of_a_vote(administrator, agent, upstream, far_api, to_api, impatient_path) -> None:
    url = upstream.url + impatient_path
    approval_id = error_of(agent.call("POST", url))["details"]["approval_id"]
    to_api.cut_next(b"approval.approved")
    lost = far_api.post(f"/v1/approvals/{approval_id}/approve", json={"comment": "looks right"})
    assert (lost.status_code, to_api.cuts) == (503, 1), lost.text
    # What was committed is what everybody is told; to say it again adds nothing.
    approval = administrator.approval(approval_id)
    assert (approval["status"], approval["current_approvals"]) == ("approved", 1)
    again = far_api.post(f"/v1/approvals/{approval_id}/approve", json={"comment": "looks right"})
    assert again.status_code in (200, 409), again.text
    assert administrator.event_types(approval["action_id"]).count("approval.approved") == 1
    assert agent.call("POST", url).status_code == 200
    assert error_of(agent.call("POST", url))["code"] == "APPROVAL_PENDING"
    assert len(upstream.of(impatient_path)) == 1
