"""GET /admin/agents and /admin/keys with a million of each stored, by every filter; the bar is 20 ms.

``python -m benchmarks.agent_lists [--stored 1000000] [--rounds 50]``.
"""

from typing import Any, Final

import psycopg

from benchmarks.load.instance import Instance
from benchmarks.load.list_pages import measure_lists, write

# One agent in 20,000 has the rare word, tag and owner; one in 1,000 is suspended, one in 5 deactivated.
_AGENTS: Final = """
    INSERT INTO agents (org_id, agent_id, name, description, status, created_at, updated_at, owner, tags)
    SELECT %(org)s, 'agt_' || id,
           'Worker ' || n || CASE WHEN n %% 20000 = 7 THEN ' quartz' WHEN n %% 100 = 7 THEN ' basalt' ELSE '' END,
           'Does its work for team ' || n %% 50,
           CASE WHEN n %% 1000 = 3 THEN 'suspended' WHEN n %% 5 = 0 THEN 'deactivated' ELSE 'active' END, at, at,
           CASE WHEN n %% 20000 = 7 THEN 'rare@example.com' ELSE 'team-' || n %% 50 || '@example.com' END,
           ARRAY['bench', 'team-' || n %% 50, CASE WHEN n %% 20000 = 7 THEN 'rare' ELSE 'often' END]
    FROM bench_rows
"""
# Keys of 90 days, one in 50 without an end; one in 10 revoked; one in 20,000 a webhook's.
_KEYS: Final = """
    INSERT INTO api_keys (org_id, key_id, kind, agent_id, display, key_hash, scopes, created_at, expires_at, revoked_at)
    SELECT %(org)s, 'key_' || id,
           CASE WHEN n %% 20000 = 7 THEN 'webhook' WHEN n %% 100 = 7 THEN 'admin' ELSE 'agent' END,
           CASE WHEN n %% 100 = 7 THEN NULL ELSE 'agt_' || id END, 'hg_' || substr(md5(n::text), 1, 6) || '…',
           sha256(n::text::bytea), '{}', at,
           CASE WHEN n %% 50 <> 0 THEN at + interval '90 days' END, CASE WHEN n %% 10 = 1 THEN at + interval '1 day' END
    FROM bench_rows
"""
_AGENT_QUERIES: Final = (
    "", "status=active", "status=suspended", "status=deactivated", "tag=bench", "tag=rare", "tag=team-7",
    "owner=rare@example.com", "owner=team-7@example.com", "q=worker", "q=work", "q=w", "q=quartz", "q=quar", "q=basalt",
    "q=worker+basalt", "q=nobody", "q=team+quartz", "q=worker&status=suspended", "q=basalt&tag=team-7",
    "status=suspended&tag=rare", "status=active&owner=rare@example.com", "q=agt_01", "offset=5000", "limit=200",
)  # fmt: skip
_KEY_QUERIES: Final = (
    "", "status=active", "status=expired", "status=revoked", "kind=agent", "kind=admin", "kind=webhook",
    "rotation_due=true", "kind=webhook&status=active", "kind=agent&status=active", "kind=agent&status=expired",
    "kind=admin&status=revoked", "kind=webhook&rotation_due=true",
    "offset=5000", "limit=200",
)  # fmt: skip


def fill(connection: psycopg.Connection[Any], org_id: str, count: int) -> None:
    write(connection, org_id, count, {"agents": _AGENTS, "api_keys": _KEYS})


def paths(_: Instance, __: int) -> list[str]:
    agents = [f"/admin/agents?{query}" for query in _AGENT_QUERIES]
    return [*agents, *(f"/admin/keys?{query}" for query in _KEY_QUERIES)]


if __name__ == "__main__":
    measure_lists(__doc__, fill, paths)
