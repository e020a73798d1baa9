"""Every attack of ``benchmarks.attacks`` beside two victims: another agent of the attacker's organization, and an agent
of another organization. Two proxy workers as ``headgate up`` starts them, 2,048 file descriptors a process.

``python -m benchmarks.fairness [--only WORDS] [--seconds 10]``. Asked: p99 ≤ 250 ms and no error of either victim,
logs ≤ 1 MB a minute, memory within the documented budget (SECURITY.md).
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.attacks.attacks import ATTACKS
from benchmarks.attacks.policies import slow_policies_text
from benchmarks.holds import resident_kb
from benchmarks.load.client import Load
from benchmarks.load.instance import Instance, process, start_instance
from headgate.agents.scopes import KIND_SCOPES, KeyKind
from headgate.agents.service import create_agent, create_key
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Database
from headgate.demo.certificates import write_service_certificate
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID
from headgate.organizations.stored_rules import open_private_destinations
from headgate.workflows.manage_members import create_organization

_DESCRIPTORS: Final = 2048
_RATE_PER_SECOND: Final = 10
_SETTLE_SECONDS: Final = 4.0
_POLICIES: Final = {
    "Names": 'package names\n\nallow if endswith(input.http.host, ".fairness.test")\n',
    "Sockets": 'package sockets\n\nallow if input.tool == "websocket"\n',
    "Hold": 'package hold\n\nrequire_approval if input.http.path == "/bytes/7"\n',
}
_ALLOW: Final = 'package bench\n\nallow if input.http.host == "127.0.0.1"\n'
_INSPECTION: Final = {
    "name": "Put",
    "type": "content_safety",
    "model": "secrets",
    "on_match": "deny",
    "scope": {"operations": ["put"]},
}
_ALLOWLIST: Final = {"destinations": [{"host": "127.0.0.1", "private": True}], "tools": []}


async def other_organization(database_url: str) -> tuple[str, str, str]:
    """Another organization, and its keys: an administrator's, and an agent's."""
    database = Database(Secret(database_url), max_connections=1)
    await database.open()
    try:
        by = Change(DEFAULT_ORGANIZATION_ID, SYSTEM, None, system_clock())
        made = await create_organization(database, by, "Victims")
        by = Change(made.org_id, SYSTEM, None, system_clock())
        scopes = KIND_SCOPES[KeyKind.ADMIN]
        async with begin_change(database, by) as change:
            await open_private_destinations(change, {"destinations": [{"host": "127.0.0.1"}]})
            admin = await create_key(change, kind=KeyKind.ADMIN, scopes=scopes, name="bench")
            _, agent = await create_agent(change, name="victim", description=None)
        return made.org_id, admin.key.reveal(), agent.key.reveal()
    finally:
        await database.close()


def allow_in_other(instance: Instance, org_id: str, admin_key: str) -> None:
    """The operator opens the private address first."""
    opened = {"destinations": [{"host": "127.0.0.1"}]}
    instance.api.put(f"/admin/organizations/{org_id}/private-destinations", json=opened).raise_for_status()
    headers = {"authorization": f"Bearer {admin_key}"}
    instance.api.put("/admin/settings/allowlist", json=_ALLOWLIST, headers=headers).raise_for_status()
    policy = {"name": "Benchmark", "rego_policy": _ALLOW, "priority": 1}
    instance.api.post("/admin/policies", json=policy, headers=headers).raise_for_status()


def start_victim(stack: ExitStack, instance: Instance, key: str, upstream_port: int, seconds: float) -> Any:
    ca_file = instance.runtime["ca_cert"]
    load = Load("127.0.0.1", instance.proxy_port, key, upstream_port, ca_file, 4, seconds)
    options = json.dumps({**load.__dict__, "rate_per_second": _RATE_PER_SECOND})
    return stack.enter_context(process([sys.executable, "-m", "benchmarks.attacks.victim", options]))


def resident_mb(instance: Instance) -> float:
    return sum(resident_kb(pid) for pid in instance.runtime["pids"]["proxy"]) / 1024


def row(name: str, victims: list[dict[str, Any]], memory: tuple[float, float, float], log_kb: float) -> str:
    cells = []
    errors: dict[str, int] = {}
    for one in victims:
        ordered = one["latencies_ms"] or [float("inf")]
        at = [ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.99)]
        cells.append(f"{at[0]:6.0f} {at[1]:6.0f} {ordered[-1]:6.0f}")
        for what, count in one["errors"].items():
            errors[what] = errors.get(what, 0) + count
    before, peak, after = memory
    text = f"{name:<33} {'  '.join(cells)}  {sum(errors.values()):>6}"
    text += f"  {before:>5.0f} {peak:>5.0f} {after:>5.0f}  {log_kb:>9.0f}"
    return text + (f"  {errors}" if errors else "")


def start_upstream(stack: ExitStack, certificate: Path, module: str = "upstream") -> int:
    upstream = stack.enter_context(process([sys.executable, "-m", f"benchmarks.load.{module}", str(certificate)]))
    assert upstream.stdout is not None
    return int(upstream.stdout.readline())


def run_attack(name: str, instance: Instance, keys: dict[str, str], ports: tuple[int, int, int], seconds: float) -> str:
    """``ports``: of the victims' server, of the attacker's, and of the attacker's for WebSockets."""
    log: Path = instance.runtime["log"]
    target = {
        "proxy_port": instance.proxy_port,
        "api_port": instance.api_port,
        "key": keys["attacker"],
        "ca_file": instance.runtime["ca_cert"],
        "upstream_port": ports[1],
        "socket_port": ports[2],
    }
    before, log_before, peak = resident_mb(instance), log.stat().st_size, 0.0
    with ExitStack() as stack:
        # The victims are there first, and are still there when the attack ends.
        victims = [start_victim(stack, instance, keys[one], ports[0], seconds) for one in ("same", "other")]
        time.sleep(1.5)
        command = [sys.executable, "-m", "benchmarks.attacks.attacker", name, str(seconds - 1), json.dumps(target)]
        stack.enter_context(process(command, stderr=None))
        while any(one.poll() is None for one in victims):
            peak = max(peak, resident_mb(instance))
            time.sleep(0.2)
        seen = [json.loads(one.stdout.read()) for one in victims]
    log_kb = (log.stat().st_size - log_before) / 1024 * 60 / seconds
    time.sleep(_SETTLE_SECONDS)
    return row(name, seen, (before, max(peak, before), resident_mb(instance)), log_kb)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="attacks whose name holds these words")
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headgate-bench-")))
        root, certificate = write_service_certificate(folder, "127.0.0.1")
        # Each its own: a server that is busy with the attacker's downloads is not what is measured.
        victims_port, attackers_port = (start_upstream(stack, certificate) for _ in range(2))
        ports = victims_port, attackers_port, start_upstream(stack, certificate, "socket_upstream")
        settings = {"HEADGATE_RATE_LIMITS": "on", "HEADGATE_PROXY_WORKERS": "2", "HEADGATE_LOG_LEVEL": "info"}
        instance = start_instance(stack, folder, root, log=folder / "log", descriptors=_DESCRIPTORS, **settings)
        instance.runtime["log"] = folder / "log"
        for name, policy in {**_POLICIES, **slow_policies_text()}.items():
            document = {"name": name, "rego_policy": policy, "priority": 0}
            instance.api.post("/admin/policies", json=document).raise_for_status()
        instance.api.post("/admin/nlp-policies", json=_INSPECTION).raise_for_status()
        made = instance.api.post("/admin/agents", json={"name": "victim"}).raise_for_status().json()
        org_id, admin_key, other_key = asyncio.run(other_organization(instance.runtime["database_url"]))
        allow_in_other(instance, org_id, admin_key)
        keys = {"attacker": instance.runtime["agent_key"], "same": made["api_key"]["key"], "other": other_key}
        print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores for everything, load {os.getloadavg()[0]:.1f}")
        print(f"{'':<33} {'same organization':<20}  {'another':<20}          memory, MB")
        columns = "   p50    p99    max"
        print(f"{'attack':<33} {columns}  {columns}  errors  before peak after  log KB/min", flush=True)
        for name in ATTACKS:
            if options.only in name:
                print(run_attack(name, instance, keys, ports, options.seconds), flush=True)


if __name__ == "__main__":
    main()
