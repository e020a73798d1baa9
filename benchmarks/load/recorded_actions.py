"""Actions that were allowed, forwarded and completed, with their rows and events, as many as a benchmark wants."""

from typing import Final

import psycopg

from benchmarks.load.record_database import RecordDatabase
from headgate.kernel.ids import IdPrefix, new_id

_AT_ONCE: Final = 20_000

_ROWS: Final = """
    CREATE TEMPORARY TABLE made ON COMMIT DROP AS
    SELECT 'act_' || uuidv7() AS action_id, 'exe_' || uuidv7() AS execution_id, clock_timestamp() AS at,
           '{"params":{"n":' || n || '}}' AS request,
           '{"duration_ms":12.5,"size_bytes":' || n || ',"status":200}' AS result,
           '"decision":"allow","evaluation_time_ms":0.214,' AS decided_before,
           '"policies":[{"decision":"allow","id":"pol_019a0000-0000-7000-8000-000000000000","version":3}],'
               || '"policy_id":"pol_019a0000-0000-7000-8000-000000000000","reason":"reading is allowed",'
               || '"risk_level":"low"' AS decided_after
    FROM generate_series(1, %(count)s) AS n
"""
_ACTIONS: Final = """
    INSERT INTO actions (org_id, action_id, agent_id, key_id, source, tool, operation, status, digest, request,
                         decision, risk_level, created_at, updated_at)
    SELECT %(org)s, action_id, %(agent)s, 'key_1', 'proxy', 'shop', 'read', 'completed', sha256('x'), request,
           '{' || decided_before || decided_after || '}', 'low', at, at
    FROM made
"""
_EXECUTIONS: Final = """
    INSERT INTO executions (org_id, execution_id, action_id, status, attempts, started_at, completed_at, result)
    SELECT %(org)s, execution_id, action_id, 'succeeded', 1, at, at, result FROM made
"""
_EVENTS: Final = """
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    SELECT %(org)s, e.event_type, m.action_id, %(agent)s, m.at,
           '{"actor":{"id":"' || %(agent)s || '","type":"agent"},"data":{' || e.data || '}}'
    FROM made m, LATERAL (VALUES
        (1, 'action.submitted', '"digest":"sha256:' || encode(sha256('x'), 'hex') || '","key_id":"key_1",'
            || '"operation":"read","request_digest":"sha256:' || encode(sha256(convert_to(m.request, 'UTF8')), 'hex')
            || '","source":"proxy","tool":"shop"'),
        (2, 'decision.made', m.decided_before || '"generation":7,' || m.decided_after),
        (3, 'execution.started', '"execution_id":"' || m.execution_id || '","instance_id":"ins_1"'),
        (4, 'execution.completed', '"execution_id":"' || m.execution_id || '","result":' || m.result)
    ) AS e(step, event_type, data) ORDER BY m.action_id, e.step
"""


def record_actions(made: RecordDatabase, count: int) -> str:
    """In an organization of their own, whose identifier is returned; their events wait to be sealed."""
    org_id, agent_id = new_id(IdPrefix.ORGANIZATION), new_id(IdPrefix.AGENT)
    with psycopg.connect(made.dsn("postgres"), autocommit=True) as connection:
        connection.execute("INSERT INTO organizations (org_id, name) VALUES (%s, 'Actions')", [org_id])
        for first in range(0, count, _AT_ONCE):
            with connection.transaction():
                connection.execute(_ROWS, {"count": min(_AT_ONCE, count - first)})
                for statement in (_ACTIONS, _EXECUTIONS, _EVENTS):
                    connection.execute(statement, {"org": org_id, "agent": agent_id})
        connection.execute("ANALYZE actions, executions")
    return org_id
