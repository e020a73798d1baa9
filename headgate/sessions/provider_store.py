"""What ties sessions to those of their provider: the sealed hint, and the provider's own name of its session."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from headgate.db.database import Connection


class FoundSession(Struct, frozen=True):
    """A session that its provider says is over."""

    org_id: str
    user_id: str
    session_id: str


async def keep_provider_session(
    connection: Connection, org_id: str, session_id: str, *, hint: bytes, sid: str | None
) -> None:
    await connection.execute(
        "UPDATE sessions SET logout_hint = %s, provider_sid = %s WHERE org_id = %s AND session_id = %s",
        [hint, sid, org_id, session_id],
    )


async def sealed_hint_of(connection: Connection, org_id: str, session_id: str) -> bytes | None:
    """None: nobody signed in with a provider, or before hints were kept."""
    cursor = await connection.execute(
        "SELECT logout_hint FROM sessions WHERE org_id = %s AND session_id = %s", [org_id, session_id]
    )
    row = await cursor.fetchone()
    return None if row is None or row["logout_hint"] is None else bytes(row["logout_hint"])


async def sessions_at_provider(
    connection: Connection, issuer: str, *, subject: str | None, sid: str | None, until: datetime
) -> Sequence[FoundSession]:
    """Across organizations. ``until``: one that was opened later is another than the provider means."""
    cursor = await connection.execute(
        "SELECT * FROM sessions_at_provider(%s, %s, %s, %s)", [issuer, subject, sid, until]
    )
    return [FoundSession(row["org_id"], row["user_id"], row["session_id"]) async for row in cursor]
