"""What a number of calls a day needs: the measured costs of one forwarded call, multiplied.

``python -m benchmarks.load_model`` prints the two tables of "What a day needs" in docs/scale.md; a test compares them.
Nothing is measured here. The costs are those of docs/figures.md (``benchmarks.gate``, ``benchmarks.record``),
measured on 2 shared cores: the model says which resource ends first, not how fast other hardware is.
"""

import math
from dataclasses import dataclass
from typing import Final

SECONDS_A_DAY: Final = 86_400
PEAK: Final = 3
"""The busiest second of a day has this many times the average."""
UTILIZATION: Final = 0.5
"""The part of a core that the peak may use: the other half keeps latency low, and takes over from a lost machine."""


@dataclass(frozen=True)
class CallCosts:
    """Of one forwarded call with its outcome, at 8 connections a proxy process, everything applied and sealed."""

    proxy_microseconds: float = 1_500
    postgres_microseconds: float = 358
    worker_microseconds: float = 125
    wal_bytes: float = 13_300
    stored_bytes: float = 9_900


CONNECTIONS_OF_PROXY: Final = 6
"""Of one proxy process at rest; its pool opens at most 5 more."""
CONNECTIONS_OF_API: Final = 5
CONNECTIONS_OF_WORKER: Final = 17
PROCESSES_BESIDE: Final = 20
"""For so many proxy processes there is one API process and one worker."""
MAX_CONNECTIONS: Final = 100
"""Of PostgreSQL as it comes; ``RESERVED_CONNECTIONS`` of them are kept for superusers."""
RESERVED_CONNECTIONS: Final = 3
APPLIED_CALLS_A_SECOND: Final = 7_000
"""Of one organization: its journal is applied in order, by one worker at a time (28,000 events)."""


@dataclass(frozen=True)
class Needs:
    calls_a_second: float
    proxy_cores: int
    postgres_cores: int
    worker_cores: int
    wal_megabytes_a_second: float
    stored_gigabytes_a_day: float


def needs(calls_a_day: float, costs: CallCosts) -> Needs:
    """At the peak; ``stored`` is for the whole day."""
    peak = calls_a_day / SECONDS_A_DAY * PEAK

    def cores(microseconds: float) -> int:
        return math.ceil(peak * microseconds / 1e6 / UTILIZATION)

    return Needs(
        peak,
        cores(costs.proxy_microseconds),
        cores(costs.postgres_microseconds),
        cores(costs.worker_microseconds),
        peak * costs.wal_bytes / 1e6,
        calls_a_day * costs.stored_bytes / 1e9,
    )


def load_table(costs: CallCosts) -> list[str]:
    lines = [
        "| calls a day | peak a second | proxy cores | PostgreSQL cores | worker cores | WAL at the peak "
        "| stored a day |",
        "|---|---|---|---|---|---|---|",
    ]
    for power in (5, 6, 7, 8, 9):
        found = needs(10**power, costs)
        lines.append(
            f"| {10**power:,} | {found.calls_a_second:,.0f} | {found.proxy_cores} | {found.postgres_cores} "
            f"| {found.worker_cores} | {found.wal_megabytes_a_second:,.2f} MB/s "
            f"| {found.stored_gigabytes_a_day:,.0f} GB |"
        )
    return lines


def connections(processes: int) -> int:
    """Of so many proxy processes, with the API processes and workers beside them."""
    beside = math.ceil(processes / PROCESSES_BESIDE)
    return processes * CONNECTIONS_OF_PROXY + beside * (CONNECTIONS_OF_API + CONNECTIONS_OF_WORKER)


def most_processes(max_connections: int) -> int:
    """The proxy processes that a server with ``max_connections`` serves."""
    served = 0
    while connections(served + 1) <= max_connections - RESERVED_CONNECTIONS:
        served += 1
    return served


def connection_table() -> list[str]:
    lines = [
        f"| proxy processes | database connections, with one API process and one worker for each {PROCESSES_BESIDE} |",
        "|---|---|",
    ]
    lines.extend(f"| {processes:,} | {connections(processes):,} |" for processes in (10, 100, 1_000, 10_000))
    return lines


def main() -> None:
    print("\n".join([*load_table(CallCosts()), "", *connection_table()]))


if __name__ == "__main__":
    main()
