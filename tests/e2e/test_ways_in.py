"""The other forms in which an agent's program may speak to the proxy, with the agent's real key."""

import json
import subprocess
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from tests.e2e.clients import Administrator
from tests.e2e.instance import Instance
from tests.e2e.upstream import Upstream


def curl(instance: Instance, proxy: str, *words: str) -> "subprocess.CompletedProcess[str]":
    authority = instance.runtime["ca_cert"]
    command = ["curl", "-sS", "-x", proxy, "--proxy-cacert", authority, "--cacert", authority, *words]
    return subprocess.run(command, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("scheme", ["https", "socks5h"])
def test_a_call_is_decided_and_recorded_as_any_other(
    instance: Instance, administrator: Administrator, upstream: Upstream, new_path: Callable[[], str], scheme: str
) -> None:
    runtime, path = instance.runtime, new_path()
    netloc = f"127.0.0.1:{urlsplit(runtime['proxy_url']).port}"
    proxy = f"{scheme}://agent:{runtime['agent_key']}@{netloc}"
    assert json.loads(curl(instance, proxy, upstream.url + path).stdout)["path"] == path
    denied = json.loads(curl(instance, proxy, "-X", "DELETE", upstream.url + path).stdout)["error"]
    assert denied["code"] == "ACTION_DENIED"
    assert [one.method for one in upstream.of(path)] == ["GET"]
    read, deleted = administrator.actions_of(path)
    assert [one["decision"]["decision"] for one in (read, deleted)] == ["allow", "deny"]
    nobody = curl(instance, f"{scheme}://agent:hg_nobody@{netloc}", upstream.url + path)
    assert nobody.returncode == {"https": 56, "socks5h": 97}[scheme], nobody.stderr
    assert len(upstream.of(path)) == 1
