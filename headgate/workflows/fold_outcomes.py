"""How executions ended, moved from the appended outcomes into executions and actions, for every organization."""

from headgate.actions import store
from headgate.db.database import Database


async def fold_due(database: Database) -> int:
    """Fold what is there; returns how many outcomes were moved. Raises UnavailableError."""
    async with database.across_organizations() as connection:
        org_ids = await store.organizations_with_outcomes(connection)
    folded = 0
    for org_id in org_ids:
        async with database.transaction(org_id) as connection:
            folded += await store.fold_outcomes(connection, org_id)
    return folded
