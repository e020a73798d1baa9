"""GET /admin/audit over ten million events, by every filter; the bar is 20 ms. And what its index costs the sealer.

``python -m benchmarks.audit_lists [--events 10000000] [--rounds 50] [--export]``: a PostgreSQL and an API of its own,
one connection, one request after the other, totals as they are by default (counted up to 10,000). Processor time is
that of the API with its client, and of the server for it: it says what a page costs where the machine is not quiet.
About 15 GB of disk for ten million, given back at the end.
"""

import argparse
import asyncio
import logging
import os
import resource
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import httpx
import psycopg
import structlog

from admin_api.app import create_app
from admin_api.compose import open_dependencies
from admin_api.process_settings import ApiSettings
from admin_api.server import listen, uvicorn_server
from benchmarks.load.many_events import NEEDLE, OFTEN_AGENT, RARE_AGENT, fill
from benchmarks.load.processes import processor_seconds
from benchmarks.load.record_database import RecordDatabase, record_database
from headgate.audit.indexer import index_due
from headgate.db.database import Database
from headgate.journal.apply import apply_due
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.organizations.local_issuer import open_local_issuer
from headgate.organizations.model import Role
from tests.entry_codes import CODES

_SEALED_EACH: Final = 60_000
_DAY: Final = timedelta(days=1)


def queries(now: datetime, middle: int) -> list[str]:
    day = f"start_date={now - 40 * _DAY:%Y-%m-%d}&end_date={now - 40 * _DAY:%Y-%m-%d}"
    month = f"start_date={now - 60 * _DAY:%Y-%m-%d}&end_date={now - 30 * _DAY:%Y-%m-%d}"
    singles = ["", "limit=200", "event_type=decision.made", "event_type=key.rotated", "event_type=no.such", day, month]
    singles += [f"agent_id={OFTEN_AGENT}", f"agent_id={RARE_AGENT}", "tool=tool_3", "operation=write", "decision=deny"]
    singles += ["decision=require_approval", "risk_level=high", "risk_level=critical"]
    singles += [f"action_id=act_00000000-0000-7000-8000-{middle // 4:012d}"]
    pairs = ["tool=tool_3&operation=write&decision=deny", "risk_level=critical&decision=deny", f"{day}&tool=tool_3"]
    pairs += [f"{month}&event_type=key.rotated", f"agent_id={RARE_AGENT}&tool=tool_3", f"{day}&risk_level=critical"]
    pairs += [f"agent_id={OFTEN_AGENT}&event_type=execution.completed", "tool=no_such&operation=write"]
    deep = [f"cursor={middle}", f"cursor={middle}&tool=tool_3", "offset=100000", "total=exact&tool=tool_3"]
    searches = ["search=reading+is", f"search={NEEDLE[:12]}", "search=nowhere+at+all", f"search=rotated&{day}"]
    return [*singles, *pairs, *deep, *searches]


async def seal(made: RecordDatabase, worker: Database, *, indexing: bool = False) -> float:
    """Events a second; ``indexing``: while the index is built beside it."""
    await asyncio.to_thread(made.append, _SEALED_EACH)
    stop = asyncio.Event()

    async def build() -> None:
        while not stop.is_set():
            await index_due(worker)
            await asyncio.sleep(0.05)

    building = asyncio.create_task(build()) if indexing else None
    sealed, started = 0, time.perf_counter()
    while sealed < _SEALED_EACH:
        sealed += await apply_due(worker)
    rate = _SEALED_EACH / (time.perf_counter() - started)
    stop.set()
    if building is not None:
        await building
    return rate


@asynccontextmanager
async def api(made: RecordDatabase, folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    settings = ApiSettings(
        database_dsn=Secret(made.dsn("headgate_api")), valkey_url=None, data_dir=folder / "api", port=0,
        rate_limits=False,
    )  # fmt: skip
    with listen(settings.host, settings.port) as listener:
        async with open_dependencies(settings) as dependencies:
            server = uvicorn_server(create_app(dependencies))
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(0.01)
            host, port = listener.getsockname()[:2]
            token = open_local_issuer(settings.data.issuer).mint(
                org_id=made.org_id, subject="olga", roles=(Role.AUDITOR,), now=system_clock(), lifetime=_DAY, email=None
            )
            headers = {"Authorization": f"Bearer {token.reveal()}"}
            async with httpx.AsyncClient(base_url=f"http://{host}:{port}", headers=headers, timeout=600) as client:
                yield client
            server.should_exit = True
            await serving


def spent_seconds(made: RecordDatabase) -> float:
    """Of this process, the API and its client, and of the server's processes for the API."""
    spent = time.process_time()
    with psycopg.connect(made.dsn("postgres"), autocommit=True) as connection:
        pids = connection.execute("SELECT pid FROM pg_stat_activity WHERE usename = 'headgate_api'").fetchall()
    for (pid,) in pids:
        spent += processor_seconds(pid)
    return spent


@dataclass(frozen=True)
class Timed:
    """Milliseconds of each round, of processor time of one, and the last answer."""

    taken: list[float]
    processor: float
    answer: httpx.Response

    def line(self) -> str:
        p99 = sorted(self.taken)[int(len(self.taken) * 0.99)]
        return f"{statistics.median(self.taken):7.2f} ms p50 {p99:7.2f} p99 {self.processor:6.1f} processor"


async def timed(client: httpx.AsyncClient, made: RecordDatabase, path: str, rounds: int) -> Timed:
    answer, taken = await client.get(path), []
    before = spent_seconds(made)
    for _ in range(rounds):
        began = time.perf_counter()
        answer = await client.get(path)
        taken.append((time.perf_counter() - began) * 1000)
    return Timed(taken, (spent_seconds(made) - before) * 1000 / rounds, answer)


async def report(client: httpx.AsyncClient, made: RecordDatabase, rounds: int, events: int) -> None:
    nothing = await timed(client, made, "/admin/settings/allowlist", rounds)
    print(f"  {nothing.line()}  a route that lists nothing (404)")
    worst = 0.0
    for query in queries(datetime.now(UTC), events // 2):
        found = await timed(client, made, f"/admin/audit?{query}", rounds)
        found.answer.raise_for_status()
        page = found.answer.json()
        worst = max(worst, statistics.median(found.taken))
        more = "+" if page["pagination"].get("total_is_minimum") else " "
        total = f"{page['pagination']['total']}{more}"
        print(f"  {found.line()} {total:>8} found, {len(page['data']):>3} shown  {query or '(all)'}", flush=True)
    print(f"  worst p50: {worst:.2f} ms")


async def export(client: httpx.AsyncClient) -> None:
    """All of it as JSON lines, and what this process (the API is in it) has grown by."""
    before, size, lines = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0, 0
    started = time.perf_counter()
    async with client.stream("GET", "/admin/audit/export?format=jsonl") as answer:
        answer.raise_for_status()
        async for piece in answer.aiter_bytes():
            size, lines = size + len(piece), lines + piece.count(b"\n")
    spent = time.perf_counter() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"  export: {lines:,} lines, {size / 1e6:,.0f} MB, {lines / spent:,.0f} a second, {grown:.1f} MiB more memory"
    )


async def measure(made: RecordDatabase, folder: Path, options: argparse.Namespace) -> None:
    worker = Database(Secret(made.dsn("headgate_worker")), timeout_seconds=60, entry_codes=CODES)
    await worker.open()
    print(f"{datetime.now(UTC):%Y-%m-%d}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}")
    with psycopg.connect(made.dsn("postgres"), autocommit=True) as connection:
        started = time.perf_counter()
        await asyncio.to_thread(fill, connection, made.org_id, options.events)
        print(f"  {options.events:,} events written in {time.perf_counter() - started:.0f} s", flush=True)
        for number in range(3):
            rates = [await seal(made, worker)]
            if number == 0:
                started, blocks = time.perf_counter(), 0
                while done := await index_due(worker):
                    blocks += done
                spent = time.perf_counter() - started
                print(f"  index: {blocks * 1024 / spent:,.0f} events/s", flush=True)
                print(f"  sealing before anything was indexed: {rates[0]:,.0f} events/s; afterwards, in turns:")
                continue
            rates.append(await seal(made, worker, indexing=True))
            while await index_due(worker):
                pass
            print(f"  sealing: {rates[0]:,.0f} events/s alone, {rates[1]:,.0f} beside the indexing", flush=True)
        connection.execute("VACUUM (ANALYZE) audit_events, audit_chain, audit_blocks, audit_facets")
        row = connection.execute(
            "SELECT pg_database_size(current_database()) / 1e9, (pg_total_relation_size('audit_blocks')"
            " + pg_total_relation_size('audit_facets')) / 1e6"
        ).fetchone()
        assert row is not None
        print(f"  {row[0]:.1f} GB in all, of which the index {row[1]:.0f} MB")
    async with api(made, folder) as client:
        print(f"  load {os.getloadavg()[0]:.1f}")
        await report(client, made, options.rounds, options.events)
        if options.export:
            await export(client)
    await worker.close()


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--export", action="store_true", help="Take all of it as a file as well.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as name, record_database(Path(name)) as made:
        asyncio.run(measure(made, Path(name), options))


if __name__ == "__main__":
    main()
