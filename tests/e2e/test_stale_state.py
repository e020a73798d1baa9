"""What was decided on the state of before is not forwarded, with Valkey or without.

Load runs over open connections through all proxies while the state changes. Whatever began after the change
was acknowledged must find it; what a request's answer says and what the upstream saw must agree.
"""

import itertools
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from tests.e2e.clients import Agent, error_of
from tests.e2e.conftest import LOOPBACK
from tests.e2e.waiting import wait_for


class Answer(NamedTuple):
    """When a read began and ended (monotonic seconds), and what it got."""

    began: float
    ended: float
    path: str
    status: int


@dataclass
class Load:
    """Reads over and over, each at a path of its own."""

    agent: Agent
    url: str
    prefix: str
    answers: list[Answer] = field(default_factory=list)

    @contextmanager
    def running(self, connections: int = 4) -> Iterator[None]:
        stop, numbers = threading.Event(), itertools.count()

        def read() -> None:
            with self.agent.client() as client:
                while not stop.is_set():
                    path, began = f"{self.prefix}/{next(numbers)}", time.monotonic()
                    status = client.get(self.url + path).status_code
                    self.answers.append(Answer(began, time.monotonic(), path, status))

        threads = [threading.Thread(target=read) for _ in range(connections)]
        for thread in threads:
            thread.start()
        try:
            self.wait_for(200)
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def wait_for(self, status: int, answers: int = 20) -> None:
        """Until that many more of this status have come."""
        start = len(self.answers)
        wait_for(
            lambda: [one.status for one in self.answers[start:]].count(status) >= answers,
            f"{answers} answers of {status}",
        )


@pytest.fixture(params=["with Valkey", "without Valkey"])
def valkey(request, instance):
    if request.param == "with Valkey":
        yield
        return
    instance.kill("valkey", signal.SIGSTOP)
    yield
    instance.kill("valkey", signal.SIGCONT)


def expect_nothing_stale(load: Load, upstream, *, changed_at: float, status: int) -> None:
    after = [one for one in load.answers if one.began > changed_at]
    assert after
    assert {one.status for one in after} == {status}
    for one in load.answers:
        assert len(upstream.of(one.path)) == (1 if one.status == 200 else 0)


def test_a_new_policy(valkey, administrator, agent, upstream, path) -> None:
    load = Load(agent, upstream.url, path)
    rego = f'package e2e.closed\n\ndeny contains "closed" if startswith(input.http.path, "{path}")\n'
    with load.running():
        with administrator.policy(rego):
            changed_at = time.monotonic()
            load.wait_for(403)
            gone_at = time.monotonic()
        load.wait_for(200)
    load.answers = [one for one in load.answers if one.ended < gone_at]
    expect_nothing_stale(load, upstream, changed_at=changed_at, status=403)


def test_a_revoked_key(valkey, instance, administrator, upstream, path) -> None:
    created = administrator.new_agent("works hard")["api_key"]
    with closing(Agent(instance, key=created["key"])) as agent:
        load = Load(agent, upstream.url, path)
        with load.running():
            administrator.api.delete(f"/admin/keys/{created['id']}").raise_for_status()
            changed_at = time.monotonic()
            load.wait_for(407)
    expect_nothing_stale(load, upstream, changed_at=changed_at, status=407)


def test_a_destination_taken_off_the_allowlist(valkey, administrator, agent, upstream, path) -> None:
    load = Load(agent, upstream.url, path)
    try:
        with load.running():
            administrator.allow_destinations()
            changed_at = time.monotonic()
            load.wait_for(403)
    finally:
        administrator.allow_destinations(LOOPBACK)
    expect_nothing_stale(load, upstream, changed_at=changed_at, status=403)


def test_a_destination_taken_off_while_the_call_is_held(administrator, agent, upstream, patient_path) -> None:
    """The tunnel is new: nothing has been connected to when the approval comes."""
    call = agent.call_later("POST", upstream.url + patient_path)
    approval = administrator.pending(patient_path)
    try:
        administrator.allow_destinations()
        administrator.approve(approval["id"])
        response = call.result()
    finally:
        administrator.allow_destinations(LOOPBACK)
    assert error_of(response)["code"] == "DESTINATION_BLOCKED"
    assert upstream.of(patient_path) == []
    # Nothing was sent, so the approval still holds.
    wait_for(lambda: administrator.approval(approval["id"])["used_at"] is None, "the use is given back")
    assert agent.call("POST", upstream.url + patient_path).status_code == 200


def test_over_the_held_calls_open_connection(administrator, agent, upstream, new_path) -> None:
    read, held = new_path(), "/patient" + new_path()
    with agent.client() as client:
        assert client.get(upstream.url + read).status_code == 200
        answers = []
        thread = threading.Thread(target=lambda: answers.append(client.post(upstream.url + held)))
        thread.start()
        approval = administrator.pending(held)
        try:
            administrator.allow_destinations()
            administrator.approve(approval["id"])
            thread.join()
        finally:
            administrator.allow_destinations(LOOPBACK)
    assert error_of(answers[0])["code"] == "DESTINATION_BLOCKED"
    assert upstream.of(held) == []
