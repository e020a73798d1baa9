"""Parts that the benchmarks start: a whole instance of the gate, and whatever stands beside it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

_ALLOW_ALL = 'package bench\n\nallow if input.http.host == "127.0.0.1"\n'


@dataclass(frozen=True)
class Instance:
    """What the runtime file says, and an administrator's client."""

    runtime: dict[str, Any]
    api: httpx.Client

    @property
    def proxy_port(self) -> int:
        return int(self.runtime["proxy_url"].rsplit(":", 1)[1])

    @property
    def api_port(self) -> int:
        return int(self.runtime["api_url"].rsplit(":", 1)[1])

    def count_actions(self, **filters: str) -> int:
        """Counted, not estimated: only a count shows a loss."""
        url, headers = f"{self.runtime['api_url']}/v1/actions", {"x-agent-key": self.runtime["agent_key"]}
        parameters = {"limit": "1", "total": "exact", **filters}
        page = httpx.get(url, params=parameters, headers=headers, timeout=120, trust_env=False)
        return int(page.raise_for_status().json()["pagination"]["total"])


@contextmanager
def process(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    child = subprocess.Popen(command, text=True, **{**streams, **options})
    try:
        yield child
    finally:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("a part did not start")
        time.sleep(0.05)


def switch_content_policies(api: httpx.Client, policy_ids: Sequence[str], *, on: bool) -> None:
    for policy_id in policy_ids:
        api.patch(f"/admin/nlp-policies/{policy_id}", json={"enabled": on}).raise_for_status()


def start_instance(
    stack: ExitStack,
    folder: Path,
    root: Path | None = None,
    *,
    log: Path | None = None,
    descriptors: int | None = None,
    **settings: str,
) -> Instance:
    """``headgate up`` with one proxy worker, no rate limits and no content policies; calls to 127.0.0.1 are allowed.
    ``log``: a file for what its parts print. ``descriptors``: the most files that each of them may open."""
    runtime_file = folder / "runtime.json"
    environment = {
        **os.environ,
        "HEADGATE_RATE_LIMITS": "off",
        "HEADGATE_EVENT_STREAMS_PER_PERSON": "1000",
        "HEADGATE_PROXY_WORKERS": "1",
        "HEADGATE_LOG_LEVEL": "warning",
        **settings,
    }
    if root is not None:
        environment["HEADGATE_UPSTREAM_CA_FILE"] = str(root)
    command = [sys.executable, "-m", "headgate.cli.main", "up", "--data-dir", str(folder / "data")]
    command += ["--runtime-file", str(runtime_file), "--api-port", "0", "--proxy-port", "0"]
    if descriptors is not None:
        command = ["sh", "-c", 'ulimit -n "$0" && exec "$@"', str(descriptors), *command]
    printed: dict[str, Any] = {}
    if log is not None:
        file = stack.enter_context(log.open("w"))
        printed = {"stdout": file, "stderr": file}
    stack.enter_context(process(command, env=environment, **printed))
    wait_for(runtime_file.exists, 300)  # long where the tables of a kept folder get a new index
    runtime = json.loads(runtime_file.read_text())
    api = stack.enter_context(
        httpx.Client(
            base_url=runtime["api_url"],
            headers={"authorization": f"Bearer {runtime['admin_token']}"},
            timeout=120,
            trust_env=False,
        )
    )
    allowlist = {"destinations": [{"host": "127.0.0.1", "private": True}], "tools": []}
    api.put("/admin/settings/allowlist", json=allowlist).raise_for_status()
    seeded = api.get("/admin/nlp-policies").raise_for_status().json()["data"]
    switch_content_policies(api, [one["id"] for one in seeded], on=False)
    policy = {"name": "Benchmark", "rego_policy": _ALLOW_ALL, "priority": 1}
    api.post("/admin/policies", json=policy).raise_for_status()
    return Instance(runtime, api)
