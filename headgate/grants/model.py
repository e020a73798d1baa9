"""A grant: whose calls of which kind it lets through, for whom it stands, and how much of it is left.

It is always narrower than what a policy allows: it answers policies that *ask*, and only those that asked when it was
given; never one that denies, never one that judges content. Its granters count as the approvals that the policies of
now would want, by the same rules (headgate.approvals.standing), each time it is used.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.agents.scopes import is_administrator, may_approve
from headgate.approvals.standing import NO_PARTIES, Named, Parties, is_met, standing_in
from headgate.grants.conditions import Condition, amount_of, param_of
from headgate.kernel.canonical_json import JsonObject
from headgate.organizations.model import User
from headgate.policies.model import Requirement

USES_MAX: Final = 100_000
IN_FORCE_MAX: Final = 1_000
"""Of one organization: every process has them in memory."""
REASON_MAX_CHARACTERS: Final = 500


class GrantStatus(StrEnum):
    ACTIVE = "active"
    EXHAUSTED = "exhausted"
    EXPIRED = "expired"
    REVOKED = "revoked"


class Granter(Struct, frozen=True):
    """Who stands for it, and what held when they said so; of a grant that is read to be used, what holds now."""

    voter_id: str
    email: str | None
    as_admin: bool
    at: datetime
    groups: frozenset[str] = frozenset()


class Scope(Struct, frozen=True):
    """Which calls: those whose params meet all ``conditions``; or the one call of this ``digest``, to the byte.

    ``sum_param`` is the param that is added up, where there is a bound on the sum.
    """

    conditions: tuple[Condition, ...] = ()
    digest: bytes | None = None
    sum_param: str | None = None

    def covers(self, params: JsonObject, digest: bytes) -> bool:
        if self.digest is not None:
            return digest == self.digest
        return all(condition.holds(params) for condition in self.conditions)

    def amount(self, params: JsonObject) -> Decimal | None:
        """What the call adds to the sum; None where that is no amount, so that the grant does not cover it. A negative
        one would give back what others have used."""
        if self.sum_param is None:
            return Decimal(0)
        found, value = param_of(params, self.sum_param)
        amount = amount_of(value) if found else None
        return amount if amount is not None and amount >= 0 else None


class Grant(Struct, frozen=True):
    """One grant as its row says. ``max_sum`` None: only uses are counted. ``parties`` are those who may have to be kept
    apart from approving what it lets through, as of when it was read."""

    org_id: str
    grant_id: str
    agent_id: str
    tool: str
    operation: str
    scope: Scope
    policy_ids: frozenset[str]
    granters: tuple[Granter, ...]
    max_uses: int
    uses: int
    max_sum: Decimal | None
    used_sum: Decimal
    reason: str
    approval_id: str | None
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    revoked_by: str | None = None
    revoke_reason: str | None = None
    parties: Parties = NO_PARTIES

    def status(self, now: datetime) -> GrantStatus:
        """Revocation outranks the rest: it is what a person did."""
        if self.revoked_at is not None:
            return GrantStatus.REVOKED
        if now >= self.expires_at:
            return GrantStatus.EXPIRED
        if self.uses >= self.max_uses or (self.max_sum is not None and self.used_sum >= self.max_sum):
            return GrantStatus.EXHAUSTED
        return GrantStatus.ACTIVE


def granter_now(granter: Granter, user: User, groups: frozenset[str]) -> Granter | None:
    """The granter with the address, groups and rights of now, as if voting today. None: shut out, or without the right
    to decide approvals, so that they count no more.

    ``as_admin`` needs both: a key without admin:* that gave the grant does not gain it with its owner.
    """
    if user.deactivated_at is not None or not may_approve(user.roles):
        return None
    as_admin = granter.as_admin and is_administrator(user.roles)
    return replace(granter, email=user.email, as_admin=as_admin, groups=groups)


def one_of_each_person(granters: Sequence[Granter], persons: Mapping[str, frozenset[str]]) -> tuple[Granter, ...]:
    """The first granter of each person. Two users can become one person after both have granted, when the address of
    one changes. ``persons``: of every granter (``persons_of``)."""
    kept: list[Granter] = []
    counted: set[str] = set()
    for granter in granters:
        if granter.voter_id not in counted:
            kept.append(granter)
            counted |= persons[granter.voter_id]
    return tuple(kept)


def why_not_answered(grant: Grant, requirements: Sequence[Requirement]) -> str | None:
    """Why the policies that ask are not answered by this grant; None: they are."""
    for one in requirements:
        if one.policy_id not in grant.policy_ids:
            return f"policy {one.policy_id} was not among those that it answers"
        terms = one.grants
        if not (one.required_approvals == 1 if terms.allowed is None else terms.allowed):
            needs = "" if terms.allowed is False else f": it needs {one.required_approvals} approvals each time"
            return f"policy {one.policy_id} allows no grants{needs}"
        if terms.max_uses is not None and grant.max_uses > terms.max_uses:
            return f"policy {one.policy_id} allows grants of at most {terms.max_uses} uses"
        seconds = (grant.expires_at - grant.created_at).total_seconds()
        if terms.max_seconds is not None and seconds > terms.max_seconds:
            return f"policy {one.policy_id} allows grants of at most {terms.max_seconds} seconds"
    return None if _approved(grant, requirements) else "its granters are not the approvers that the policies ask for"


def _approved(grant: Grant, requirements: Sequence[Requirement]) -> bool:
    """As if each granter had approved the call that is asked about."""
    return all(
        is_met(
            one,
            [
                standing_in(one, Named(granter.voter_id, granter.email, granter.groups), is_admin=granter.as_admin)
                for granter in grant.granters
                if granter.voter_id not in grant.parties.kept_out(one)
            ],
        )
        for one in requirements
    )
