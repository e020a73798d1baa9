"""GET /v1/connections with a million stored in one organization, by every filter; the bar is 20 ms.

``python -m benchmarks.connection_lists [--stored 1000000] [--rounds 50]``. One in 50,000 is broken, one in 10,000 of a
rare platform.
"""

from typing import Any, Final

import psycopg

from benchmarks.load.instance import Instance
from benchmarks.load.list_pages import measure_lists, write

_QUERIES: Final = (
    "", "limit=200", "offset=5000", "status=broken", "status=active", "status=pending", "platform=slack",
    "platform=linear", "platform=notion", "platform=slack&status=broken", "platform=slack&status=active",
)  # fmt: skip
_ROWS: Final = """
    INSERT INTO connections (org_id, connection_id, name, platform, kind, status, hosts, place, agents, tools,
        secret_version, account_since, created_at, updated_at)
    SELECT %(org)s, 'con_' || id, 'c' || n,
           CASE WHEN n %% 10000 = 7 THEN 'linear' WHEN n %% 10 = 0 THEN 'slack' ELSE 'github' END, 'bearer',
           CASE WHEN n %% 50000 = 0 THEN 'broken' ELSE 'active' END, ARRAY['api.example.com:443'],
           '{"in":"header","name":"authorization","prefix":"Bearer "}', ARRAY['*'], ARRAY['*'], 1, at, at, at
    FROM bench_rows
"""


def fill(connection: psycopg.Connection[Any], org_id: str, count: int) -> None:
    write(connection, org_id, count, {"connections": _ROWS})


def paths(_: Instance, __: int) -> list[str]:
    return [f"/v1/connections?{query}" for query in _QUERIES]


if __name__ == "__main__":
    measure_lists(__doc__, fill, paths)
