"""What the clock has found due, one after the other: one that fails does not keep the others waiting."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import structlog

from headgate.approvals.store import DueApproval
from headgate.kernel.errors import HeadgateError, UnavailableError

_log = structlog.get_logger(__name__)

_UNAVAILABLE_IN_A_ROW: Final = 3
"""So many in a row are the database's fault; fewer may be one row's, which would be the first again each time."""


async def each_due(due: Iterable[DueApproval], attend: Callable[[DueApproval], Awaitable[bool]]) -> int:
    """How many were attended to. Raises UnavailableError where the database is out of reach."""
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
