"""Lists with very many rows behind them: filled by SQL, then asked for by every filter; the bar is 20 ms a page.

One connection, one request after the other, through the whole API; totals as they are by default, counted up to 10,000.
Beside the time that a page took stands what it cost the API and the database server in processor time: on a machine
that others use as well, that is the figure which can be compared.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg

from benchmarks.load.instance import Instance, start_instance
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID

NOTHING_TO_LIST: Final = "/health/live"

type Filler = Callable[[psycopg.Connection[Any], str, int], None]
"""Writes so many rows into an organization, as a role that may write every table."""

# Identifiers are UUIDv7 of their moment: one a minute, up to now.
MADE_ROWS: Final = """
    CREATE TEMPORARY TABLE bench_rows ON COMMIT DROP AS
    SELECT n, t.at, substr(m.hex, 1, 8) || '-' || substr(m.hex, 9, 4) || '-7' || substr(md5(n::text), 1, 3) || '-8'
               || substr(md5(n::text), 4, 3) || '-' || substr(md5(n::text), 7, 12) AS id
    FROM generate_series(1, %(count)s) AS n,
         LATERAL (SELECT clock_timestamp() - (%(count)s - n) * interval '1 minute' AS at) AS t,
         LATERAL (SELECT lpad(to_hex((extract(epoch FROM t.at) * 1000)::bigint), 12, '0') AS hex) AS m
"""


def write(connection: psycopg.Connection[Any], org_id: str, count: int, tables: dict[str, str]) -> None:
    """A table's statement each, over ``bench_rows (n, at, id)``; and statistics, as autovacuum would make them."""
    values = {"org": org_id, "count": count}
    with connection.transaction():
        connection.execute("SELECT set_config('app.org_id', %s, true)", [org_id])
        connection.execute(MADE_ROWS, values)
        for statement in tables.values():
            connection.execute(statement, values)
    for table in tables:
        connection.execute(f"VACUUM (ANALYZE) {table}")


@dataclass(frozen=True)
class Timed:
    """Milliseconds of each round, and of processor time of one, of the API and of the database server for it."""

    taken: list[float]
    api: float
    database: float
    answer: httpx.Response

    @property
    def median(self) -> float:
        return statistics.median(self.taken)

    def line(self) -> str:
        p99 = sorted(self.taken)[int(len(self.taken) * 0.99)]
        return f"{self.median:7.2f} ms p50 {p99:7.2f} p99 {self.api:6.2f} + {self.database:6.2f} of processor"


def processor_milliseconds(pids: Iterable[int]) -> dict[int, float]:
    """All threads' time on a processor, of each process, from the scheduler (Linux, ``sched-stats``): to the
    nanosecond, where ``/proc/PID/stat`` counts hundredths of a second."""
    spent = {}
    for pid in pids:
        tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
        spent[pid] = sum(int(task.read_text("utf-8").split()[0]) for task in tasks) / 1e6
    return spent


def spent_since(before: dict[int, float], pids: Iterable[int]) -> float:
    """Of these; one that was not there before has spent all of its time since."""
    return sum(spent - before.get(pid, 0) for pid, spent in processor_milliseconds(pids).items())


def timed(instance: Instance, server: psycopg.Connection[Any], path: str, rounds: int) -> Timed:
    """Of an instance that is warm: what is asked first is not counted."""
    answer, taken = instance.api.get(path), []
    pids = instance.runtime["pids"]["api"]
    api_before, database_before = processor_milliseconds(pids), processor_milliseconds(backends(server))
    for _ in range(rounds):
        began = time.perf_counter()
        answer = instance.api.get(path)
        taken.append((time.perf_counter() - began) * 1000)
    api = spent_since(api_before, pids) / rounds
    database = spent_since(database_before, backends(server)) / rounds
    return Timed(taken, api, database, answer.raise_for_status())


def backends(server: psycopg.Connection[Any]) -> list[int]:
    """The database server's processes for the API."""
    return [pid for (pid,) in server.execute("SELECT pid FROM pg_stat_activity WHERE usename = 'headgate_api'")]


def report(instance: Instance, server: psycopg.Connection[Any], paths: Iterable[str], rounds: int) -> None:
    print(f"  {timed(instance, server, NOTHING_TO_LIST, rounds).line()}  a route that lists nothing", flush=True)
    worst = 0.0
    for path in paths:
        found = timed(instance, server, path, rounds)
        worst = max(worst, found.median)
        print(f"  {found.line()} {_shown(found.answer)}  {path}", flush=True)
    print(f"  worst p50: {worst:.2f} ms, load {os.getloadavg()[0]:.1f}")


def _shown(answer: httpx.Response) -> str:
    """Of a list, how many there are; of a page for people, its size."""
    if not answer.headers["content-type"].startswith("application/json"):
        return f"{len(answer.content) / 1024:>7.1f} KiB"
    page = answer.json()
    numbers = page.get("pagination", {})
    total = f"{numbers.get('total', 0)}{'+' if numbers.get('total_is_minimum') else ' '}"
    return f"{total:>8} found, {len(page.get('data', [])):>3} shown"


def measure_lists(
    description: str | None,
    fill: Filler,
    paths: Callable[[Instance, int], Iterable[str]],
    stored: int = 1_000_000,
    afterwards: Callable[[Instance], None] = lambda _: None,
) -> None:
    """What such a benchmark's ``main`` does. ``paths``: of an instance with so many rows. ``afterwards``: what else is
    measured of it."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--stored", type=int, default=stored)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--data-dir", type=Path, help="Kept, and filled the first time only.")
    parser.add_argument("--only", default="", help="Of the lists, those whose address has this in it.")
    options = parser.parse_args()
    with ExitStack() as stack:
        kept: Path | None = options.data_dir
        folder = kept or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headgate-bench-")))
        folder.mkdir(exist_ok=True)
        (folder / "runtime.json").unlink(missing_ok=True)
        instance = start_instance(stack, folder)
        server = stack.enter_context(psycopg.connect(instance.runtime["database_url"], autocommit=True))
        server.execute("SET statement_timeout = 0")
        if not (folder / "filled").exists():
            fill(server, DEFAULT_ORGANIZATION_ID, options.stored)
            (folder / "filled").touch()
        cores, load = os.cpu_count(), os.getloadavg()[0]
        print(f"{datetime.now(UTC):%Y-%m-%d}, {cores} cores for everything, load {load:.1f}, {options.stored} stored")
        wanted = [path for path in paths(instance, options.stored) if options.only in path]
        report(instance, server, wanted, options.rounds)
        afterwards(instance)
