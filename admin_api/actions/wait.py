"""Long polling: an answer that waits until the action's approval is decided.

Each look is one row by its key; between looks nothing is held, neither a connection nor a transaction.
"""

import asyncio
from typing import Final

from starlette.requests import Request

from headgate.actions.model import ActionDetail, ActionStatus
from headgate.actions.store import get_action
from headgate.db.database import Database
from headgate.journal.apply import require_applied

MAX_WAIT_SECONDS: Final = 60
_LOOK_SECONDS: Final = 0.5


async def action_when_decided(
    request: Request, database: Database, org_id: str, action_id: str, *, agent_id: str | None, wait_seconds: int
) -> ActionDetail:
    """The action, as soon as it waits for nobody, or at the end of the time as it is then.

    Also when the client has gone. Raises NotFoundError, UnavailableError.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_seconds
    await require_applied(database, org_id)
    while True:
        async with database.transaction(org_id) as connection:
            detail = await get_action(connection, org_id, action_id, agent_id=agent_id)
        left = deadline - loop.time()
        if detail.action.status is not ActionStatus.PENDING_APPROVAL or left <= 0 or await request.is_disconnected():
            return detail
        await asyncio.sleep(min(_LOOK_SECONDS, left))
