"""Approvals by the million, with their actions and assignees, made by the server itself (generate_series).

The newest thousandth waits; of the others two in three were approved. 50 agents and 41 tools, one of each with few,
and 20 policies; one in ten is assigned to a group and a person. Identifiers are UUIDv7 of their moment.
"""

from typing import Any, Final

import psycopg

RARE_AGENT: Final = "agt_00000000-0000-7000-8000-0000000000ff"
OFTEN_AGENT: Final = "agt_00000000-0000-7000-8000-000000000003"

_ROWS: Final = """
    SELECT n, x.at, 'apr_' || x.head || x.tail AS approval_id, 'act_' || x.head || x.tail AS action_id,
           CASE WHEN n %% 20000 = 1 THEN %(rare)s
                ELSE 'agt_00000000-0000-7000-8000-0000000000' || lpad((n %% 49)::text, 2, '0') END AS agent_id,
           sha256(x.tail::bytea) AS digest,
           CASE WHEN n > %(count)s - %(count)s / 1000 THEN 'pending'
                WHEN n %% 3 < 2 THEN 'approved' WHEN n %% 300 = 2 THEN 'expired' ELSE 'denied' END AS status,
           CASE WHEN n %% 1000 = 7 THEN 'critical' WHEN n %% 4 = 0 THEN 'medium' ELSE 'high' END AS risk_level,
           'pol_bench-' || n %% 20 AS policy_id, 'tool_' || CASE WHEN n %% 10000 = 5 THEN 40 ELSE n %% 40 END AS tool
    FROM generate_series(1, %(count)s) AS n,
         LATERAL (SELECT clock_timestamp() - (%(count)s - n) * interval '2.5 seconds' AS at) AS t,
         LATERAL (SELECT t.at, h.head, h.tail FROM (
             SELECT substr(m.hex, 1, 8) || '-' || substr(m.hex, 9, 4) AS head,
                    '-7' || substr(md5(n::text), 1, 3) || '-8' || substr(md5(n::text), 4, 3) || '-'
                        || substr(md5(n::text), 7, 12) AS tail
             FROM (SELECT lpad(to_hex((extract(epoch FROM t.at) * 1000)::bigint), 12, '0') AS hex) AS m) AS h) AS x
"""
_APPROVALS: Final = """
    INSERT INTO approvals (org_id, approval_id, action_id, agent_id, source, digest, status, requirements,
        required_approvals, current_approvals, reason, risk_level, policy_id, created_at, expires_at, decided_at,
        decided_by)
    SELECT %(org)s, approval_id, action_id, agent_id, 'api', digest, status,
           '[{"assignees":[],"policy_id":"' || policy_id || '","policy_version":1,"required_approvals":1}]', 1, 0,
           'a person must look', risk_level, policy_id, at, at + interval '30 days',
           CASE WHEN status IN ('approved', 'denied') THEN at + interval '5 minutes' END,
           CASE WHEN status IN ('approved', 'denied') THEN 'usr_bench' END
    FROM bench_rows
"""
_ACTIONS: Final = """
    INSERT INTO actions (org_id, action_id, agent_id, source, tool, operation, status, digest, request, decision,
        risk_level, approval_id, created_at, updated_at)
    SELECT %(org)s, action_id, agent_id, 'api', tool, 'write', CASE status WHEN 'pending' THEN 'pending_approval'
               WHEN 'approved' THEN 'approved' ELSE 'denied' END,
           digest, '{"params":{"n":' || n || '}}',
           '{"decision":"require_approval","evaluation_time_ms":0.1,"policy_id":"' || policy_id
               || '","reason":"a person must look","risk_level":"' || risk_level || '"}',
           risk_level, approval_id, at, at
    FROM bench_rows
"""
_ASSIGNEES: Final = """
    INSERT INTO approval_assignees (org_id, name, approval_id, status)
    SELECT %(org)s, name, approval_id, status FROM bench_rows,
        unnest(ARRAY['group:bench',
            CASE WHEN n %% 5000 = 0 THEN 'rare@example.com' ELSE 'often@example.com' END]) AS name
    WHERE n %% 10 = 0
"""


def fill(connection: psycopg.Connection[Any], org_id: str, count: int) -> None:
    """In one transaction of a role that may write the tables; and their statistics, as autovacuum would make them."""
    values = {"org": org_id, "count": count, "rare": RARE_AGENT}
    with connection.transaction():
        connection.execute("SELECT set_config('app.org_id', %s, true)", [org_id])
        # Rows that are made once: their times are the clock's.
        connection.execute(f"CREATE TEMPORARY TABLE bench_rows ON COMMIT DROP AS {_ROWS}", values)
        for statement in (_ACTIONS, _APPROVALS, _ASSIGNEES):
            connection.execute(statement, values)
    for table in ("approvals", "actions", "approval_assignees"):
        connection.execute(f"VACUUM (ANALYZE) {table}")
