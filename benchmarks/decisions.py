"""How long a decision takes: ``python benchmarks/decisions.py [--opa [BINARY]]``.

Four sets of policies, each asked about one call, bytes in and decision out: one trivial policy, one of 77 lines,
fifty of 80 lines of which three concern the call, and five hundred of which five do. "engine" is the binding alone
(parse the input, evaluate, answer as JSON), "decision" what the gate does with it: index, priorities, combination.

With ``--opa`` the same policies are put into a server of the Open Policy Agent on the loopback interface
and asked over one kept-alive connection; without a BINARY it is built by the Go toolchain, through the Go
module proxy. Both are asked in turns, in one run; times are the median of all rounds.
"""

import argparse
import http.client
import json
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import regorus

from headgate.policies.evaluate import PolicySet
from headgate.policies.marker import Marker
from headgate.policies.model import RulePolicy

FOLDER = Path(__file__).parent / "data" / "decisions"
DATA = (FOLDER / "data.json").read_bytes()
INPUT = (FOLDER / "input.json").read_bytes()
REALISTIC = (FOLDER / "realistic.rego").read_text("utf-8")
CONCERNED = (FOLDER / "concerned.rego").read_text("utf-8")
TRIVIAL = "package hg.p1\n\nimport rego.v1\n\nallow if input.tool == `github`\n"
INSTANT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Case:
    """One set of policies and what asking it took, in microseconds, by who was asked."""

    name: str
    texts: list[str]
    times: dict[str, list[float]] = field(default_factory=dict)

    def median(self, who: str) -> float:
        return statistics.median(self.times[who])


def cases() -> list[Case]:
    return [
        Case("trivial", [TRIVIAL]),
        Case("realistic", [REALISTIC]),
        Case("fifty, three concerned", many(50, concerned=3)),
        Case("five hundred, five concerned", many(500, concerned=5)),
    ]


def many(count: int, *, concerned: int) -> list[str]:
    return [
        CONCERNED.replace("PACKAGE", f"p{number}").replace("TOOL", "github" if number < concerned else f"t{number}")
        for number in range(count)
    ]


def policy(number: int, text: str) -> RulePolicy:
    return RulePolicy(f"pol_{number}", 1, f"p{number}", None, text, True, 100, None, INSTANT, INSTANT, "org_a")


def engine_alone(texts: list[str]) -> Callable[[], object] | None:
    if len(texts) > 1:
        return None
    compiled = regorus.Policy(texts[0], data=regorus.Data(DATA))
    return lambda: compiled.decide(regorus.Input(INPUT))


def decision(texts: list[str], marker: Marker) -> Callable[[], object]:
    policies = PolicySet([policy(number, text) for number, text in enumerate(texts)], DATA, marker=marker)
    asked = json.loads(INPUT)
    http = asked["http"]

    def decide() -> object:
        return policies.decide(
            INPUT, tool=asked["tool"], operation=asked["operation"], host=http.get("host"), method=http["method"]
        )

    return decide


def measure(ask: Callable[[], object], calls: int) -> list[float]:
    times: list[float] = []
    for _ in range(calls):
        started = time.perf_counter_ns()
        ask()
        times.append((time.perf_counter_ns() - started) / 1_000)
    return times


@contextmanager
def opa_server(binary: str, texts: list[str]) -> Iterator[Callable[[], object]]:
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        for number, text in enumerate(texts):
            (Path(folder) / f"p{number}.rego").write_text(text, "utf-8")
        (Path(folder) / "data.json").write_bytes(DATA)
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
        probe.close()
        server = subprocess.Popen([binary, "run", "--server", "--log-level=error", f"--addr={address}", folder])
        try:
            connection = connected(address)
            body = b'{"input":' + INPUT + b"}"
            path = "/v1/data/hg/p1" if len(texts) == 1 else "/v1/data/hg"

            def ask() -> object:
                connection.request("POST", path, body, {"Content-Type": "application/json"})
                answer = connection.getresponse().read()
                assert b'"result"' in answer
                return answer

            ask()
            yield ask
            connection.close()
        finally:
            server.terminate()
            server.wait()


def connected(address: str) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(address)
    for _ in range(100):
        try:
            connection.connect()
        except ConnectionRefusedError:
            time.sleep(0.1)
        else:
            assert isinstance(connection.sock, socket.socket)
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
    raise SystemExit("OPA's server did not start")


def opa_binary(given: str) -> str:
    if given:
        return given
    if found := shutil.which("opa"):
        return found
    if shutil.which("go") is None:
        raise SystemExit("--opa needs OPA's binary, or a Go toolchain to build it")
    folder = Path.home() / ".cache" / "headgate-benchmarks"
    if not (folder / "opa").exists():
        print("building OPA …", file=sys.stderr)
        environment = {**os.environ, "GOBIN": str(folder), "GOFLAGS": "-mod=mod"}
        subprocess.run(["go", "install", "github.com/open-policy-agent/opa@latest"], env=environment, check=True)  # noqa: S607 - the caller's own toolchain
    return str(folder / "opa")


def run(opa: str | None, rounds: int, calls: int) -> list[Case]:
    everything = cases()
    with ExitStack() as stack:
        marker = Marker(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        stack.callback(marker.close)
        for case in everything:
            asked = {"decision": decision(case.texts, marker), "engine": engine_alone(case.texts)}
            if opa is not None:
                asked["OPA"] = stack.enter_context(opa_server(opa, case.texts))
            for _ in range(rounds):
                for who, ask in asked.items():
                    if ask is not None:
                        case.times.setdefault(who, []).extend(measure(ask, calls if who != "OPA" else calls // 5))
    return everything


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opa", nargs="?", const="", metavar="BINARY", help="compare with OPA's REST server")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=2_000, help="calls a round")
    arguments = parser.parse_args()
    opa = None if arguments.opa is None else opa_binary(arguments.opa)
    measured = run(opa, arguments.rounds, arguments.calls)
    load = os.getloadavg()[0]
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores ({platform.machine()}), load {load:.1f}; p50 in µs")
    for case in measured:
        figures = ", ".join(f"{who} {case.median(who):.0f}" for who in case.times)
        ratio = f"; OPA / decision {case.median('OPA') / case.median('decision'):.1f}" if opa is not None else ""
        print(f"{case.name}: {figures}{ratio}")
    print(f"fifty / realistic: {measured[2].median('decision') / measured[1].median('decision'):.2f}")


if __name__ == "__main__":
    main()
