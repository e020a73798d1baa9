"""An approved use ends at the same time in SQL and in Python: the rule stands once in each."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from headgate.approvals.model import USE_GRACE

EXPIRES = datetime(2026, 3, 29, 1, 50, tzinfo=UTC)  # ten minutes before clocks change in most of Europe


@pytest.mark.parametrize("before", [timedelta(hours=1), USE_GRACE, USE_GRACE - timedelta(microseconds=1), timedelta(0)])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Zurich"])
def test_sql_and_python_agree(superuser: psycopg.Connection[tuple[object, ...]], before: timedelta, zone: str) -> None:
    decided = EXPIRES - before
    superuser.execute("SELECT set_config('TimeZone', %s, false)", [zone])
    answer = superuser.execute("SELECT approval_use_ends(%s, %s)", [EXPIRES, decided]).fetchone()
    assert answer == (max(EXPIRES, decided + USE_GRACE),)
