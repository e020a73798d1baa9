"""How executions ended, moved from the appended outcomes into executions and actions, for every organization."""

from headgate.actions import folding_store
from headgate.db.database import Database
from headgate.db.rounds import total_of


async def fold_due(database: Database) -> int:
    """Fold what is there; returns how many outcomes were moved.

    An organization whose outcomes cannot be folded now does not keep the others waiting. Raises UnavailableError
    where none's could be.
    """
    async with database.across_organizations() as connection:
        shares = await folding_store.fold_due(connection)
    return total_of(shares, failed_event="outcomes_not_folded")
