"""Lists of approvals read little, however many are stored: by an index of the list's order, as EXPLAIN tells.

The same with a million, and in milliseconds: ``python -m benchmarks.approval_lists``.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import psycopg
import pytest
from msgspec.structs import asdict
from psycopg import sql

from benchmarks.load.many_approvals import OFTEN_AGENT, RARE_AGENT, fill
from headgate.approvals.list_store import ApprovalFilter, listing, matching
from headgate.approvals.model import ApprovalStatus
from headgate.db.bounded_count import EXACT_TOTAL_LIMIT

STORED: Final = 20_000
ORG: Final = "org_00000000-0000-7000-8000-00000000000a"
PAGE: Final = 20
PENDING, APPROVED, DENIED, EXPIRED = ApprovalStatus
OFTEN, RARE = frozenset({"often@example.com"}), frozenset({"rare@example.com"})
SOON: Final = datetime.now(UTC) - timedelta(hours=5)

type Server = psycopg.Connection[tuple[Any, ...]]


def filters(wanted: ApprovalFilter) -> str:
    """A name of a case that is the same in every process: without the time of day."""
    return " ".join(name for name, value in asdict(wanted).items() if value is not None) or "none"


@pytest.fixture(scope="module")
def server(postgres_server: Any) -> Iterator[Server]:
    urls = postgres_server.create_database()
    with psycopg.connect(urls.administrator, autocommit=True) as connection:
        fill(connection, ORG, STORED)
    with psycopg.connect(urls.api) as connection:
        yield connection
    postgres_server.drop_database(urls.name)


def plan(server: Server, query: sql.Composable, values: dict[str, object]) -> dict[str, Any]:
    with server.transaction():
        server.execute("SELECT set_config('app.org_id', %s, true)", [ORG])
        explain = sql.SQL("EXPLAIN (ANALYZE, FORMAT JSON) {}").format(query)
        [(answer,)] = server.execute(explain, values).fetchall()
    explained: dict[str, Any] = (answer if isinstance(answer, list) else json.loads(answer))[0]
    return explained


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for part in node.get("Plans", []):
        yield from nodes(part)


def read(explained: dict[str, Any]) -> int:
    """How many rows the plan's scans have looked at, those that a filter dropped among them."""
    scans = [node for node in nodes(explained["Plan"]) if "Relation Name" in node]
    assert scans
    return sum(
        round((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]) for node in scans
    )


def read_through(explained: dict[str, Any]) -> list[str]:
    return [node["Relation Name"] for node in nodes(explained["Plan"]) if node["Node Type"] == "Seq Scan"]


SINGLE: Final = [
    ApprovalFilter(),
    *(ApprovalFilter(status=status) for status in ApprovalStatus),
    ApprovalFilter(agent_id=OFTEN_AGENT),
    ApprovalFilter(agent_id=RARE_AGENT),
    ApprovalFilter(risk_level="critical"),
    ApprovalFilter(risk_level="low"),  # there is none
    ApprovalFilter(tool="tool_3"),
    ApprovalFilter(tool="tool_none"),
    ApprovalFilter(policy_id="pol_bench-3"),
    ApprovalFilter(assigned_to=OFTEN),
    ApprovalFilter(assigned_to=RARE),
    ApprovalFilter(assigned_to=frozenset({"nobody@example.com", "usr_nobody", "group:none"})),
    ApprovalFilter(created_from=SOON, created_to=SOON + timedelta(minutes=10)),
]
PAIRS: Final = [
    ApprovalFilter(status=DENIED, tool="tool_3"),
    ApprovalFilter(status=EXPIRED, agent_id=OFTEN_AGENT),
    ApprovalFilter(status=APPROVED, risk_level="critical"),
    ApprovalFilter(status=PENDING, assigned_to=OFTEN),
    ApprovalFilter(status=PENDING, policy_id="pol_bench-3"),
    ApprovalFilter(status=PENDING, is_held=True),
    ApprovalFilter(status=PENDING, is_held=True, assigned_to=OFTEN),
    ApprovalFilter(status=PENDING, oldest_first=True),
    ApprovalFilter(status=APPROVED, assigned_to=OFTEN),
    ApprovalFilter(tool="tool_3", created_to=SOON),
]


@pytest.mark.parametrize("wanted", SINGLE, ids=filters)
def test_a_page_reads_little_more_than_it_shows(server: Server, wanted: ApprovalFilter) -> None:
    explained = plan(server, *listing(ORG, wanted, limit=PAGE, offset=0, cursor=None))
    # The page itself, the approvals and the actions that it shows; a time range is bounded by the hour.
    slack = 3_000 if wanted.created_from is not None else 0
    assert read_through(explained) == []
    assert read(explained) <= 20 * PAGE + slack, explained


@pytest.mark.parametrize("wanted", PAIRS, ids=filters)
def test_two_filters_read_by_index(server: Server, wanted: ApprovalFilter) -> None:
    explained = plan(server, *listing(ORG, wanted, limit=PAGE, offset=0, cursor=None))
    assert read_through(explained) == []
    assert read(explained) <= 1_000, explained


def test_going_on_by_cursor_reads_no_more_than_the_first_page(server: Server) -> None:
    for wanted in (ApprovalFilter(), ApprovalFilter(status=APPROVED), ApprovalFilter(assigned_to=OFTEN)):
        before = "apr_" + f"{int(SOON.timestamp() * 1000):012x}"[:8]
        explained = plan(server, *listing(ORG, wanted, limit=PAGE, offset=0, cursor=before))
        assert read_through(explained) == []
        assert read(explained) <= 20 * PAGE, explained


@pytest.mark.parametrize("wanted", [*SINGLE, *PAIRS], ids=filters)
def test_a_total_is_counted_to_its_bound(server: Server, wanted: ApprovalFilter) -> None:
    source, values = matching(ORG, wanted, sql.SQL(""))
    query = sql.SQL("SELECT count(*) FROM (SELECT FROM {} LIMIT {}) m").format(source, EXACT_TOTAL_LIMIT + 1)
    explained = plan(server, query, values)
    assert read(explained) <= 3 * (EXACT_TOTAL_LIMIT + 1), explained


SELDOM: Final = [
    ApprovalFilter(agent_id=OFTEN_AGENT, tool="tool_3"),
    ApprovalFilter(agent_id=OFTEN_AGENT, policy_id="pol_bench-3"),
    ApprovalFilter(tool="tool_3", policy_id="pol_bench-4"),
    ApprovalFilter(tool="tool_3", risk_level="medium"),
    ApprovalFilter(policy_id="pol_bench-3", risk_level="medium"),
    ApprovalFilter(status=DENIED, policy_id="pol_bench-3"),
    ApprovalFilter(status=DENIED, agent_id=OFTEN_AGENT, tool="tool_3"),
]


@pytest.mark.parametrize("wanted", SELDOM, ids=filters)
def test_filters_that_seldom_meet_are_told_apart_by_an_index_alone(server: Server, wanted: ApprovalFilter) -> None:
    """With a million approvals 25,000 to 50,000 have the first, and reading each of them took 120 to 280 ms."""
    source, values = matching(ORG, wanted, sql.SQL(""))
    query = sql.SQL("SELECT count(*) FROM (SELECT FROM {} LIMIT {}) m").format(source, EXACT_TOTAL_LIMIT + 1)
    explained = plan(server, query, values)
    scans = {node["Node Type"] for node in nodes(explained["Plan"]) if "Relation Name" in node}
    assert scans == {"Index Only Scan"}, explained


BOTH: Final = [
    ApprovalFilter(tool="tool_3", assigned_to=OFTEN),
    ApprovalFilter(status=APPROVED, tool="tool_3", assigned_to=OFTEN),
    ApprovalFilter(agent_id=OFTEN_AGENT, assigned_to=OFTEN | {"group:bench"}),
    ApprovalFilter(assigned_to=OFTEN, created_from=SOON, created_to=SOON + timedelta(hours=2)),
    ApprovalFilter(tool="tool_3", assigned_to=RARE),
]


@pytest.mark.parametrize("wanted", BOTH, ids=filters)
def test_what_is_much_assigned_is_found_by_the_other_filter(server: Server, wanted: ApprovalFilter) -> None:
    query, values = listing(ORG, wanted, limit=PAGE, offset=0, cursor=None, each=True)
    explained = plan(server, query, values)
    assert read_through(explained) == []
    assert read(explained) <= 2_500, explained
    assigned_first = listing(ORG, wanted, limit=PAGE, offset=0, cursor=None)
    with server.transaction():
        server.execute("SELECT set_config('app.org_id', %s, true)", [ORG])
        assert server.execute(query, values).fetchall() == server.execute(*assigned_first).fetchall()


def test_the_plan_would_tell(server: Server) -> None:
    explained = plan(server, sql.SQL("SELECT FROM approvals WHERE comment = 'x'"), {})
    assert read_through(explained) == ["approvals"]
    assert read(explained) >= STORED
