"""Lists of many executions are read by index, whatever is asked for; the sizes are those of a large organization.

``benchmarks/execution_lists.py`` measures the same with a million.
"""

import json
import re
from datetime import timedelta

import psycopg
import pytest
from psycopg import sql

from headgate.actions.model import ExecutionStatus
from headgate.executions.list_store import ExecutionFilter, list_executions
from headgate.executions.statistics_store import SAMPLE, statistics
from headgate.kernel.ids import IdPrefix, new_id

STORED = 40_000


class Explaining:
    """A connection that says how each question would be answered, before it asks it."""

    def __init__(self, connection) -> None:
        self._connection = connection
        self.plans: list[str] = []

    async def execute(self, query, parameters=None, *, prepare=None):
        if "set_config" in str(query):
            return await self._connection.execute(query)
        text = query if isinstance(query, sql.Composable) else sql.SQL(query)
        plan = await self._connection.execute(sql.SQL("EXPLAIN (FORMAT JSON) {}").format(text), parameters)
        self.plans.append(json.dumps(await plan.fetchone()))
        return await self._connection.execute(query, parameters, prepare=prepare)


def fill(connection, org_id: str, agent_id: str, count: int) -> None:
    """As many actions with their executions, one in a hundred failed; made as the superuser, by SQL alone."""
    connection.execute(
        "INSERT INTO actions (org_id, action_id, agent_id, source, tool, operation, status, digest, request, decision,"
        " risk_level, created_at, updated_at) SELECT %(org)s, 'act_' || lpad(to_hex(n), 12, '0'),"
        " CASE WHEN n %% 50 = 0 THEN %(agent)s ELSE 'agt_other' END, 'proxy', 'tool' || n %% 7, 'get', 'completed',"
        " sha256(n::text::bytea), '{\"params\":{}}', '{}', 'low', now(), now() FROM generate_series(1, %(count)s) n",
        {"org": org_id, "agent": agent_id, "count": count},
    )
    connection.execute(
        "INSERT INTO executions (org_id, execution_id, action_id, status, attempts, started_at, completed_at)"
        " SELECT %(org)s, 'exe_' || lpad(to_hex(n), 12, '0'), 'act_' || lpad(to_hex(n), 12, '0'),"
        " CASE WHEN n %% 100 = 0 THEN 'failed' ELSE 'succeeded' END, 1, now() - interval '1 second', now()"
        " FROM generate_series(1, %(count)s) n",
        {"org": org_id, "count": count},
    )
    connection.execute(
        "INSERT INTO execution_calls (org_id, action_id, execution_id, agent_id, tool, operation, state, destination,"
        " repeatable, due_at) SELECT %(org)s, 'act_' || lpad(to_hex(n), 12, '0'), 'exe_' || lpad(to_hex(n), 12, '0'),"
        " 'agt_other', 'tool' || n %% 7, 'get', 'failed', 'example.com:443', false, now()"
        " FROM generate_series(100, %(count)s, 100) n",
        {"org": org_id, "count": count},
    )


@pytest.fixture(scope="module")
def large(cluster) -> tuple[str, str]:
    org_id, agent_id = new_id(IdPrefix.ORGANIZATION), new_id(IdPrefix.AGENT)
    with psycopg.connect(cluster.dsn("postgres"), autocommit=True) as connection:
        connection.execute("INSERT INTO organizations (org_id, name) VALUES (%s, 'Large')", [org_id])
        connection.execute("INSERT INTO org_state (org_id) VALUES (%s)", [org_id])
        connection.execute("INSERT INTO agents (org_id, agent_id, name) VALUES (%s, %s, 'A')", [org_id, agent_id])
        fill(connection, org_id, agent_id, STORED)
        connection.execute("ANALYZE actions, executions, execution_calls")
    return org_id, agent_id


def _choosing(plan: str) -> str:
    """The part of a plan that chooses the rows of the page: those are sorted once more when they are looked up."""
    [top] = json.loads(plan)["QUERY PLAN"]
    nodes = [top["Plan"]]
    for node in nodes:
        if node.get("Subplan Name") == "CTE page":
            return json.dumps(node)
        nodes.extend(node.get("Plans", []))
    raise AssertionError(plan)


@pytest.mark.parametrize("cursor", [None, "exe_" + f"{STORED // 2:012x}"])
@pytest.mark.parametrize("asked", ["all", "failed", "agent", "tool", "action", "retryable", "retryable tool"])
async def test_a_page_is_read_by_index(api_database, large, asked: str, cursor: str | None) -> None:
    org_id, agent_id = large
    wanted = {
        "all": ExecutionFilter(),
        "failed": ExecutionFilter(status=ExecutionStatus.FAILED),
        "agent": ExecutionFilter(agent_id=agent_id),
        "tool": ExecutionFilter(tool="tool3"),
        "retryable": ExecutionFilter(status=ExecutionStatus.FAILED, retryable=True),
        "retryable tool": ExecutionFilter(retryable=True, tool="tool3"),
        "action": ExecutionFilter(action_id=f"act_{100:012x}"),
    }[asked]
    async with api_database.transaction(org_id) as connection:
        explaining = Explaining(connection)
        page = await list_executions(
            explaining,
            org_id,
            wanted,
            limit=50,
            offset=0,
            cursor=cursor,
            exact_total=False,  # type: ignore[arg-type]
        )
    left = {"action": 1, "retryable tool": 28 if cursor else 50}
    assert len(page.executions) == left.get(asked, 50)
    ids = [one.action_id for one in page.executions]
    assert ids == sorted(ids, reverse=True)
    for plan in explaining.plans:
        assert not re.search(r'"Seq Scan"[^{}]*"Relation Name": "(actions|executions)"', plan), plan
    [page_plan] = [plan for plan in explaining.plans if '"CTE page"' in plan]
    assert '"Node Type": "Sort"' not in _choosing(page_plan), page_plan


async def test_statistics_are_read_by_index(api_database, large) -> None:
    org_id, _ = large
    async with api_database.transaction(org_id) as connection:
        explaining = Explaining(connection)
        found = await statistics(explaining, org_id, window=timedelta(hours=1), agent_id=None)  # type: ignore[arg-type]
    assert found.sampled == SAMPLE and found.overall is not None
    assert not re.search(r'"Seq Scan"[^{}]*"Relation Name": "executions"', explaining.plans[-1])
