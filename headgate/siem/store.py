"""Where each destination stands. But for ``due``, every function runs inside a transaction of the organization."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from headgate.db.database import Connection

_LAST_RETRY_SECONDS: Final = 300

_FAILED: Final = """
    UPDATE event_streams SET failing_since = coalesce(failing_since, clock_timestamp()), failure = %(failure)s,
        failures = failures + 1,
        retry_at = clock_timestamp() + make_interval(secs => least(power(2, least(failures, 10)), %(most)s))
    WHERE org_id = %(org)s AND destination = %(name)s
"""


class Due(Struct, frozen=True):
    org_id: str
    destination: str


class StreamState(Struct, frozen=True):
    """``seq``: the last event that it has; ``failing_since`` None: it takes what it is sent."""

    destination: str
    seq: int
    sent_at: datetime | None
    failing_since: datetime | None
    failure: str | None
    alarmed_at: datetime | None


async def due(connection: Connection) -> list[Due]:
    """Over all organizations, in any order."""
    cursor = await connection.execute("SELECT org_id, destination FROM event_streams_due()")
    return [Due(**row) for row in await cursor.fetchall()]


async def lock_stream(connection: Connection, org_id: str, name: str) -> StreamState | None:
    """None where another worker is at it, or it is streamed to no more."""
    cursor = await connection.execute(
        "SELECT destination, seq, sent_at, failing_since, failure, alarmed_at FROM event_streams"
        " WHERE org_id = %s AND destination = %s FOR UPDATE SKIP LOCKED",
        [org_id, name],
    )
    row = await cursor.fetchone()
    return None if row is None else StreamState(**row)


async def load_states(connection: Connection, org_id: str) -> Sequence[StreamState]:
    cursor = await connection.execute(
        "SELECT destination, seq, sent_at, failing_since, failure, alarmed_at FROM event_streams"
        " WHERE org_id = %s ORDER BY destination",
        [org_id],
    )
    return [StreamState(**row) for row in await cursor.fetchall()]


async def start(connection: Connection, org_id: str, name: str, seq: int) -> None:
    """Unless it is followed already, from behind ``seq``; what failed is tried again at once."""
    await connection.execute(
        "INSERT INTO event_streams (org_id, destination, seq) VALUES (%s, %s, %s)"
        " ON CONFLICT (org_id, destination) DO UPDATE SET retry_at = clock_timestamp()",
        [org_id, name, seq],
    )


async def keep_only(connection: Connection, org_id: str, names: Collection[str]) -> None:
    await connection.execute(
        "DELETE FROM event_streams WHERE org_id = %s AND destination <> ALL (%s)", [org_id, sorted(names)]
    )


async def save_taken(connection: Connection, org_id: str, name: str, seq: int) -> None:
    await connection.execute(
        "UPDATE event_streams SET seq = %s, sent_at = clock_timestamp(), retry_at = clock_timestamp(),"
        " failing_since = NULL, failure = NULL, failures = 0, alarmed_at = NULL"
        " WHERE org_id = %s AND destination = %s",
        [seq, org_id, name],
    )


async def save_failure(connection: Connection, org_id: str, name: str, failure: str) -> None:
    """Tried again after one second, then ever later, up to five minutes."""
    await connection.execute(
        _FAILED, {"org": org_id, "name": name, "failure": failure[:500], "most": _LAST_RETRY_SECONDS}
    )


async def mark_alarmed(connection: Connection, org_id: str, name: str, at: datetime) -> None:
    await connection.execute(
        "UPDATE event_streams SET alarmed_at = %s WHERE org_id = %s AND destination = %s", [at, org_id, name]
    )
