"""Who may reassign an approval, and what it then requires. Pure.

New assignees replace the previous ones; votes stay. Roles, quorum and separation of duties also stay: they determine
who may decide, not who is assigned.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.approvals.model import Approval, Vote, VoteDecision
from headgate.approvals.standing import Parties, can_refuse
from headgate.approvals.vote_checks import check_open, checked_reason
from headgate.approvals.voting import Voter, check_right
from headgate.kernel.errors import ForbiddenError, NotFoundError, ValidationError
from headgate.policies.model import Requirement
from headgate.policies.terms import ASSIGNEE_MAX_CHARACTERS, ASSIGNEES_MAX, GROUP_NAME, GROUP_PREFIX

_USER_PREFIX: Final = "usr_"


class Assignees(Struct, frozen=True):
    """The new assignees: users by id, e-mail addresses as written, groups without prefix."""

    user_ids: tuple[str, ...]
    emails: tuple[str, ...]
    groups: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.user_ids, *self.emails, *(GROUP_PREFIX + group for group in self.groups))


def parse_assignees(names: Sequence[str]) -> Assignees:
    """Raises ValidationError, which names the entry."""
    if not 1 <= len(names) <= ASSIGNEES_MAX:
        raise ValidationError(
            f"assignees must name 1 to {ASSIGNEES_MAX} people or groups",
            details={"field": "assignees", "reason": "how many"},
        )
    users: dict[str, None] = {}
    emails: dict[str, None] = {}
    groups: dict[str, None] = {}
    for number, written in enumerate(names):
        name = written.strip()
        if name.startswith(GROUP_PREFIX) and GROUP_NAME.fullmatch(name.removeprefix(GROUP_PREFIX)):
            groups[name.removeprefix(GROUP_PREFIX)] = None
        elif name.startswith(_USER_PREFIX) and len(name) <= ASSIGNEE_MAX_CHARACTERS and "\0" not in name:
            users[name] = None
        elif "@" in name and len(name) <= ASSIGNEE_MAX_CHARACTERS and "\0" not in name:
            emails[name] = None
        else:
            raise ValidationError(
                f"assignees[{number}] must be a user id, an email address or group:name",
                details={"field": f"assignees[{number}]", "reason": "names nobody"},
            )
    return Assignees(tuple(users), tuple(emails), tuple(groups))


def reassigned(
    approval: Approval,
    votes: Sequence[Vote],
    voter: Voter,
    assignees: Assignees,
    *,
    reason: str | None,
    now: datetime,
    parties: Parties,
    policy_id: str | None = None,
) -> Approval:
    """Returns the approval with these assignees in the requirement of ``policy_id``, or in each that the voter may
    decide (None).

    A person who may decide a requirement may reassign it, and no other. Raises ForbiddenError, ConflictError (already
    decided), ValidationError (reason too long, or fewer assignees than the quorum), NotFoundError (no such
    requirement).
    """
    checked_reason(reason, is_required=False)
    cast = check_right(approval, votes, voter, parties, VoteDecision.DENY)
    check_open(approval, now)
    if policy_id is not None and policy_id not in {one.policy_id for one in approval.requirements}:
        raise NotFoundError(f"approval {approval.approval_id} has no requirement of policy {policy_id}")
    theirs = {one.policy_id for one in cast.standing if can_refuse(one)}
    if policy_id is not None and policy_id not in theirs:
        raise ForbiddenError(
            f"only those who may decide for policy {policy_id} may reassign its requirement",
            details={"policy_id": policy_id, "assignees": list(_named(approval, policy_id))},
        )
    given = theirs if policy_id is None else {policy_id}
    requirements = tuple(_given_to(one, assignees) if one.policy_id in given else one for one in approval.requirements)
    return replace(approval, requirements=requirements)


def _named(approval: Approval, policy_id: str) -> Sequence[str]:
    return next(one.named for one in approval.requirements if one.policy_id == policy_id)


def _given_to(requirement: Requirement, assignees: Assignees) -> Requirement:
    needed = max(requirement.free_slots, requirement.denials_required if not requirement.roles else 1)
    if not assignees.groups and len(assignees.names) < needed:
        raise ValidationError(
            f"{needed} assignees are required, but only {len(assignees.names)} are named",
            details={"field": "assignees", "reason": "too few", "required": needed},
        )
    return replace(requirement, reassigned=assignees.names)
