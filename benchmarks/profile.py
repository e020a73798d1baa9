"""What the policies about content of a profile cost a forwarded call: the same instance with them and without them.

``python -m benchmarks.profile [--profile balanced] [--seconds 4] [--rounds 3]`` switches them off and on in turn, so
that the machine's drift falls on both alike; medians of the rounds, ratios within each round. Keep-alive, one worker.
"""

import argparse
import os
import statistics
import sys
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.gate import SetUp, check_every_request_is_recorded, measure
from benchmarks.load.instance import Instance, process, start_instance, switch_content_policies
from headgate.cli.nlp_policies import body_of_template
from headgate.demo.certificates import write_service_certificate

_CASES: Final[dict[str, dict[str, Any]]] = {
    "GET 1 KB": {"method": "GET", "path": "/bytes/1024", "body_bytes": 0},
    "POST 1 KB": {"method": "POST", "path": "/bytes/1024", "body_bytes": 1024},
    "POST 4 KB": {"method": "POST", "path": "/bytes/1024", "body_bytes": 4096},
}
_COLUMNS: Final = (
    "case       conns  rps: off / on    ÷off   p50 ms off / on   p99 ms off / on   CPU µs off / on   errors on"
)


def policies_of(instance: Instance, profile: str) -> list[str]:
    """Ids of the profile's policies; those that are missing are made."""
    known = {
        one["name"]: one["id"] for one in instance.api.get("/admin/nlp-policies").raise_for_status().json()["data"]
    }
    ids = []
    for template in instance.api.get("/admin/nlp-policies/templates").raise_for_status().json()["data"]:
        if profile in template["profiles"]:
            policy_id = known.get(template["name"])
            if policy_id is None:
                body = body_of_template(template) | {"name": template["name"]}
                policy_id = instance.api.post("/admin/nlp-policies", json=body).raise_for_status().json()["id"]
            ids.append(str(policy_id))
    return ids


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="balanced")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8, 64])
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headgate-bench-")))
        root, certificate = write_service_certificate(folder, "127.0.0.1")
        upstream = stack.enter_context(process([sys.executable, "-m", "benchmarks.load.upstream", str(certificate)]))
        assert upstream.stdout is not None
        target_port = int(upstream.stdout.readline())
        instance = start_instance(stack, folder, root)
        runtime = instance.runtime
        gate = SetUp(
            "headgate", instance.proxy_port, runtime["ca_cert"], runtime["agent_key"], runtime["pids"]["proxy"][0]
        )
        policy_ids = policies_of(instance, options.profile)
        print(
            f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores for everything, load {os.getloadavg()[0]:.1f},"
            f" profile {options.profile}: {len(policy_ids)} policies"
        )
        print(_COLUMNS)
        for name, case in _CASES.items():
            for connections in options.connections:
                rounds: list[tuple[dict[str, Any], dict[str, Any]]] = []
                for _ in range(options.rounds):
                    found = []
                    for on in (False, True):
                        switch_content_policies(instance.api, policy_ids, on=on)
                        found.append(measure(gate, target_port, connections, options.seconds, case))
                    rounds.append((found[0], found[1]))
                print(_row(name, connections, rounds), flush=True)
        check_every_request_is_recorded(instance)


def _row(name: str, connections: int, rounds: list[tuple[dict[str, Any], dict[str, Any]]]) -> str:
    def pair(figure: str, digits: int) -> str:
        off, on = (statistics.median(one[at][figure] for one in rounds) for at in (0, 1))
        return f"{off:.{digits}f} / {on:.{digits}f}"

    share = statistics.median(on["rps"] / max(off["rps"], 1e-9) for off, on in rounds)
    errors = sum(on["errors"] for _, on in rounds)
    refused = [on["refusals"] for _, on in rounds] if errors else ""
    return (
        f"{name:<10} {connections:>5}  {pair('rps', 0):<16} {share:>4.2f}   {pair('p50_ms', 1):<17}"
        f" {pair('p99_ms', 1):<17} {pair('cpu_us', 0):<17} {errors:.0f} {refused}"
    )


if __name__ == "__main__":
    main()
