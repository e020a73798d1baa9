"""How far each target of the export has got."""

from datetime import datetime
from typing import Final

from msgspec import Struct

from headgate.db.database import Connection

_LAST_RETRY_SECONDS: Final = 300

_SUCCEEDED: Final = """
    INSERT INTO audit_exports (org_id, target, size, exported_at, retry_at)
    VALUES (%(org)s, %(target)s, %(size)s, clock_timestamp(), clock_timestamp() + make_interval(secs => %(every)s))
    ON CONFLICT (org_id, target) DO UPDATE
    SET size = greatest(audit_exports.size, excluded.size), exported_at = excluded.exported_at,
        retry_at = excluded.retry_at, failing_since = NULL, failure = NULL, failures = 0, alarmed_at = NULL
"""

_FAILED: Final = """
    INSERT INTO audit_exports AS x (org_id, target, failing_since, failure, failures, retry_at)
    VALUES (%(org)s, %(target)s, clock_timestamp(), %(failure)s, 1, clock_timestamp() + interval '1 second')
    ON CONFLICT (org_id, target) DO UPDATE
    SET failing_since = coalesce(x.failing_since, clock_timestamp()), failure = excluded.failure,
        failures = x.failures + 1,
        retry_at = clock_timestamp() + make_interval(secs => least(power(2, least(x.failures, 10)), %(most)s))
"""


class ExportState(Struct, frozen=True):
    """``size``: the last checkpoint that the target has; ``failing_since`` None: it works."""

    target: str
    size: int
    exported_at: datetime | None
    failing_since: datetime | None
    failure: str | None
    alarmed_at: datetime | None


async def exports_due(connection: Connection, target: str) -> list[str]:
    """Organizations with a checkpoint that this target does not have, over all of them."""
    cursor = await connection.execute("SELECT org_id FROM exports_due(%s)", [target])
    return [row["org_id"] for row in await cursor.fetchall()]


async def lock_export(connection: Connection, org_id: str, target: str) -> bool:
    """For the rest of the transaction; False: another worker is at it."""
    cursor = await connection.execute(
        "SELECT pg_try_advisory_xact_lock(hashtextextended('headgate.export ' || %s || %s, 0)) AS locked",
        [org_id, target],
    )
    row = await cursor.fetchone()
    return row is not None and bool(row["locked"])


async def load_exports(connection: Connection, org_id: str) -> list[ExportState]:
    """By target."""
    cursor = await connection.execute(
        "SELECT target, size, exported_at, failing_since, failure, alarmed_at FROM audit_exports"
        " WHERE org_id = %s ORDER BY target",
        [org_id],
    )
    return [ExportState(**row) for row in await cursor.fetchall()]


async def save_success(connection: Connection, org_id: str, target: str, size: int, every_seconds: int) -> None:
    await connection.execute(_SUCCEEDED, {"org": org_id, "target": target, "size": size, "every": every_seconds})


async def save_failure(connection: Connection, org_id: str, target: str, failure: str) -> None:
    """Tried again after one second, then ever later, up to five minutes."""
    await connection.execute(
        _FAILED, {"org": org_id, "target": target, "failure": failure[:500], "most": _LAST_RETRY_SECONDS}
    )


async def mark_alarmed(connection: Connection, org_id: str, target: str) -> None:
    await connection.execute(
        "UPDATE audit_exports SET alarmed_at = clock_timestamp() WHERE org_id = %s AND target = %s", [org_id, target]
    )
