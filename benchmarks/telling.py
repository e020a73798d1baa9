"""From a held action to whoever is told of it: a webhook, a service of Apprise's, Slack's own interface.

``python -m benchmarks.telling [--actions 60]``: actions that need approval, first one at a time with pauses in which
the worker falls idle, then many at once; the time from the API's answer (the approval is durable) to the first byte of
each message at a receiver on this machine. The receivers answer at once, but for one webhook that never answers.
"""

import argparse
import json
import os
import random
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from contextlib import ExitStack
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from benchmarks.load.instance import Instance, start_instance, wait_for

_POLICY = 'package held\n\nrequire_approval if input.tool == "ledger"\n'
_KINDS = ("webhook", "apprise", "slack")


class Receiver(ThreadingHTTPServer):
    """``arrived``: by kind and action, when the request came."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.arrived: dict[str, dict[str, float]] = defaultdict(dict)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        at = time.perf_counter()
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path.startswith("/never"):
            time.sleep(60)
            return
        kind = {"/hook": "webhook", "/api/chat.postMessage": "slack"}.get(self.path, "apprise")
        found = body.partition(b"apr_")[2][:36].decode(errors="replace")
        self.server.arrived[kind].setdefault(f"apr_{found}", at)
        answer = json.dumps({"ok": True, "channel": "C1", "ts": "1.1"}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Silent: ``arrived`` tells."""


def prepare(instance: Instance, receiver: Receiver) -> None:
    port = receiver.server_address[1]
    entry = {"host": "127.0.0.1", "ports": [port], "private": True}
    instance.api.put("/admin/settings/allowlist", json={"destinations": [entry], "tools": []}).raise_for_status()
    policy = {"name": "held", "rego_policy": _POLICY, "priority": 1}
    instance.api.post("/admin/policies", json=policy).raise_for_status()
    for path in ("hook", "never"):
        instance.api.post("/admin/webhooks", json={"url": f"{receiver.url}/{path}"}).raise_for_status()
    slack = {"kind": "slack", "channel": "C1", "token": "x", "signing_secret": "x", "api_url": f"{receiver.url}/api"}
    channels = {"apprise": {"kind": "apprise", "url": f"ntfy://127.0.0.1:{port}/topic"}, "slack": slack}
    document = {"channels": channels, "digest": {"most_single": 1000}}
    instance.api.put("/admin/settings/notifications", json=document).raise_for_status()


def submit(instance: Instance, agent: httpx.Client) -> tuple[str, float]:
    body = {"tool": "ledger", "operation": "post", "params": {}}
    answer = agent.post("/v1/actions", json=body).raise_for_status().json()
    return answer["approval_id"], time.perf_counter()


def report(name: str, receiver: Receiver, asked: dict[str, float]) -> None:
    wait_for(lambda: all(asked.keys() <= receiver.arrived[kind].keys() for kind in _KINDS), 90)
    print(f"  {name}:")
    for kind in _KINDS:
        seconds = sorted(receiver.arrived[kind][approval] - at for approval, at in asked.items())
        cuts = statistics.quantiles(seconds, n=100)
        print(
            f"    {kind:8} p50 {cuts[49] * 1000:.0f} ms, p99 {cuts[98] * 1000:.0f} ms, max {seconds[-1] * 1000:.0f} ms"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=60)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headgate-bench-")))
        instance, receiver = start_instance(stack, folder), Receiver()
        stack.callback(receiver.shutdown)
        prepare(instance, receiver)
        headers = {"x-agent-key": instance.runtime["agent_key"]}
        agent = stack.enter_context(
            httpx.Client(base_url=instance.runtime["api_url"], headers=headers, timeout=60, trust_env=False)
        )
        print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores for everything, load {os.getloadavg()[0]:.1f}")
        report("the first, which starts Apprise's process", receiver, dict([submit(instance, agent) for _ in range(2)]))
        asked = {}
        for _ in range(options.actions):
            time.sleep(random.uniform(0.3, 1.5))  # noqa: S311 - no secret
            approval, at = submit(instance, agent)
            asked[approval] = at
        report("one at a time", receiver, asked)
        report("all at once", receiver, dict(submit(instance, agent) for _ in range(options.actions)))


if __name__ == "__main__":
    main()
