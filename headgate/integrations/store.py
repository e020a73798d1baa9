"""All SQL of integrations. Except for ``connection_owner`` and ``forget_receipts``, every function runs inside a
transaction of the organization."""

import json
from collections.abc import Sequence

from psycopg.rows import DictRow

from headgate.db.database import Connection
from headgate.integrations.model import Integration, Item, Opened, Receipt, ReceiptOutcome, Standing, outcome_of
from headgate.kernel.canonical_json import canonical_bytes


async def lock_integration(connection: Connection, org_id: str, integration: Integration) -> None:
    """Serializes changes of one integration's settings. It leaves the generation: no decision depends on
    integrations."""
    await connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('headgate.integration ' || %s || ' ' || %s, 0))",
        [org_id, integration.value],
    )


async def connection_owner(connection: Connection, connection_id: str) -> tuple[str, Integration] | None:
    """The owner of an inbound address; reads across organizations."""
    cursor = await connection.execute(
        "SELECT org_id, integration FROM integration_connection_owner(%s)", [connection_id]
    )
    row = await cursor.fetchone()
    return None if row is None else (row["org_id"], Integration(row["integration"]))


async def ensure_connection(connection: Connection, org_id: str, integration: Integration, proposed: str) -> str:
    """The integration's connection, or ``proposed`` if it has none; it never changes afterwards."""
    await connection.execute(
        "INSERT INTO integration_connections (org_id, connection_id, integration) VALUES (%s, %s, %s)"
        " ON CONFLICT DO NOTHING",
        [org_id, proposed, integration.value],
    )
    return await connection_of(connection, org_id, integration) or proposed


async def connection_of(connection: Connection, org_id: str, integration: Integration) -> str | None:
    cursor = await connection.execute(
        "SELECT connection_id FROM integration_connections WHERE org_id = %s AND integration = %s",
        [org_id, integration.value],
    )
    row = await cursor.fetchone()
    return None if row is None else str(row["connection_id"])


_ITEM = "approval_id, external_id, external_key, url, report_key, digest, detail"


async def insert_item(connection: Connection, org_id: str, integration: Integration, item: Item) -> bool:
    """False if the approval has an item already."""
    opened = item.opened
    inserted = await connection.execute(
        "INSERT INTO integration_items (org_id, integration, approval_id, external_id, external_key, url, report_key,"
        " digest, detail, opened_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, clock_timestamp())"
        " ON CONFLICT DO NOTHING",
        [
            org_id,
            integration.value,
            item.approval_id,
            opened.external_id,
            opened.external_key,
            opened.url,
            opened.report_key,
            item.digest,
            canonical_bytes(opened.detail).decode(),
        ],
    )
    return inserted.rowcount == 1


async def find_item(connection: Connection, org_id: str, integration: Integration, approval_id: str) -> Item | None:
    cursor = await connection.execute(
        f"SELECT {_ITEM} FROM integration_items WHERE org_id = %s AND integration = %s AND approval_id = %s",  # noqa: S608 - a constant of this file
        [org_id, integration.value, approval_id],
    )
    row = await cursor.fetchone()
    return None if row is None else _item(row)


async def find_item_by_external(
    connection: Connection, org_id: str, integration: Integration, external_id: str
) -> Item | None:
    cursor = await connection.execute(
        f"SELECT {_ITEM} FROM integration_items WHERE org_id = %s AND integration = %s AND external_id = %s",  # noqa: S608 - a constant of this file
        [org_id, integration.value, external_id],
    )
    row = await cursor.fetchone()
    return None if row is None else _item(row)


async def report_key_of(connection: Connection, org_id: str, integration: Integration, approval_id: str) -> str | None:
    """None: the item has its own report, or does not exist yet."""
    cursor = await connection.execute(
        "SELECT report_key FROM integration_items WHERE org_id = %s AND integration = %s AND approval_id = %s",
        [org_id, integration.value, approval_id],
    )
    row = await cursor.fetchone()
    return None if row is None else row["report_key"]


async def standings_of(
    connection: Connection, org_id: str, integration: Integration, report_key: str
) -> tuple[Standing, ...]:
    """All items that share this report, oldest first. An item whose action and approval are missing is undecided."""
    cursor = await connection.execute(
        "SELECT i.approval_id, i.external_id, i.external_key, i.url, i.report_key, i.detail, p.status AS approval,"
        " p.edited_digest IS NOT NULL AS is_edited, a.status AS action"
        " FROM integration_items i"
        " LEFT JOIN approvals p ON p.org_id = i.org_id AND p.approval_id = i.approval_id"
        " LEFT JOIN actions a ON a.org_id = i.org_id AND a.action_id = coalesce(p.action_id, i.approval_id)"
        " WHERE i.org_id = %s AND i.integration = %s AND i.report_key = %s ORDER BY i.opened_at, i.approval_id",
        [org_id, integration.value, report_key],
    )
    return tuple(_standing(row) for row in await cursor.fetchall())


async def is_followed(connection: Connection, org_id: str, integration: Integration, approval_id: str) -> bool:
    """Whether an item for this approval is open or queued in this integration."""
    cursor = await connection.execute(
        "SELECT FROM deliveries WHERE org_id = %(org)s AND subject_id = %(approval)s AND target_kind = 'integration'"
        " AND target_id = %(integration)s AND event = 'approval.requested'"
        " UNION ALL SELECT FROM integration_items WHERE org_id = %(org)s AND integration = %(integration)s"
        " AND approval_id = %(approval)s LIMIT 1",
        {"org": org_id, "approval": approval_id, "integration": integration.value},
    )
    return await cursor.fetchone() is not None


async def insert_receipt(connection: Connection, org_id: str, receipt: Receipt) -> bool:
    """False if it was received before."""
    inserted = await connection.execute(
        "INSERT INTO integration_receipts (org_id, connection_id, receipt_id, received_at, outcome, approval_id,"
        " account, message) VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
        [
            org_id,
            receipt.connection_id,
            receipt.receipt_id,
            receipt.received_at,
            receipt.outcome.value,
            receipt.approval_id,
            receipt.account,
            receipt.message,
        ],
    )
    return inserted.rowcount == 1


async def has_receipt(connection: Connection, org_id: str, connection_id: str, receipt_id: str) -> bool:
    cursor = await connection.execute(
        "SELECT FROM integration_receipts WHERE org_id = %s AND connection_id = %s AND receipt_id = %s",
        [org_id, connection_id, receipt_id],
    )
    return await cursor.fetchone() is not None


async def list_receipts(connection: Connection, org_id: str, connection_id: str, *, limit: int) -> Sequence[Receipt]:
    """Newest first."""
    cursor = await connection.execute(
        "SELECT connection_id, receipt_id, received_at, outcome, approval_id, account, message"
        " FROM integration_receipts WHERE org_id = %s AND connection_id = %s"
        " ORDER BY received_at DESC, receipt_id LIMIT %s",
        [org_id, connection_id, limit],
    )
    return [Receipt(**{**row, "outcome": ReceiptOutcome(row["outcome"])}) for row in await cursor.fetchall()]


async def forget_receipts(connection: Connection) -> int:
    """Deletes receipts that no platform repeats any more, over all organizations."""
    cursor = await connection.execute("SELECT forget_integration_receipts() AS gone")
    row = await cursor.fetchone()
    return 0 if row is None else int(row["gone"])


def _item(row: DictRow) -> Item:
    return Item(row["approval_id"], _opened(row), bytes(row["digest"]))


def _opened(row: DictRow) -> Opened:
    return Opened(row["external_id"], row["external_key"], row["url"], json.loads(row["detail"]), row["report_key"])


def _standing(row: DictRow) -> Standing:
    outcome = outcome_of(row["action"], row["approval"], is_edited=row["is_edited"])
    return Standing(row["approval_id"], _opened(row), outcome, row["is_edited"])
