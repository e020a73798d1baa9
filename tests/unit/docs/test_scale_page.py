"""The page about scale shows what the model computes, from the costs that it names."""

from pathlib import Path

import pytest

from benchmarks.load_model import (
    APPLIED_CALLS_A_SECOND,
    MAX_CONNECTIONS,
    RESERVED_CONNECTIONS,
    CallCosts,
    connection_table,
    connections,
    load_table,
    most_processes,
    needs,
)

PAGE = (Path(__file__).parents[3] / "docs" / "scale.md").read_text("utf-8")


@pytest.mark.parametrize("table", [load_table(CallCosts()), connection_table()], ids=["calls", "connections"])
def test_the_tables_are_those_of_the_model(table: list[str]) -> None:
    assert "\n".join(table) in PAGE


def test_the_costs_are_those_of_the_model() -> None:
    costs = CallCosts()
    for named in (
        f"the proxy | {costs.proxy_microseconds:,.0f} µs",
        f"PostgreSQL | {costs.postgres_microseconds:,.0f} µs",
        f"the worker | {costs.worker_microseconds:,.0f} µs",
        f"write-ahead log | {costs.wal_bytes:,.0f} bytes",
        f"index entries | {costs.stored_bytes:,.0f} bytes",
        f"| {APPLIED_CALLS_A_SECOND:,} calls a second of one organization",
    ):
        assert named in PAGE, named


def test_the_processes_that_the_connections_serve_are_those_of_the_model() -> None:
    row = (
        f"| more than {most_processes(MAX_CONNECTIONS)} proxy processes | `max_connections` of PostgreSQL,"
        f" {MAX_CONNECTIONS} by default, {RESERVED_CONNECTIONS} of them reserved"
        f" | raise it: 1,000 connections serve {most_processes(1_000)} proxy processes |"
    )
    assert row in PAGE


def test_no_further_process_finds_a_connection() -> None:
    served = most_processes(MAX_CONNECTIONS)
    assert connections(served) <= MAX_CONNECTIONS - RESERVED_CONNECTIONS < connections(served + 1)


def test_a_day_of_one_call_a_second() -> None:
    found = needs(86_400, CallCosts(1e6, 5e5, 1e5, 2e6, 1_000))
    # Three a second at the peak, on cores that are half used.
    assert (found.proxy_cores, found.postgres_cores, found.worker_cores) == (6, 3, 1)
    assert found.wal_megabytes_a_second == pytest.approx(6)
    assert found.stored_gigabytes_a_day == pytest.approx(0.0864)
