"""Two APIs and three proxies behind HAProxy, which asks each one's ``/readyz``: one is killed, one is told to stop."""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass

import httpx
import pytest

from headgate.kernel.public_roots import public_roots
from tests.e2e.clients import Agent
from tests.e2e.test_monitor_port import started
from tests.e2e.waiting import wait_for
from tests.free_port import free_port

# Proxies and APIs alike in TCP mode: what is said inside is between the client and Headgate.
_CONFIGURATION = """
global
    log stdout format raw local0 notice
defaults
    mode tcp
    log global
    timeout connect 2s
    timeout client 5m
    timeout server 5m
    timeout check 2s
    retries 2
    option redispatch
    default-server check inter 200ms fall 1 rise 1
listen proxies
    bind 127.0.0.1:{proxy_port}
    option httpchk GET /readyz
{proxies}
listen apis
    bind 127.0.0.1:{api_port}
    option httpchk GET /readyz
{apis}
"""


@dataclass(frozen=True)
class Balanced:
    """Each test ends one of them; one of each kind is left."""

    proxy_url: str
    api_url: str
    killed_proxy: "subprocess.Popen[bytes]"
    stopped_proxy: "subprocess.Popen[bytes]"
    killed_api: "subprocess.Popen[bytes]"


@pytest.fixture(scope="module")
def balanced(instance, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Balanced]:
    folder = tmp_path_factory.mktemp("balanced")
    with ExitStack() as stack:
        proxies = [_one_more(stack, instance, "proxy") for _ in range(3)]
        apis = [_one_more(stack, instance, "api") for _ in range(2)]
        proxy_port, api_port = free_port(), free_port()
        configuration = folder / "haproxy.cfg"
        configuration.write_text(
            _CONFIGURATION.format(
                proxy_port=proxy_port, api_port=api_port, proxies=_servers(proxies), apis=_servers(apis)
            )
        )
        with (folder / "haproxy.log").open("wb") as log:
            balancer = subprocess.Popen(["haproxy", "-db", "-f", str(configuration)], stdout=log, stderr=log)
        stack.callback(balancer.wait)
        stack.callback(balancer.terminate)
        api_url = f"http://127.0.0.1:{api_port}"
        wait_for(lambda: _is_ready(api_url), "it balances")
        yield Balanced(
            f"http://127.0.0.1:{proxy_port}", api_url, proxies[0].process, proxies[1].process, apis[0].process
        )


@dataclass(frozen=True)
class _Server:
    process: "subprocess.Popen[bytes]"
    port: int
    monitor_port: int


def _one_more(stack: ExitStack, instance, part: str) -> _Server:
    port = free_port()
    process, monitor = stack.enter_context(started(instance, part, **{f"HEADGATE_{part.upper()}_PORT": str(port)}))
    return _Server(process, port, monitor)


def _servers(servers: list[_Server]) -> str:
    return "\n".join(f"    server s{one.port} 127.0.0.1:{one.port} port {one.monitor_port}" for one in servers)


def _is_ready(api_url: str) -> bool:
    try:
        return httpx.get(f"{api_url}/ready", verify=public_roots(), trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


def _calls(agent: Agent, url: str, count: int) -> list[int]:
    return [agent.call("GET", url).status_code for _ in range(count)]


def test_calls_reach_several_and_outlive_one(instance, upstream, balanced: Balanced, new_path) -> None:
    with closing(Agent(instance, proxy_url=balanced.proxy_url)) as agent:
        path = new_path()
        assert _calls(agent, upstream.url + path, 6) == [200] * 6
        balanced.killed_proxy.kill()
        balanced.killed_proxy.wait()
        # Nobody told the balancer: it meets a closed port and goes on to the other server.
        assert _calls(agent, upstream.url + path, 6) == [200] * 6
        served = instance.rows(
            "SELECT DISTINCT e.instance_id FROM executions e JOIN actions a USING (org_id, action_id)"
            " WHERE a.request::json #>> '{http,path}' = %s",
            path,
        )
        assert len(served) >= 2


def test_no_call_is_lost_while_one_is_told_to_stop(instance, upstream, balanced: Balanced, new_path) -> None:
    with closing(Agent(instance, proxy_url=balanced.proxy_url)) as agent:
        path = new_path()
        balanced.stopped_proxy.send_signal(signal.SIGTERM)
        found = []
        while balanced.stopped_proxy.poll() is None:
            found += _calls(agent, upstream.url + path, 1)
        assert balanced.stopped_proxy.wait() == 0
        found += _calls(agent, upstream.url + path, 3)
        assert set(found) == {200}
        assert len(found) > 3


def test_an_action_is_read_where_it_was_not_submitted(instance, balanced: Balanced) -> None:
    headers = {"authorization": f"Bearer {instance.runtime['agent_key']}"}
    body = {"tool": "calendar", "operation": "list_events", "params": {}, "idempotency_key": "balanced"}

    def ask(method: str, path: str, **options: object) -> httpx.Response:
        # A connection each, so that the balancer chooses anew.
        with httpx.Client(
            verify=public_roots(), base_url=balanced.api_url, headers=headers, trust_env=False, timeout=30
        ) as client:
            return client.request(method, path, **options)  # type: ignore[arg-type] - the caller's

    made = [ask("POST", "/v1/actions", json=body).json()["id"] for _ in range(4)]
    assert len(set(made)) == 1
    assert [ask("GET", f"/v1/actions/{made[0]}").status_code for _ in range(4)] == [200] * 4
    balanced.killed_api.kill()
    balanced.killed_api.wait()
    began = time.monotonic()
    assert ask("POST", "/v1/actions", json=body).json()["id"] == made[0]
    assert time.monotonic() - began < 30
