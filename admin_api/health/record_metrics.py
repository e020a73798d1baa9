"""How far the chain is behind the record, how many approvals are open and what waits in the queues: asked of the
database whenever Prometheus asks us."""

from collections.abc import Sequence
from typing import Final

from prometheus_client import Gauge

from headgate.approvals.store import count_open
from headgate.audit.store import journal_lag
from headgate.break_glass.store import count_to_review
from headgate.db.database import Database
from headgate.executions.model import EXECUTE
from headgate.integrations.service import INTEGRATE
from headgate.kernel.errors import UnavailableError
from headgate.notifications.service import NOTIFY
from headgate.queue.store import QueueState, queue_states
from headgate.reports.service import MAKE_REPORT
from headgate.webhooks.service import DELIVER_WEBHOOK

DATABASE_UP: Final = Gauge(
    "headgate_api_database_up", "1 while the database answers the API, else 0.", multiprocess_mode="mostrecent"
)
UNSEALED_EVENTS: Final = Gauge(
    "headgate_api_unsealed_events",
    "Rows of the journal that are not applied yet: one event each, or the calls of one batch.",
    multiprocess_mode="mostrecent",
)
UNSEALED_SECONDS: Final = Gauge(
    "headgate_api_oldest_unsealed_event_seconds",
    "Age of the oldest row of the journal.",
    multiprocess_mode="mostrecent",
)
SET_ASIDE: Final = Gauge(
    "headgate_api_journal_set_aside",
    "Entries of the journal that could not be applied. Above 0: see headgate audit set-aside list.",
    multiprocess_mode="mostrecent",
)
MISSING: Final = Gauge(
    "headgate_api_journal_missing",
    "Entries of the journal that are missing from the record. Above 0: they were deleted, or a failover lost them.",
    multiprocess_mode="mostrecent",
)
MASTER_KEYS_USABLE: Final = Gauge(
    "headgate_api_master_keys_usable",
    "0 while the file of master keys is missing, damaged or does not open stored secrets, else 1. 0: see headgate"
    " secrets status.",
    multiprocess_mode="mostrecent",
)
OPEN_APPROVALS: Final = Gauge(
    "headgate_api_open_approvals",
    "Open approval requests of all organizations.",
    multiprocess_mode="mostrecent",
)
BREAK_GLASS_OPEN_REVIEWS: Final = Gauge(
    "headgate_api_break_glass_open_reviews",
    "Break-glass uses that wait for a second person's review, of all organizations.",
    multiprocess_mode="mostrecent",
)
QUEUE_JOBS: Final = Gauge(
    "headgate_api_queue_jobs",
    "Jobs of a queue, by state: waiting (they may run now), running, dead (given up; kept for a month).",
    ["queue", "state"],
    multiprocess_mode="mostrecent",
)
QUEUE_OLDEST_SECONDS: Final = Gauge(
    "headgate_api_queue_oldest_seconds",
    "Wait time of the first runnable job of a queue.",
    ["queue"],
    multiprocess_mode="mostrecent",
)
_QUEUES: Final = tuple(job.queue for job in (EXECUTE, DELIVER_WEBHOOK, NOTIFY, INTEGRATE, MAKE_REPORT))


async def measure_record(database: Database, *, keys_usable: bool | None) -> None:
    """Set the gauges; where the database is gone they keep their last values, and one says so. ``keys_usable`` None:
    nothing needs the master keys."""
    MASTER_KEYS_USABLE.set(keys_usable is not False)
    try:
        async with database.across_organizations() as connection:
            lag = await journal_lag(connection)
            open_approvals = await count_open(connection)
            to_review = await count_to_review(connection)
            queues = await queue_states(connection)
    except UnavailableError:
        DATABASE_UP.set(0)
        return
    DATABASE_UP.set(1)
    UNSEALED_EVENTS.set(lag.rows)
    SET_ASIDE.set(lag.set_aside)
    MISSING.set(lag.missing)
    UNSEALED_SECONDS.set(max(0.0, lag.oldest_seconds))
    OPEN_APPROVALS.set(open_approvals)
    BREAK_GLASS_OPEN_REVIEWS.set(to_review)
    _set_queues(queues)


def _set_queues(found: Sequence[QueueState]) -> None:
    """Each of them, every time: an empty queue is in no row, and would keep its last numbers."""
    states = {one.queue: one for one in found}
    for queue in _QUEUES:
        one = states.get(queue, QueueState(queue, waiting=0, oldest_seconds=0.0, running=0, dead=0))
        QUEUE_JOBS.labels(queue, "waiting").set(one.waiting)
        QUEUE_JOBS.labels(queue, "running").set(one.running)
        QUEUE_JOBS.labels(queue, "dead").set(one.dead)
        QUEUE_OLDEST_SECONDS.labels(queue).set(max(0.0, one.oldest_seconds))
