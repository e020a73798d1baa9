"""One round of a job over all organizations: one statement, which goes on where one of them fails."""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from headgate.kernel.errors import UnavailableError

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Share:
    """What became of one organization in a round: how much was done, or why nothing could be."""

    org_id: str
    done: int
    failure: str | None


def total_of(shares: Sequence[Share], *, failed_event: str) -> int:
    """How much was done in all. Each failure is logged as ``failed_event``.

    An organization that fails does not keep the others waiting. Raises UnavailableError where every one failed.
    """
    failed = [one for one in shares if one.failure is not None]
    for one in failed:
        _log.error(failed_event, org_id=one.org_id, cause=one.failure)
    if failed and len(failed) == len(shares):
        raise UnavailableError(f"no organization's share could be done: {failed_event}")
    return sum(one.done for one in shares)
