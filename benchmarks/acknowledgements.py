"""Durable acknowledgements: actions recorded through the gate's own recorder, on a PostgreSQL of its own.

``python -m benchmarks.acknowledgements [--actions 30000] [--in-flight 256]``. An acknowledgement is a future that says
RECORDED: the action, its execution and three events are on disk (fsync and synchronous_commit are on). One process
records, as a proxy worker does; the requests in flight share transactions (group commit).
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from datetime import UTC, datetime
from itertools import repeat
from pathlib import Path

import psycopg

from benchmarks.load.record_database import RecordDatabase, record_database
from headgate.actions.recorded_entry import ActionRow
from headgate.actions.recording_store import RecordingOutcome
from headgate.audit.model import SYSTEM, payload_text
from headgate.gate.record_batch import Recorder
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from tests.entry_codes import CODES

_DECISION = canonical_bytes(
    {"decision": "allow", "evaluation_time_ms": 0.2, "policies": [], "policy_id": None, "reason": "reading is allowed",
     "risk_level": "low"}
)  # fmt: skip
_REQUEST = canonical_bytes({"http": {"host": "api.example.com", "method": "GET", "path": "/v1/rows"}, "params": {}})


def _row(org_id: str, agent_id: str) -> ActionRow:
    payload = payload_text(SYSTEM, {"decision": "allow", "reason": "reading is allowed", "text": "x" * 200})
    return ActionRow(
        org_id, 1, new_id(IdPrefix.ACTION), agent_id, None, "proxy", "rows", "read", "executing", os.urandom(32),
        _REQUEST, _DECISION, "low", None, datetime.now(UTC), new_id(IdPrefix.EXECUTION), "ins_1", None, None,
        payload, payload, payload,
    )  # fmt: skip


async def record(made: RecordDatabase, agent_id: str, actions: int, in_flight: int) -> tuple[float, float, list[float]]:
    """Acknowledgements a second of time, and of this process' processor; how long each took, in milliseconds."""
    recorder = Recorder(Secret(made.dsn("headgate_proxy")), CODES)
    await recorder.open()
    took: list[float] = []
    numbers = repeat(None, actions)

    async def one_after_the_other() -> None:
        for _ in numbers:
            started = time.perf_counter()
            assert await recorder.submit_action(_row(made.org_id, agent_id)) is RecordingOutcome.RECORDED
            took.append((time.perf_counter() - started) * 1000)

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one_after_the_other() for _ in range(in_flight)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    await recorder.close()
    return actions / wall, actions / cpu, took


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--actions", type=int, default=30_000)
    parser.add_argument("--in-flight", type=int, default=256)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, record_database(Path(name)) as made:
        agent_id = new_id(IdPrefix.AGENT)
        with psycopg.connect(made.dsn("postgres"), autocommit=True) as connection:
            connection.execute("INSERT INTO org_state (org_id) VALUES (%s)", [made.org_id])
            connection.execute(
                "INSERT INTO agents (org_id, agent_id, name) VALUES (%s, %s, 'Robot')", [made.org_id, agent_id]
            )
        print(f"load average {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores")
        for _ in range(3):
            wall, cpu, took = asyncio.run(record(made, agent_id, arguments.actions, arguments.in_flight))
            p99 = statistics.quantiles(took, n=100)[98]
            print(
                f"acknowledged {wall:>8,.0f} actions/s, {3 * wall:,.0f} events/s; {cpu:,.0f} actions a second of its"
                f" own processor time; p50 {statistics.median(took):.1f} ms, p99 {p99:.1f} ms"
            )
        with psycopg.connect(made.dsn("postgres"), autocommit=True) as connection:
            kept = connection.execute("SELECT count(*) FROM journal").fetchall()
        assert kept == [(9 * arguments.actions,)]


if __name__ == "__main__":
    main()
