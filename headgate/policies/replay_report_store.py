"""All SQL of kept replay reports."""

import json
from datetime import datetime

from msgspec import Struct
from psycopg import sql
from psycopg.rows import DictRow

from headgate.audit.model import Actor
from headgate.db.bounded_count import BoundedCount, count_rows
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.errors import NotFoundError
from headgate.policies.version_store import actor_json, actor_of


class KeptReport(Struct, frozen=True):
    replay_id: str
    created_at: datetime
    created_by: Actor | None
    report: JsonObject


async def keep_report(connection: Connection, org_id: str, kept: KeptReport, actor: Actor) -> None:
    await connection.execute(
        "INSERT INTO policy_replays (org_id, replay_id, created_by, created_at, report) VALUES (%s, %s, %s, %s, %s)",
        [org_id, kept.replay_id, actor_json(actor), kept.created_at, canonical_bytes(kept.report).decode()],
    )


async def get_report(connection: Connection, org_id: str, replay_id: str) -> KeptReport:
    """Raises NotFoundError."""
    cursor = await connection.execute(
        "SELECT replay_id, created_by, created_at, report FROM policy_replays WHERE org_id = %s AND replay_id = %s",
        [org_id, replay_id],
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"there is no kept replay {replay_id}")
    return _kept(row)


async def list_reports(
    connection: Connection, org_id: str, *, limit: int, offset: int, exact_total: bool = False
) -> tuple[list[KeptReport], BoundedCount]:
    """Newest first."""
    cursor = await connection.execute(
        "SELECT replay_id, created_by, created_at, report FROM policy_replays WHERE org_id = %s"
        " ORDER BY replay_id DESC LIMIT %s OFFSET %s",
        [org_id, limit, offset],
    )
    rows = await cursor.fetchall()
    source = sql.SQL("policy_replays WHERE org_id = %(org)s")
    counted = await count_rows(connection, source, {"org": org_id}, exact=exact_total)
    return [_kept(one) for one in rows], counted


def _kept(row: DictRow) -> KeptReport:
    return KeptReport(row["replay_id"], row["created_at"], actor_of(row["created_by"]), json.loads(row["report"]))
