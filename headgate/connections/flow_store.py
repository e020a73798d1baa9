"""SQL of consents that are under way: one row for each browser that was sent to a platform."""

from datetime import datetime

from msgspec import Struct

from headgate.db.database import Connection


class Flow(Struct, frozen=True):
    org_id: str
    state_hash: str
    connection_id: str
    started_by: str
    redirect_uri: str
    issuer: str | None
    created_at: datetime
    expires_at: datetime

    @property
    def vault_name(self) -> str:
        return f"oauth/{self.state_hash}"


async def insert_flow(connection: Connection, flow: Flow) -> None:
    await connection.execute(
        "INSERT INTO connection_flows (org_id, state_hash, connection_id, started_by, redirect_uri, issuer, created_at,"
        " expires_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
        [
            *(flow.org_id, flow.state_hash, flow.connection_id, flow.started_by, flow.redirect_uri, flow.issuer),
            *(flow.created_at, flow.expires_at),
        ],
    )


async def use_flow(
    connection: Connection, org_id: str, state_hash: str, *, started_by: str, at: datetime
) -> Flow | None:
    """The one use of it; None: there is none of this state that this person began, or it was used, or has expired."""
    cursor = await connection.execute(
        "UPDATE connection_flows SET used_at = %s WHERE org_id = %s AND state_hash = %s AND started_by = %s"
        " AND used_at IS NULL AND expires_at > %s"
        " RETURNING org_id, state_hash, connection_id, started_by, redirect_uri, issuer, created_at, expires_at",
        [at, org_id, state_hash, started_by, at],
    )
    row = await cursor.fetchone()
    return None if row is None else Flow(**row)


async def forget_flows(connection: Connection, before: datetime) -> int:
    """Those that have expired, with their verifiers, over all organizations."""
    cursor = await connection.execute("SELECT forget_connection_flows(%s) AS forgotten", [before])
    row = await cursor.fetchone()
    return 0 if row is None else int(row["forgotten"])
