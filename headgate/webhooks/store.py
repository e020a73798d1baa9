"""All SQL of webhook endpoints. Every function runs inside a transaction of the organization."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from psycopg.rows import DictRow

from headgate.db.database import Connection
from headgate.db.rows import insert_row
from headgate.kernel.errors import NotFoundError
from headgate.webhooks.model import Endpoint, WebhookEvent

_COLUMNS: Final = (
    "org_id, endpoint_id, url, description, events, enabled, disabled_reason, secret_number, previous_secret_until,"
    " failing_since, created_by, created_at, updated_at"
)


async def insert_endpoint(connection: Connection, endpoint: Endpoint) -> None:
    row: dict[str, object] = {
        "org_id": endpoint.org_id,
        "endpoint_id": endpoint.endpoint_id,
        "url": endpoint.url,
        "description": endpoint.description,
        "events": [event.value for event in endpoint.events],
        "enabled": endpoint.enabled,
        "created_by": endpoint.created_by,
        "created_at": endpoint.created_at,
        "updated_at": endpoint.updated_at,
    }
    await insert_row(connection, "webhook_endpoints", row)


async def get_endpoint(connection: Connection, org_id: str, endpoint_id: str, *, lock: bool = False) -> Endpoint:
    """Raises NotFoundError."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM webhook_endpoints"  # noqa: S608 - a constant of this file
        " WHERE org_id = %s AND endpoint_id = %s AND deleted_at IS NULL" + (" FOR UPDATE" if lock else ""),
        [org_id, endpoint_id],
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"there is no webhook endpoint {endpoint_id}")
    return _endpoint(row)


async def list_endpoints(connection: Connection, org_id: str) -> Sequence[Endpoint]:
    """All of them, newest first: there are few (``MAX_ENDPOINTS``)."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM webhook_endpoints"  # noqa: S608 - a constant of this file
        " WHERE org_id = %s AND deleted_at IS NULL ORDER BY endpoint_id DESC",
        [org_id],
    )
    return [_endpoint(row) for row in await cursor.fetchall()]


async def save_endpoint(connection: Connection, endpoint: Endpoint) -> None:
    await connection.execute(
        "UPDATE webhook_endpoints SET url = %s, description = %s, events = %s, enabled = %s, disabled_reason = %s,"
        " secret_number = %s, previous_secret_until = %s, failing_since = %s, updated_at = %s"
        " WHERE org_id = %s AND endpoint_id = %s",
        [
            endpoint.url,
            endpoint.description,
            [event.value for event in endpoint.events],
            endpoint.enabled,
            endpoint.disabled_reason,
            endpoint.secret_number,
            endpoint.previous_secret_until,
            endpoint.failing_since,
            endpoint.updated_at,
            endpoint.org_id,
            endpoint.endpoint_id,
        ],
    )


async def delete_endpoint(connection: Connection, org_id: str, endpoint_id: str, at: datetime) -> None:
    """Its deliveries stay to be read."""
    await connection.execute(
        "UPDATE webhook_endpoints SET deleted_at = %s, enabled = false WHERE org_id = %s AND endpoint_id = %s",
        [at, org_id, endpoint_id],
    )


async def note_outcome(connection: Connection, org_id: str, endpoint_id: str, failed_at: datetime | None) -> None:
    """A success (None) ends the time of failing, a failure begins one unless it has begun; mostly nothing changes."""
    await connection.execute(
        "UPDATE webhook_endpoints SET failing_since = CASE WHEN %(at)s::timestamptz IS NULL THEN NULL"
        " ELSE coalesce(failing_since, %(at)s) END WHERE org_id = %(org)s AND endpoint_id = %(id)s"
        " AND (failing_since IS NULL) IS DISTINCT FROM (%(at)s::timestamptz IS NULL)",
        {"at": failed_at, "org": org_id, "id": endpoint_id},
    )


def _endpoint(row: DictRow) -> Endpoint:
    return Endpoint(**{**row, "events": tuple(WebhookEvent(name) for name in row["events"])})
