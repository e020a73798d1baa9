"""How executions ended, moved from the appended outcomes into executions and actions, for every organization."""

import structlog

from headgate.actions import store
from headgate.db.database import Database
from headgate.kernel.errors import UnavailableError

_log = structlog.get_logger(__name__)


async def fold_due(database: Database) -> int:
    """Fold what is there; returns how many outcomes were moved.

    An organization whose outcomes cannot be folded now does not keep the others waiting. Raises UnavailableError
    where none's could be.
    """
    async with database.across_organizations() as connection:
        round_of = await store.fold_due(connection)
    failed = [one for one in round_of if one.failure is not None]
    for one in failed:
        _log.error("outcomes_not_folded", org_id=one.org_id, cause=one.failure)
    if failed and len(failed) == len(round_of):
        raise UnavailableError("no organization's outcomes could be folded")
    return sum(one.folded for one in round_of)
