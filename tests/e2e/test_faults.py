"""kill -9 of each part under load, and a database that stands still: nothing passes, nothing is lost, all recovers."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from headgate.kernel.public_roots import public_roots
from tests.e2e.clients import Administrator, Agent, error_of
from tests.e2e.conftest import LOOPBACK
from tests.e2e.instance import Instance, running
from tests.e2e.load import Load
from tests.e2e.model_provider import Provider, serving_models
from tests.e2e.record import expect_whole_record, wait_until_nothing_runs
from tests.e2e.spender import TOKENS, Spender, ask
from tests.e2e.upstream import Upstream, serving
from tests.e2e.waiting import wait_for


@pytest.fixture(scope="module")
def upstream(certificates: tuple[Path, Path]) -> Iterator[Upstream]:
    with serving(certificates[1]) as server:
        yield server


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory, certificates: tuple[Path, Path]) -> Iterator[Instance]:
    """One that is killed, so that no other test waits for it to come back."""
    with running(tmp_path_factory.mktemp("faults"), certificates[0], HEADGATE_PROXY_WORKERS="2") as started:
        with closing(Administrator(started)) as administrator:
            administrator.allow_destinations(LOOPBACK)
        yield started


@pytest.mark.parametrize("part", ["proxy", "api", "worker", "postgres", "valkey"])
def test_killed_under_load(instance, administrator, upstream, path, part) -> None:
    load = Load(instance, upstream, path)
    with load.running():
        load.wait_for_answers()
        killed = instance.kill(part)
        instance.wait_until_restarted(part, killed)
        load.wait_for_answers()
    assert load.told.unexpected == []
    expect_whole_record(instance, administrator, upstream, load.told)


def test_what_was_in_flight_is_closed_as_unknown(instance, administrator, agent, upstream, path) -> None:
    slow = "/slow" + path
    call = agent.call_later("GET", upstream.url + slow)
    wait_for(lambda: upstream.of(slow), "the upstream has the request")
    instance.kill("proxy")
    with pytest.raises(httpx.HTTPError):
        call.result()
    upstream.go_on.set()
    [action] = administrator.actions_of(slow)
    settled = administrator.settled(action["id"])
    assert (settled["status"], settled["execution"]["status"]) == ("failed", "failed")
    assert settled["execution"]["error"].startswith("outcome unknown: ")
    assert administrator.event_types(action["id"])[-1] == "execution.failed"
    # It is not sent again by itself.
    assert len(upstream.of(slow)) == 1


def test_a_database_that_stands_still(instance, administrator, agent, upstream, new_path) -> None:
    before, meanwhile, after = new_path(), new_path(), new_path()
    with agent.client() as client:
        assert client.get(upstream.url + before).status_code == 200
        with instance.frozen("postgres"):
            for method in ("GET", "POST", "DELETE"):
                began = time.monotonic()
                response = client.request(method, upstream.url + meanwhile)
                assert response.status_code == 503, response.text
                error = error_of(response)
                assert error["code"] == "SERVICE_UNAVAILABLE"
                assert "database" in error["message"] or "record" in error["message"]
                assert response.headers["retry-after"]
                assert time.monotonic() - began < 20
            # Over a connection of its own, for a key that is not in memory: no tunnel at all.
            with closing(Agent(instance, key=instance.runtime["agent_key"])) as another:
                try:
                    assert another.call("GET", upstream.url + meanwhile).status_code == 503
                except httpx.ProxyError as refused:
                    assert str(refused).startswith("503")
            api_url = instance.runtime["api_url"]
            assert httpx.get(f"{api_url}/ready", verify=public_roots(), trust_env=False, timeout=20).status_code == 503
            assert (
                httpx.get(f"{api_url}/health/live", verify=public_roots(), trust_env=False, timeout=20).status_code
                == 200
            )
        wait_for(lambda: client.get(upstream.url + after).status_code == 200, "the gate recovers by itself")
    assert upstream.of(meanwhile) == []


def test_a_budget_outlives_valkey_and_the_proxy(instance, administrator) -> None:
    with serving_models() as provider, closing(Spender(administrator, instance)) as spender:
        provider.says(600, 0)
        with administrator.policy(TOKENS, priority=1):
            with instance.frozen("valkey"):
                assert ask(spender, provider).status_code == 200
                # Each process learns from the record what the other one has forwarded, and says what it knows.
                for _ in range(2):
                    wait_for(lambda: ", record" in ask(spender, provider).text, "the budget is known to be used up")
            killed = instance.kill("proxy")
            instance.wait_until_restarted("proxy", killed)
            assert "tokens in" in error_of(wait_for(lambda: _answer(spender, provider), "the proxy answers"))["message"]


def _answer(spender: Spender, provider: Provider) -> httpx.Response | None:
    try:
        return ask(spender, provider)
    except httpx.TransportError:
        return None


def test_in_the_end_the_record_is_whole(instance, administrator, upstream) -> None:
    """After all of it: nothing runs for ever, and what is unknown is called so."""
    for closed in wait_until_nothing_runs(instance):
        assert closed["status"] == "failed"
    verified = administrator.api.post("/admin/audit/verify", json={}, timeout=60).json()
    assert verified["valid"], verified
    by_ending = instance.rows("SELECT count(*) AS n FROM actions WHERE status = 'executing'")
    assert by_ending[0]["n"] == 0
