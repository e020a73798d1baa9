"""Long polling: an answer that waits until an approval is decided.

Each look is one row by its key; between looks nothing is held, neither a connection nor a transaction.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from headgate.approvals.model import ApprovalStatus, state_at
from headgate.approvals.store import get_approval
from headgate.db.database import Database
from headgate.kernel.clock import Clock

MAX_WAIT_SECONDS: Final = 60
_LOOK_SECONDS: Final = 0.5


async def wait_until_decided(
    database: Database,
    clock: Clock,
    org_id: str,
    approval_id: str,
    *,
    wait_seconds: int,
    has_gone: Callable[[], Awaitable[bool]],
) -> None:
    """Until the approval is decided or has run out, the time is over, or the client ``has_gone``.

    Raises NotFoundError, UnavailableError.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_seconds
    while (left := deadline - loop.time()) > 0:
        async with database.transaction(org_id) as connection:
            approval, _ = await get_approval(connection, org_id, approval_id)
        if state_at(approval, clock()) is not ApprovalStatus.PENDING or await has_gone():
            return
        await asyncio.sleep(min(_LOOK_SECONDS, left))
