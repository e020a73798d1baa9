"""SQL: which open approvals are about calls with a connection's credential."""

from headgate.db.database import Connection


async def pending_with(connection: Connection, org_id: str, connection_id: str) -> list[str]:
    """Lists pending approvals, oldest first. The connection is the first member of an action's request
    (``headgate.gate.candidate.with_connection``)."""
    cursor = await connection.execute(
        "SELECT p.approval_id FROM approvals p JOIN actions a USING (org_id, action_id)"
        " WHERE p.org_id = %s AND p.status = 'pending' AND starts_with(a.request, %s) ORDER BY p.approval_id",
        [org_id, '{"connection":{"id":"' + connection_id + '"'],
    )
    return [row["approval_id"] for row in await cursor.fetchall()]
