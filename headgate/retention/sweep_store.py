"""All SQL of the sweep of bodies: whose turn it is, how far a task has got, and the months that they are kept in.

Every function runs inside the caller's transaction.
"""

from collections.abc import Collection
from datetime import datetime

from msgspec import Struct
from psycopg.rows import DictRow

from headgate.db.database import Connection
from headgate.retention.model import BodyState


class Candidate(Struct, frozen=True):
    """An action on a task's way."""

    action_id: str
    created_at: datetime
    state: BodyState


async def organizations(connection: Connection, *, after: str, limit: int) -> list[str]:
    """The next of all there are, by their identifiers."""
    cursor = await connection.execute(
        "SELECT org_id FROM retention_due() WHERE org_id > %s ORDER BY org_id LIMIT %s", [after, limit]
    )
    return [row["org_id"] for row in await cursor.fetchall()]


async def progress_of(connection: Connection, org_id: str, task: str) -> str:
    """The last action that the task has looked at; locked, so that two workers do not look at the same ones."""
    await connection.execute(
        "INSERT INTO retention_progress (org_id, task, action_id) VALUES (%s, %s, '') ON CONFLICT DO NOTHING",
        [org_id, task],
    )
    cursor = await connection.execute(
        "SELECT action_id FROM retention_progress WHERE org_id = %s AND task = %s FOR UPDATE", [org_id, task]
    )
    row = await cursor.fetchone()
    return "" if row is None else str(row["action_id"])


async def save_progress(connection: Connection, org_id: str, task: str, action_id: str) -> None:
    await connection.execute(
        "UPDATE retention_progress SET action_id = %s, looked_at = clock_timestamp() WHERE org_id = %s AND task = %s",
        [action_id, org_id, task],
    )


async def next_actions(connection: Connection, org_id: str, after: str, before: str, limit: int) -> list[Candidate]:
    """By their identifiers, which is by their time."""
    cursor = await connection.execute(
        "SELECT action_id, created_at, body_state FROM actions"
        " WHERE org_id = %s AND action_id > %s AND action_id < %s ORDER BY action_id LIMIT %s",
        [org_id, after, before, limit],
    )
    return [_candidate(row) for row in await cursor.fetchall()]


async def waiting_actions(connection: Connection, org_id: str, task: str, before: str, limit: int) -> list[Candidate]:
    """Some of those that were passed over; in any order, so that the ones that are held do not hide the others."""
    cursor = await connection.execute(
        "SELECT a.action_id, a.created_at, a.body_state FROM retention_waiting w"
        " JOIN actions a ON a.org_id = w.org_id AND a.action_id = w.action_id"
        " WHERE w.org_id = %s AND w.task = %s AND w.action_id < %s ORDER BY random() LIMIT %s",
        [org_id, task, before, limit],
    )
    return [_candidate(row) for row in await cursor.fetchall()]


async def save_waiting(
    connection: Connection, org_id: str, task: str, *, wait: Collection[str], done: Collection[str]
) -> None:
    await connection.execute(
        "DELETE FROM retention_waiting WHERE org_id = %s AND task = %s AND action_id = ANY (%s)",
        [org_id, task, list(done)],
    )
    await connection.execute(
        "INSERT INTO retention_waiting (org_id, task, action_id) SELECT %s, %s, unnest(%s::text[])"
        " ON CONFLICT DO NOTHING",
        [org_id, task, list(wait)],
    )


async def ensure_partition(connection: Connection, at: datetime) -> None:
    """The month of bodies of actions of this moment."""
    await connection.execute("SELECT ensure_body_partition(%s)", [at])


async def drop_empty_partitions(connection: Connection) -> int:
    """Months of which nothing is kept any more; how many went."""
    cursor = await connection.execute("SELECT drop_empty_body_partitions() AS dropped")
    row = await cursor.fetchone()
    return 0 if row is None else int(row["dropped"])


def _candidate(row: DictRow) -> Candidate:
    return Candidate(row["action_id"], row["created_at"], BodyState(row["body_state"]))
