"""Each part by itself answers probes on a port of its own, and leaves a load balancer before it ends."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager

import httpx
import pytest

from headgate.kernel.public_roots import public_roots
from tests.e2e.clients import Agent
from tests.e2e.waiting import wait_for
from tests.free_port import free_port

_DRAIN_SECONDS = 4


def probe(port: int, path: str) -> tuple[int, str]:
    answer = httpx.get(f"http://127.0.0.1:{port}{path}", verify=public_roots(), trust_env=False, timeout=10)
    return answer.status_code, answer.text


def is_ready(port: int) -> bool:
    try:
        return probe(port, "/readyz") == (200, "ready\n")
    except httpx.HTTPError:
        return False


@contextmanager
def started(instance, part: str, **settings: str) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """One more process of this part, and the port of its probes."""
    port = free_port()
    environment = instance.environment_of(part) | {
        "HEADGATE_MONITOR_ADDRESS": f"127.0.0.1:{port}",
        "HEADGATE_DRAIN_SECONDS": str(_DRAIN_SECONDS),
        **settings,
    }
    with (instance.folder / f"monitored-{part}-{port}.log").open("wb") as log:
        command = [sys.executable, "-P", "-m", "headgate.cli.main", part]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        wait_for(lambda: is_ready(port), f"the {part} is ready", seconds=90)
        yield process, port
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("part", ["api", "worker"])
def test_a_part_is_ready_until_it_is_told_to_stop(instance, part: str) -> None:
    with started(instance, part, HEADGATE_API_PORT=str(free_port())) as (process, port):
        assert probe(port, "/healthz") == (200, "ok\n")
        assert "headgate_" in probe(port, "/metrics")[1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_a_proxy_serves_while_it_drains(instance, upstream, new_path) -> None:
    proxy_port = free_port()
    with started(instance, "proxy", HEADGATE_PROXY_PORT=str(proxy_port)) as (process, port):
        with closing(Agent(instance, proxy_url=f"http://127.0.0.1:{proxy_port}")) as agent:
            assert agent.call("GET", upstream.url + new_path()).status_code == 200
            process.send_signal(signal.SIGTERM)
            wait_for(lambda: probe(port, "/readyz") == (503, "draining\n"), "it drains", seconds=3)
            assert agent.call("GET", upstream.url + new_path()).status_code == 200
        assert process.wait(30) == 0


def test_a_second_signal_ends_the_wait(instance) -> None:
    with started(instance, "proxy", HEADGATE_PROXY_PORT=str(free_port()), HEADGATE_DRAIN_SECONDS="300") as (
        process,
        port,
    ):
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: probe(port, "/readyz")[0] == 503, "it drains", seconds=3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_a_proxy_without_its_database_is_not_ready(instance) -> None:
    with started(instance, "proxy", HEADGATE_PROXY_PORT=str(free_port())) as (_, port):
        with instance.frozen("postgres"):
            wait_for(lambda: probe(port, "/readyz") == (503, "not ready\n"), "it is not ready", seconds=30)
            assert probe(port, "/healthz")[0] == 200
        wait_for(lambda: is_ready(port), "it is ready again", seconds=60)
