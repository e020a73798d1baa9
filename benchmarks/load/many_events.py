"""A record of very many events, written by SQL: months of actions of many agents, and what administrators did between.

Hashes are not real and headers left out (``{}``), for the disk's sake: lists read those of one page.
"""

from typing import Final

import psycopg

EVENTS_AN_ACTION: Final = 4
OFTEN_AGENT: Final = "agt_00000000-0000-7000-8000-000000000000"
RARE_AGENT: Final = "agt_00000000-0000-7000-8000-ffffffffffff"
DAYS: Final = 100
NEEDLE: Final = "rotated by the auditors' wish"
_STRETCH: Final = 250_000

_PARTITIONS: Final = """
    DO $$ DECLARE month timestamptz; BEGIN
        FOR step IN 1..5 LOOP
            month := date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - make_interval(months => step);
            EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF audit_events FOR VALUES FROM (%L) TO (%L)',
                'audit_events_' || to_char(month AT TIME ZONE 'UTC', 'YYYY_MM'), month, month + interval '1 month');
        END LOOP;
    END $$
"""

_ACTIONS: Final = """
    INSERT INTO actions (org_id, action_id, agent_id, source, tool, operation, status, digest, request, decision,
                         risk_level, created_at, updated_at)
    SELECT %(org)s, 'act_' || %(uuid)s || lpad(n::text, 12, '0'),
           CASE WHEN n %% 20000 = 7 THEN %(rare)s ELSE 'agt_' || %(uuid)s || lpad((n * n %% 100)::text, 12, '0') END,
           'proxy', 'tool_' || (n * 7919 %% 40), (ARRAY['read', 'write', 'list', 'send'])[n * 31 %% 4 + 1],
           'completed', '\\x0000000000000000000000000000000000000000000000000000000000000000', '{}',
           '{"decision":"' || CASE WHEN n %% 50 = 0 THEN 'deny' WHEN n %% 17 = 0 THEN 'require_approval'
                                   ELSE 'allow' END || '"}',
           CASE WHEN n %% 10007 = 0 THEN 'critical' WHEN n %% 12 = 0 THEN 'high' ELSE 'low' END,
           %(begin)s::timestamptz + n * %(each)s::interval, now()
    FROM generate_series(%(first)s::bigint, %(last)s) n
"""

_EVENTS: Final = """
    WITH made AS (
        SELECT seq, seq / 4 AS n, seq %% 4 AS step, seq %% 5000 = 11 AS administered,
               %(begin)s::timestamptz + seq * %(each)s::interval / 4 AS at
        FROM generate_series(%(first)s::bigint, %(last)s) seq
    ), chained AS (
        INSERT INTO audit_chain (org_id, seq, header, hash, sealed_at)
        SELECT %(org)s, seq, '{}', sha256(int8send(seq)), at + interval '20 ms' FROM made
    )
    INSERT INTO audit_events (org_id, seq, event_id, event_type, action_id, agent_id, created_at, sealed_at, salt,
                              payload)
    SELECT %(org)s, seq, 'evt_' || %(uuid)s || lpad(to_hex(seq), 12, '0'),
           CASE WHEN administered THEN (ARRAY['key.rotated', 'policy.updated'])[(seq / 5000 %% 2) + 1]
                ELSE (ARRAY['action.submitted', 'decision.made', 'execution.started', 'execution.completed'])[step + 1]
           END,
           CASE WHEN administered THEN NULL ELSE 'act_' || %(uuid)s || lpad(n::text, 12, '0') END,
           CASE WHEN administered THEN NULL WHEN n %% 20000 = 7 THEN %(rare)s
                ELSE 'agt_' || %(uuid)s || lpad((n * n %% 100)::text, 12, '0') END,
           at, at + interval '20 ms', '\\x00112233445566778899aabbccddeeff',
           '{"actor":{"id":"headgate","type":"system"},"data":{"generation":7,"n":' || seq || ',"reason":"'
           || CASE WHEN administered THEN %(needle)s ELSE 'reading is allowed' END || '","risk_level":"low"}}'
    FROM made
"""


def fill(connection: psycopg.Connection[tuple[object, ...]], org_id: str, events: int) -> None:
    """Events 1 to ``events``, the last of which is of now."""
    connection.execute("SET statement_timeout = 0")
    connection.execute("SET synchronous_commit = off")
    connection.execute(_PARTITIONS)
    row = connection.execute("SELECT now() - %s * interval '1 day'", [DAYS]).fetchone()
    assert row is not None
    values = {"org": org_id, "rare": RARE_AGENT, "needle": NEEDLE, "begin": row[0], "uuid": "00000000-0000-7000-8000-",
              "each": f"{DAYS * 86_400 * EVENTS_AN_ACTION / events} seconds"}  # fmt: skip
    for first in range(1, events + 1, _STRETCH):
        last = min(first + _STRETCH - 1, events)
        connection.execute(_EVENTS, {**values, "first": first, "last": last})
        actions = {**values, "first": first // EVENTS_AN_ACTION + (first > 1), "last": last // EVENTS_AN_ACTION}
        connection.execute(_ACTIONS, actions)
    connection.execute("VACUUM (ANALYZE) audit_events, audit_chain, actions")
