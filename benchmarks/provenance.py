"""What provenance costs: ``python -m benchmarks.provenance``.

Looks up the values of a call with a body of 4 KB of JSON, none and all of them known; reads answers of 4 and 100 KB;
says what a nearly full index takes. Times are processor time, the median of all rounds.
"""

import json
import os
import resource
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime

from headgate.agents.model import KeyIdentity, KeyKind
from headgate.connections.choose import NO_CONNECTIONS
from headgate.gate.candidate import candidate_for, with_connection
from headgate.gate.recall_values import with_origins
from headgate.protocols.http_call import HttpCall
from headgate.provenance.memory import VALUES_MAX, ValueMemory
from headgate.provenance.model import ProvenanceRules, Source, SourceKind
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues

ROUNDS = 2_000
ORG, AGENT = "org_1", "agt_1"
ROW = {"id": 4711, "to": "p{n}@corp.example", "note": "please pay by friday, thanks", "url": "https://x.example/a/{n}"}


def document(size_bytes: int) -> bytes:
    rows = []
    while len(json.dumps(rows)) < size_bytes:
        rows.append({name: str(value).format(n=len(rows)) for name, value in ROW.items()})
    return json.dumps({"rows": rows}).encode()


def median_microseconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    took = []
    for _ in range(rounds):
        began = time.process_time_ns()
        work()
        took.append(time.process_time_ns() - began)
    return statistics.median(took) / 1_000


def main() -> None:
    memory = ValueMemory(os.urandom(16))
    page = Source(SourceKind.RESPONSE, trusted=False, seen_at=datetime.now(UTC), action_id="act_1", host="h.example")
    rules = ProvenanceRules(lists={})
    identity = KeyIdentity(ORG, "key_1", KeyKind.AGENT, AGENT, "bench", None, frozenset(), None, 1)
    body = document(4 << 10)
    headers = ((b"content-type", b"application/json"),)
    call = HttpCall("POST", "https", "api.example", 443, "/v1/rows", "", headers, body)
    candidate = with_connection(candidate_for(identity, interpret(call, load_catalogues())), NO_CONNECTIONS, ORG)
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors; {len(body)} bytes of body")
    unknown = median_microseconds(lambda: with_origins(candidate, memory, rules, ORG))
    print(f"look up the values of the body, none known: {unknown:.0f} us")
    for size_bytes in (4 << 10, 100 << 10):
        text = document(size_bytes)
        number = memory.number(page)
        fresh = iter(range(ROUNDS))
        new = median_microseconds(
            lambda text=text, number=number, fresh=fresh: memory.show(ORG, f"a{next(fresh)}", text, page, number), 200
        )
        again = median_microseconds(lambda text=text, number=number: memory.show(ORG, AGENT, text, page, number), 200)
        print(f"read an answer of {len(text)} bytes, all new / all known: {new:.0f} / {again:.0f} us")
    known = median_microseconds(lambda: with_origins(candidate, memory, rules, ORG))
    print(f"look up the values of the body, each known: {known:.0f} us")
    before, values = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, memory.values
    agent = 0
    while memory.values < VALUES_MAX * 0.95:
        text = " ".join(f"inv_{agent}_{n}" for n in range(160)).encode()
        memory.show(ORG, f"agent {agent}", text, page, 1)
        agent += 1
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{agent} agents with 160 values each, {memory.values - values} values: {grown:.0f} MiB")


if __name__ == "__main__":
    main()
