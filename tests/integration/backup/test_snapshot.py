"""A backup reads what was there when it began, also where retention removes a month meanwhile."""

import psycopg
import pytest

from headgate.backup.snapshot import taken_snapshot
from headgate.kernel.secrets import Secret
from tests.conftest import DatabaseUrls


@pytest.mark.parametrize("table", ["audit_events", "kept_bodies", "traffic_exchanges"])
def test_no_partition_goes_before_pg_dump_has_read_it(database_urls: DatabaseUrls, table: str) -> None:
    with psycopg.connect(database_urls.administrator, autocommit=True) as retention:
        retention.execute(
            f"CREATE TABLE {table}_old PARTITION OF {table} FOR VALUES FROM ('2020-01-01') TO ('2020-02-01')"
        )
        retention.execute("SET lock_timeout = '200ms'")
        with (
            taken_snapshot(Secret(database_urls.administrator)),
            pytest.raises(psycopg.errors.LockNotAvailable),
        ):
            retention.execute(f"DROP TABLE {table}_old")
        retention.execute(f"DROP TABLE {table}_old")
