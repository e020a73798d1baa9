"""Handles due approvals one by one, so that a failure of one does not block the others."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import structlog

from headgate.approvals.store import DueApproval
from headgate.kernel.errors import HeadgateError, UnavailableError

_log = structlog.get_logger(__name__)

_UNAVAILABLE_IN_A_ROW: Final = 3
"""The number of failures in a row that indicates a database fault. Fewer may be one row's fault, and stopping for it
would block the queue: the same row comes first each time."""


async def each_due(due: Iterable[DueApproval], attend: Callable[[DueApproval], Awaitable[bool]]) -> int:
    """Returns the number of approvals handled. Raises UnavailableError if the database is unreachable."""
    done = in_a_row = 0
    for one in due:
        try:
            done += await attend(one)
            in_a_row = 0
        except HeadgateError as error:
            _log.error("approval_not_attended", org_id=one.org_id, approval_id=one.approval_id, error=error.message)
            in_a_row = in_a_row + 1 if isinstance(error, UnavailableError) else 0
            if in_a_row >= _UNAVAILABLE_IN_A_ROW:
                raise
    return done
