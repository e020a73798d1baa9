"""Which approvals a list is of, from its query."""

from datetime import datetime
from enum import StrEnum
from typing import Final

from admin_api.approvals.voter import voter_of
from admin_api.principal import Principal
from headgate.approvals.approver import approver_of_now
from headgate.approvals.list_store import ApprovalFilter, Awaited
from headgate.approvals.model import ApprovalStatus
from headgate.db.database import Connection
from headgate.kernel.errors import ValidationError
from headgate.organizations.mail_addresses import lower_ascii
from headgate.policies.model import RiskLevel

_ME: Final = "me"


class Sort(StrEnum):
    """By the time at which the requests were opened."""

    NEWEST = "newest"
    OLDEST = "oldest"


async def wanted_approvals(
    connection: Connection,
    principal: Principal,
    now: datetime,
    *,
    status: ApprovalStatus | None,
    agent_id: str | None,
    risk_level: RiskLevel | None,
    tool: str | None,
    policy_id: str | None,
    host: str | None,
    held: bool,
    sort: Sort,
    assignee: str | None,
    for_me: bool,
    created_from: datetime | None,
    created_to: datetime | None,
) -> ApprovalFilter:
    """Raises ValidationError."""
    of_open = {"host": host is not None, "held": held, "sort": sort is not Sort.NEWEST, "for_me": for_me}
    if status is not ApprovalStatus.PENDING and (field := next((one for one, given in of_open.items() if given), None)):
        raise ValidationError(
            f"{field}: for open requests only. Add status=pending.",
            details={"field": field, "reason": "only with status=pending"},
        )
    if for_me and assignee is not None:
        raise ValidationError(
            "for_me and assignee exclude each other. Send one of them.",
            details={"field": "for_me", "reason": "not with assignee"},
        )
    return ApprovalFilter(
        status=status,
        agent_id=agent_id,
        risk_level=None if risk_level is None else risk_level.value,
        tool=_storable("tool", tool),
        policy_id=policy_id,
        host=_storable("host", host),
        is_held=held,
        oldest_first=sort is Sort.OLDEST,
        assigned_to=await _names(connection, principal, now, _storable("assignee", assignee)),
        waits_for=await _awaited(connection, principal, now) if for_me else None,
        created_from=created_from,
        created_to=created_to,
    )


async def _names(
    connection: Connection, principal: Principal, now: datetime, assignee: str | None
) -> frozenset[str] | None:
    """``me``: by any of the caller's names and groups, and of those who are away and have named the caller."""
    if assignee is None:
        return None
    if assignee != _ME:
        return frozenset({lower_ascii(assignee)})
    return (await _awaited(connection, principal, now)).names


async def _awaited(connection: Connection, principal: Principal, now: datetime) -> Awaited:
    """The caller, with the names of those who are away and have named the caller. Raises ValidationError."""
    if principal.user_id is None:
        raise ValidationError(
            "This key belongs to no user, so it has no approvals of its own.",
            details={"field": "assignee", "reason": "not a user's key"},
        )
    voter = await approver_of_now(connection, principal.org_id, voter_of(principal), now)
    names = voter.named.names.union(*(absent.names for absent in voter.stands_in_for))
    return Awaited(names, frozenset({principal.user_id, *voter.also}))


def _storable(field: str, text: str | None) -> str | None:
    if text is not None and "\0" in text:
        raise ValidationError(f"{field} must not contain NUL", details={"field": field, "reason": "contains NUL"})
    return text
