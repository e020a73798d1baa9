"""How far the chain is behind the record, and how many approvals are open: asked of the database whenever Prometheus
asks us."""

from typing import Final

from prometheus_client import Gauge

from headgate.approvals.store import count_open
from headgate.audit.store import inbox_lag
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
            lag = await inbox_lag(connection)
            open_approvals = await count_open(connection)
    except UnavailableError:
        DATABASE_UP.set(0)
        return
    DATABASE_UP.set(1)
    UNSEALED_EVENTS.set(lag.events)
    UNSEALED_SECONDS.set(max(0.0, lag.oldest_seconds))
    OPEN_APPROVALS.set(open_approvals)
