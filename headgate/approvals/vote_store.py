"""Votes on approvals in the database: one row for each approver."""

import json
from collections.abc import Sequence

from psycopg.rows import DictRow

from headgate.approvals.model import Vote, VoteDecision
from headgate.approvals.standing import Standing
from headgate.db.database import Connection
from headgate.kernel.canonical_json import canonical_bytes


async def votes_of(connection: Connection, org_id: str, approval_id: str) -> list[Vote]:
    """The votes so far, oldest first."""
    return (await votes_of_many(connection, org_id, [approval_id])).get(approval_id, [])


async def votes_of_many(connection: Connection, org_id: str, approval_ids: Sequence[str]) -> dict[str, list[Vote]]:
    """The votes on each of these approvals, oldest first; approvals without votes are left out."""
    cursor = await connection.execute(
        "SELECT v.approval_id, v.user_id, v.decision, v.reason, v.decided_at, v.key_id, v.email, v.as_admin,"
        " v.standing, v.on_behalf_of, v.digest, u.name"
        " FROM approval_votes v LEFT JOIN users u ON u.org_id = v.org_id AND u.user_id = v.user_id"
        " WHERE v.org_id = %s AND v.approval_id = ANY (%s) ORDER BY v.decided_at, v.user_id",
        [org_id, list(approval_ids)],
    )
    votes: dict[str, list[Vote]] = {}
    for row in await cursor.fetchall():
        votes.setdefault(row["approval_id"], []).append(_vote(row))
    return votes


async def save_vote(connection: Connection, org_id: str, vote: Vote) -> None:
    """Inserts one vote; a second vote of the same approver violates the primary key (ConstraintError)."""
    await connection.execute(
        "INSERT INTO approval_votes"
        " (org_id, approval_id, user_id, decision, reason, decided_at, key_id, email, as_admin, standing,"
        " on_behalf_of, digest) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            org_id,
            vote.approval_id,
            vote.voter_id,
            vote.decision.value,
            vote.reason,
            vote.decided_at,
            vote.key_id,
            vote.email,
            vote.as_admin,
            canonical_bytes([*(one.record() for one in vote.standing)]).decode(),
            vote.on_behalf_of,
            vote.digest,
        ],
    )


def _vote(row: DictRow) -> Vote:
    return Vote(
        approval_id=row["approval_id"],
        voter_id=row["user_id"],
        decision=VoteDecision(row["decision"]),
        reason=row["reason"],
        decided_at=row["decided_at"],
        key_id=row["key_id"],
        email=row["email"],
        name=row["name"],
        as_admin=row["as_admin"],
        standing=tuple(
            Standing(one["policy_id"], one["free"], tuple(one["roles"])) for one in json.loads(row["standing"])
        ),
        on_behalf_of=row["on_behalf_of"],
        digest=None if row["digest"] is None else bytes(row["digest"]),
    )
