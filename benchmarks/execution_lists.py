"""GET /v1/executions, /v1/actions and an agent's own with a million stored, by every filter; the bar is 20 ms.

``python -m benchmarks.execution_lists [--stored 1000000] [--rounds 50]``: actions with an execution each, one in a
hundred failed and still kept, one in fifty of a second agent, one in a thousand submitted by an agent itself.
"""

from typing import Any, Final

import psycopg

from benchmarks.load.instance import Instance
from benchmarks.load.list_pages import measure_lists, write

AGENT: Final = "agt_00000000-0000-7000-8000-0000000000aa"
OTHER: Final = "agt_00000000-0000-7000-8000-0000000000bb"
_EXECUTIONS: Final = (
    "", "limit=200", "status=failed", "status=queued", "status=succeeded", "tool=tool3", "source=proxy", "source=api",
    f"agent_id={AGENT}", f"agent_id={AGENT}&status=failed", "cursor={middle}", "retryable=true",
    "retryable=true&tool=tool3", "tool=nobody", "tool=tool3&operation=get", "operation=put", "offset=5000",
)  # fmt: skip
_ACTIONS: Final = (
    "", "limit=200", "status=completed", "status=succeeded", "status=failed", "status=denied", "status=executing",
    f"agent_id={AGENT}", f"agent_id={AGENT}&status=failed", f"agent_id={OTHER}&status=denied", "offset=5000",
)  # fmt: skip
_AGENTS: Final = """
    INSERT INTO agents (org_id, agent_id, name, status, created_at, updated_at)
    SELECT %(org)s, id, id, 'active', now(), now() FROM unnest(ARRAY['{agent}', '{other}']) AS id
"""
_OF_ACTIONS: Final = """
    INSERT INTO actions (org_id, action_id, agent_id, source, tool, operation, status, digest, request, decision,
        risk_level, created_at, updated_at)
    SELECT %(org)s, 'act_' || id, CASE WHEN n %% 50 = 0 THEN '{agent}' ELSE '{other}' END,
           CASE WHEN n %% 1000 = 1 THEN 'api' ELSE 'proxy' END, 'tool' || n %% 7,
           CASE WHEN n %% 10000 = 5 THEN 'put' ELSE 'get' END,
           CASE WHEN n %% 100 = 0 THEN 'failed' WHEN n %% 20000 = 7 THEN 'denied' ELSE 'completed' END,
           sha256(n::text::bytea), '{{"params":{{"n":' || n || '}}}}',
           '{{"decision":"allow","reason":"","risk_level":"low","policy_id":null,"evaluation_time_ms":0}}',
           'low', at, at
    FROM bench_rows
"""
_OF_EXECUTIONS: Final = """
    INSERT INTO executions (org_id, execution_id, action_id, status, attempts, started_at, completed_at)
    SELECT %(org)s, 'exe_' || id, 'act_' || id, CASE WHEN n %% 100 = 0 THEN 'failed' ELSE 'succeeded' END, 1, at,
           at + interval '1 second'
    FROM bench_rows WHERE n %% 20000 <> 7
"""
_OF_CALLS: Final = """
    INSERT INTO execution_calls (org_id, action_id, execution_id, agent_id, tool, operation, state, destination,
        repeatable, due_at)
    SELECT %(org)s, 'act_' || id, 'exe_' || id, CASE WHEN n %% 50 = 0 THEN '{agent}' ELSE '{other}' END,
           'tool' || n %% 7, 'get', 'failed', 'example.com:443', false, at
    FROM bench_rows WHERE n %% 100 = 0
"""


def fill(connection: psycopg.Connection[Any], org_id: str, count: int) -> None:
    tables = {"agents": _AGENTS, "actions": _OF_ACTIONS, "executions": _OF_EXECUTIONS, "execution_calls": _OF_CALLS}
    named = {table: statement.format(agent=AGENT, other=OTHER) for table, statement in tables.items()}
    write(connection, org_id, count, named)


def paths(instance: Instance, stored: int) -> list[str]:
    with psycopg.connect(instance.runtime["database_url"]) as connection:
        query = "SELECT execution_id FROM executions ORDER BY execution_id OFFSET %s LIMIT 1"
        ((middle,),) = connection.execute(query, [stored // 2]).fetchall()
    executions = [f"/v1/executions?{query.format(middle=middle)}" for query in _EXECUTIONS]
    actions = [f"/v1/actions?{query}" for query in _ACTIONS]
    agent = [f"/admin/agents/{OTHER}/{of}" for of in ("actions", "activity", "figures", "keys")]
    return [*executions, "/v1/executions/stats", "/v1/executions/destinations", *actions, *agent]


if __name__ == "__main__":
    measure_lists(__doc__, fill, paths)
