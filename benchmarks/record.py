"""What the record of a forwarded call costs PostgreSQL and the worker, and how fast a backlog is applied.

``python -m benchmarks.record [--seconds 10] [--rounds 3] [--backlog 20000]``. The processor time is that of all
processes of the server and of the worker, from the first call until the journal is empty again. The age of the
journal's oldest row is how long an event waits to be readable by lists that do not apply it themselves.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psycopg

from benchmarks.load.client import Load
from benchmarks.load.instance import Instance, process, start_instance, wait_for
from benchmarks.load.processes import tree_processor_seconds
from benchmarks.load.record_database import RecordDatabase, record_database
from headgate.actions.entry_lane import EntryLane
from headgate.actions.recorded_entry import ActionRow, OutcomeRow, action_entry, outcome_entry
from headgate.audit.model import SYSTEM, payload_text
from headgate.db.database import Database
from headgate.demo.certificates import write_service_certificate
from headgate.journal.apply import apply_due
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from tests.entry_codes import CODES

_ENTRIES_OF_ONE_ROW: Final = 8
# Tables with their indexes. The journal is emptied, and its room is used again.
_STORED: Final = """
    SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'journal'
"""
_TEXT: Final = payload_text(SYSTEM, {"decision": "allow", "reason": "reading is allowed", "text": "x" * 200})


@dataclass(frozen=True)
class Spent:
    """Of processes with their reaped children, in seconds; of the log, and of what stays, in bytes."""

    postgres: float
    worker: float
    wal_bytes: int
    stored_bytes: int


def spent(instance: Instance, server: "psycopg.Connection[tuple[int]]") -> Spent:
    [(wal_bytes,)] = server.execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint").fetchall()
    [(stored_bytes,)] = server.execute(_STORED).fetchall()
    pids = instance.runtime["pids"]
    return Spent(
        sum(map(tree_processor_seconds, pids["postgres"])),
        sum(map(tree_processor_seconds, pids["worker"])),
        wal_bytes,
        stored_bytes,
    )


def ages_until(client: "subprocess.Popen[str]", server: "psycopg.Connection[tuple[int]]") -> list[float]:
    """Of the oldest row of the journal, in seconds, every 50 ms until the client has ended: no event waits longer."""
    ages: list[float] = []
    # By the key: the benchmark has one organization, and the journal is mostly dead rows.
    oldest = "SELECT created_at FROM journal ORDER BY org_id, journal_id LIMIT 1"
    query = f"SELECT extract(epoch FROM clock_timestamp() - created_at)::float8 FROM ({oldest}) AS one"  # noqa: S608
    while client.poll() is None:
        ages += [float(age) for (age,) in server.execute(query.encode()).fetchall()]
        time.sleep(0.05)
    return ages


def measure_calls(stack: ExitStack, folder: Path, seconds: float, rounds: int) -> None:
    root, certificate = write_service_certificate(folder, "127.0.0.1")
    upstream = stack.enter_context(process([sys.executable, "-m", "benchmarks.load.upstream", str(certificate)]))
    assert upstream.stdout is not None
    target_port = int(upstream.stdout.readline())
    instance = start_instance(stack, folder, root)
    server = stack.enter_context(psycopg.connect(instance.runtime["database_url"], autocommit=True))

    def applied() -> bool:
        return server.execute("SELECT count(*) FROM journal").fetchall() == [(0,)]

    print("conns   calls/s   postgres µs   worker µs   WAL KB   stored KB   oldest p99 ms   (of one forwarded GET)")
    for connections in (1, 8, 64):
        found = []
        for _ in range(rounds):
            load = Load(
                "127.0.0.1", instance.proxy_port, instance.runtime["agent_key"], target_port,
                instance.runtime["ca_cert"], connections, seconds, method="GET", path="/bytes/1024", body_bytes=0,
            )  # fmt: skip
            actions, before = instance.count_actions(), spent(instance, server)
            command = [sys.executable, "-m", "benchmarks.load.client", json.dumps(load.__dict__)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
                ages = ages_until(client, server)
                assert client.stdout is not None
                rps = json.loads(client.stdout.read())["rps"]
            wait_for(applied)
            after = spent(instance, server)
            calls = instance.count_actions() - actions
            found.append(
                (
                    rps,
                    (after.postgres - before.postgres) / calls * 1e6,
                    (after.worker - before.worker) / calls * 1e6,
                    (after.wal_bytes - before.wal_bytes) / calls / 1e3,
                    (after.stored_bytes - before.stored_bytes) / calls / 1e3,
                    statistics.quantiles(ages, n=100)[98] * 1e3,
                )
            )
        rps, postgres, worker, wal, stored, age = (statistics.median(one) for one in zip(*found, strict=True))
        print(
            f"{connections:>5} {rps:>9.0f} {postgres:>13.0f} {worker:>11.0f} {wal:>8.1f} {stored:>11.1f} {age:>15.0f}",
            flush=True,
        )


def _entries(org_id: str, agent_id: str, calls: int) -> list[bytes]:
    rows = [
        ActionRow(
            org_id, 1, new_id(IdPrefix.ACTION), agent_id, None, "proxy", "rows", "read", "executing", os.urandom(32),
            b'{"params":{}}', b'{"decision":"allow"}', "low", None, datetime.now(UTC), new_id(IdPrefix.EXECUTION),
            "ins_1", None, None, _TEXT, _TEXT, _TEXT,
        )
        for _ in range(calls)
    ]  # fmt: skip
    outcomes = [
        OutcomeRow(
            org_id, str(one.execution_id), one.action_id, agent_id, True, datetime.now(UTC), None, b"{}", _TEXT, None
        )
        for one in rows
    ]
    return [*map(action_entry, rows), *map(outcome_entry, outcomes)]


async def measure_backlog(made: RecordDatabase, calls: int) -> None:
    agent_id = new_id(IdPrefix.AGENT)
    with psycopg.connect(made.dsn("postgres"), autocommit=True) as server:
        lane = EntryLane(CODES)
        for _ in range(calls // _ENTRIES_OF_ONE_ROW):
            entries = _entries(made.org_id, agent_id, _ENTRIES_OF_ONE_ROW)
            server.execute(
                "INSERT INTO journal (org_id, created_at, entries) VALUES (%s, now(), %s)",
                [made.org_id, b"".join(lane.sign([(made.org_id, entry) for entry in entries]))],
            )
            lane.committed([True] * len(entries))
        worker = Database(Secret(made.dsn("headgate_worker")), entry_codes=CODES)
        await worker.open()
        wall, cpu = time.perf_counter(), time.process_time()
        while await apply_due(worker):
            pass
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        await worker.close()
        [(events,)] = server.execute("SELECT count(*) FROM audit_events").fetchall()
    print(
        f"backlog: {events} events applied and sealed, {events / wall:.0f} a second;"
        f" {cpu / calls * 1e6:.0f} µs of Python a call"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--backlog", type=int, default=20_000)
    options = parser.parse_args()
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores for everything, load {os.getloadavg()[0]:.1f}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headgate-bench-")))
        measure_calls(stack, folder, options.seconds, options.rounds)
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as name, record_database(Path(name)) as made:
        asyncio.run(measure_backlog(made, options.backlog))


if __name__ == "__main__":
    main()
