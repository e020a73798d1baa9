"""Rows that the masker writes, over all organizations, through the functions that its role may call."""

from collections.abc import Sequence
from typing import Final

from headgate.db.database import Connection
from headgate.traffic.model import Kept, Lost

_TYPES: Final = (
    *("text", "text", "timestamptz", "text", "text", "text", "text", "text", "text", "text", "text", "text", "integer"),
    *("text", "integer", "double precision", "bigint", "bigint", "text", "text", "text", "text", "bytea", "bytea"),
)
"""Of the function's arrays, in the order of its rows."""
_RECORD: Final = f"SELECT record_exchanges({', '.join(f'%s::{one}[]' for one in _TYPES)}) AS known"
_LOSSES: Final = (
    "SELECT record_traffic_losses(%s::text[], %s::text[], %s::text[], %s::bigint[], %s::timestamptz[],"
    " %s::timestamptz[])"
)


async def record_exchanges(connection: Connection, kept: Sequence[Kept]) -> int:
    """What is there already stays as it is. How many of them are there now: less than all where one belongs to no
    agent of its organization."""
    if not kept:
        return 0
    rows = [
        (
            one.org_id, one.exchange_id, one.created_at, one.agent_id, one.action_id, one.tool, one.operation,
            one.decision, one.level.value, one.method, one.scheme, one.host, one.port, one.target, one.status,
            one.duration_ms, one.request_bytes, one.response_bytes, one.masking, one.omitted, one.error, one.key_id,
            one.wrapped_key, one.content,
        )
        for one in kept
    ]  # fmt: skip
    cursor = await connection.execute(_RECORD.encode(), [list(column) for column in zip(*rows, strict=True)])
    row = await cursor.fetchone()
    return 0 if row is None else int(row["known"])


async def record_losses(connection: Connection, losses: Sequence[Lost]) -> None:
    """Each once, however often it is told."""
    if not losses:
        return
    rows = [(one.org_id, one.loss_id, one.cause.value, one.exchanges, one.since, one.until) for one in losses]
    await connection.execute(_LOSSES, [list(column) for column in zip(*rows, strict=True)])
