"""Moving what was told of ends into executions and actions (docs/decisions/0006-outcomes-are-appended.md)."""

from typing import Final

from headgate.db.database import Connection
from headgate.db.rounds import Share

_FOLD_LIMIT: Final = 1_000
_MAX_FOLDS_BEFORE_READING: Final = 10


async def fold_outcomes(connection: Connection, org_id: str) -> int:
    """Move how executions ended into executions and actions, so that a status read next is current.

    Returns how many outcomes were moved; 0 also where another process is at it.
    """
    folded = 0
    for _ in range(_MAX_FOLDS_BEFORE_READING):
        cursor = await connection.execute("SELECT fold_outcomes(%s, %s) AS folded", [org_id, _FOLD_LIMIT])
        row = await cursor.fetchone()
        count = int(row["folded"]) if row is not None else 0
        folded += count
        if count < _FOLD_LIMIT:
            break
    return folded


async def fold_due(connection: Connection) -> list[Share]:
    """Fold what every organization has waiting, a bounded number in all."""
    cursor = await connection.execute("SELECT org_id, folded, failure FROM fold_due(%s)", [_FOLD_LIMIT])
    return [Share(row["org_id"], int(row["folded"]), row["failure"]) for row in await cursor.fetchall()]
