"""How far the chain is behind the record, and how many approvals are open: asked of the database whenever Prometheus
asks us."""

from typing import Final

from prometheus_client import Gauge

from headgate.db.database import Database
from headgate.kernel.errors import UnavailableError

DATABASE_UP: Final = Gauge(
    "headgate_api_database_up", "1 while the database answers the API, else 0.", multiprocess_mode="mostrecent"
)
UNSEALED_EVENTS: Final = Gauge(
    "headgate_api_unsealed_events",
    "Events that are durable and not yet in their organization's chain.",
    multiprocess_mode="mostrecent",
)
UNSEALED_SECONDS: Final = Gauge(
    "headgate_api_oldest_unsealed_event_seconds",
    "Age of the oldest event that is not yet in its chain.",
    multiprocess_mode="mostrecent",
)
OPEN_APPROVALS: Final = Gauge(
    "headgate_api_open_approvals",
    "Approvals that wait for a person, of all organizations.",
    multiprocess_mode="mostrecent",
)


async def measure_record(database: Database) -> None:
    """Set the gauges; where the database is gone they keep their last values, and one says so."""
    try:
        async with database.across_organizations() as connection:
            cursor = await connection.execute(
                "SELECT events, oldest_seconds, approvals_open() AS approvals FROM audit_inbox_lag()"
            )
            row = await cursor.fetchone()
    except UnavailableError:
        DATABASE_UP.set(0)
        return
    DATABASE_UP.set(1)
    if row is not None:
        UNSEALED_EVENTS.set(row["events"])
        UNSEALED_SECONDS.set(max(0.0, row["oldest_seconds"]))
        OPEN_APPROVALS.set(row["approvals"])
