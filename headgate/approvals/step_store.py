"""The steps of approvals in the database: history other than votes and use. Rows are added, never changed."""

import json

from headgate.approvals.history import EarlyEnd, HistoryVerb, Step
from headgate.approvals.model import Approval, ApprovalStatus
from headgate.db.database import Connection
from headgate.kernel.canonical_json import canonical_bytes


async def add_step(connection: Connection, org_id: str, approval_id: str, step: Step) -> None:
    """Inserts a step. The caller holds the approval's lock, which makes step numbers unique."""
    await connection.execute(
        "INSERT INTO approval_steps (org_id, approval_id, step, verb, at, by, email, reason, data)"
        " SELECT %(org)s, %(approval)s, coalesce(max(s.step), 0) + 1, %(verb)s, %(at)s, %(by)s, %(email)s, %(reason)s,"
        " %(data)s FROM approval_steps s WHERE s.org_id = %(org)s AND s.approval_id = %(approval)s",
        {
            "org": org_id,
            "approval": approval_id,
            "verb": step.verb.value,
            "at": step.at,
            "by": step.by,
            "email": step.email,
            "reason": step.reason,
            "data": canonical_bytes(step.data).decode(),
        },
    )


async def steps_of(connection: Connection, org_id: str, approval_id: str) -> list[Step]:
    """Lists steps in the order in which they happened."""
    cursor = await connection.execute(
        "SELECT verb, at, by, email, reason, data FROM approval_steps"
        " WHERE org_id = %s AND approval_id = %s ORDER BY step",
        [org_id, approval_id],
    )
    return [
        Step(HistoryVerb(row["verb"]), row["at"], row["by"], row["email"], row["reason"], json.loads(row["data"]))
        for row in await cursor.fetchall()
    ]


async def early_end_of(connection: Connection, approval: Approval) -> EarlyEnd | None:
    """How and when the approval ended early, if it did. The time is its action's last change."""
    if approval.status is not ApprovalStatus.EXPIRED:
        return None
    cursor = await connection.execute(
        "SELECT a.updated_at, (SELECT n.approval_id FROM approvals n"
        " WHERE n.org_id = a.org_id AND n.agent_id = a.agent_id AND n.digest = a.digest"
        " AND n.approval_id > %(approval)s AND n.repeats = %(approval)s"
        " ORDER BY n.approval_id LIMIT 1) AS by_approval"
        " FROM actions a WHERE a.org_id = %(org)s AND a.action_id = %(action)s AND a.updated_at < %(expires)s",
        {
            "org": approval.org_id,
            "approval": approval.approval_id,
            "action": approval.action_id,
            "expires": approval.expires_at,
        },
    )
    row = await cursor.fetchone()
    return None if row is None else EarlyEnd(row["updated_at"], row["by_approval"])
