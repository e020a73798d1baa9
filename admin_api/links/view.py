"""What a link opens, and how it is shown."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import Response

from admin_api.pages import page
from headgate.agents.store import find_agent
from headgate.approvals.history import HistoryVerb, Step, history
from headgate.approvals.model import Approval, ApprovalStatus, Vote, state_at
from headgate.approvals.step_store import steps_of
from headgate.approvals.store import HeldAction, get_approval
from headgate.approvals.summary import for_a_channel, summary
from headgate.approvals.vote_store import votes_of
from headgate.approvals.voting import Voter
from headgate.db.database import Connection, Database
from headgate.kernel.errors import ErrorCode, ForbiddenError, HeadgateError, NotFoundError
from headgate.notifications.links import Link, claimed, verify
from headgate.notifications.service import link_key
from headgate.organizations.model import User
from headgate.organizations.store import find_users
from headgate.policies.model import Verdict
from headgate.policies.stated_risk import is_risk_stated
from headgate.tools.describe import operation_descriptions
from headgate.tools.match import CatalogueIndex
from headgate.vault.service import Vault

type MappedVoter = Callable[[User], Voter]
"""``DecideApproval.mapped_voter``."""

_HEADINGS: Final = {
    ApprovalStatus.PENDING: "Approval needed",
    ApprovalStatus.APPROVED: "Approved",
    ApprovalStatus.DENIED: "Denied",
    ApprovalStatus.EXPIRED: "Expired",
}
_STEPS: Final = {
    HistoryVerb.REQUESTED: "requested",
    HistoryVerb.APPROVED: "approved by",
    HistoryVerb.DENIED: "denied by",
    HistoryVerb.EXPIRED: "expired",
    HistoryVerb.USED: "used",
    HistoryVerb.REASSIGNED: "reassigned",
    HistoryVerb.ESCALATED: "escalated",
    HistoryVerb.REMINDED: "approvers were reminded",
    HistoryVerb.EDITED: "edited by a reviewer",
    HistoryVerb.SUPERSEDED: "superseded by a new request",
}


class Opened(Struct, frozen=True):
    """``voter`` None: nobody decides through this link, for the reason ``why_not`` (None: nothing is left to decide).
    ``is_personal``: the params are shown to the person whom it names, not to whoever reads a channel."""

    approval: Approval
    about: HeldAction
    votes: tuple[Vote, ...]
    steps: tuple[Step, ...]
    agent_name: str
    now: datetime
    is_personal: bool
    voter: Voter | None
    why_not: str | None

    def coming_from(self, address: str | None) -> "Opened":
        """With the voter's address, for the record."""
        return self if self.voter is None else replace(self, voter=replace(self.voter, address=address))


class _ShownStep(Struct, frozen=True):
    at: datetime
    text: str


class _ExpiredLinkError(NotFoundError):
    """The link was valid and has expired."""


async def open_link(database: Database, vault: Vault, now: datetime, token: str, mapped: MappedVoter) -> Opened:
    """``mapped``: the voter that a user is who decides so.

    Raises NotFoundError where it is none, is no more, or its approval is another organization's."""
    org_id = claimed(token).org_id
    async with database.transaction(org_id) as connection:
        key = await link_key(connection, org_id, vault)
        if key is None:
            raise NotFoundError("no such link")
        link = verify(token, key)
        if now >= link.expires_at:
            raise _ExpiredLinkError("This link has expired.")
        approval, about = await get_approval(connection, org_id, link.approval_id)
        votes = tuple(await votes_of(connection, org_id, link.approval_id))
        steps = tuple(await steps_of(connection, org_id, link.approval_id))
        agent = await find_agent(connection, org_id, approval.agent_id)
        user = await _person(connection, link)
    voter, why_not = _voter(link, user, mapped)
    if state_at(approval, now) is not ApprovalStatus.PENDING:
        voter, why_not = None, None
    elif voter is not None and any(vote.voter_id == voter.user_id for vote in votes):
        voter, why_not = None, "You have voted. More approvals are required."
    return Opened(
        approval,
        about,
        votes,
        steps,
        approval.agent_id if agent is None else agent.name,
        now,
        user is not None,
        voter,
        why_not,
    )


async def _person(connection: Connection, link: Link) -> User | None:
    if link.user_id is None:
        return None
    found = (await find_users(connection, link.org_id, [link.user_id])).get(link.user_id)
    return None if found is None or found.deactivated_at is not None else found


def _voter(link: Link, user: User | None, mapped: MappedVoter) -> tuple[Voter | None, str | None]:
    """The person's rights are those of now, not those of when the link was made."""
    if link.user_id is None:
        return (
            None,
            "This link was sent to a channel and only shows the request. Decide in the inbox.",
        )
    if user is None:
        return None, "The person that this link names is no longer a member."
    try:
        return mapped(user), None
    except ForbiddenError as error:
        return None, error.message


def view_page(
    opened: Opened, catalogue: CatalogueIndex, *, message: str | None = None, typed: str = "", status: int = 200
) -> Response:
    approval = opened.approval
    state = state_at(approval, opened.now)
    voter = opened.voter
    is_stated = is_risk_stated(Verdict.REQUIRE_APPROVAL, approval.risk_level, is_named=opened.about.states_risk)
    entries = history(approval, opened.votes, opened.now, opened.steps)
    context = {
        "status": state.value,
        "heading": _HEADINGS[state],
        "summary": _summary(opened, catalogue),
        "message": message,
        "risk": approval.risk_level if is_stated else None,
        "reason": approval.reason,
        "asked": approval.created_at,
        "expires": approval.expires_at,
        "needed": approval.required_approvals,
        "given": approval.current_approvals,
        "approval_id": approval.approval_id,
        "lines": _lines(opened.about) if opened.is_personal else [],
        "steps": [_step(one.verb, one.at, one.email or one.by, one.reason) for one in entries[1:]],
        "person": None if voter is None else voter.email or voter.name or voter.user_id,
        "why_not": opened.why_not,
        "typed": typed,
    }
    return page("link.html", context, status=status)


def no_link_page(error: HeadgateError) -> Response:
    """Whatever keeps a link from being shown, said to a person."""
    heading, status = "Unknown link", error.http_status
    message = "This server did not create the link, or the approval request no longer exists."
    if isinstance(error, _ExpiredLinkError):
        heading, status = "This link has expired", 410
        message = "Links are valid for a short time. Open the inbox, or run: headgate approvals list"
    elif error.code is ErrorCode.SERVICE_UNAVAILABLE:
        heading, message = (
            "Temporarily unavailable",
            "A part of Headgate is unreachable. Nothing was decided. Try again.",
        )
    elif error.code is not ErrorCode.NOT_FOUND:
        heading, message = "Nothing was decided", error.message
    return page("no_link.html", {"heading": heading, "message": message}, status=status)


def _summary(opened: Opened, catalogue: CatalogueIndex) -> str:
    """The sentence of ``headgate approvals show``; to whoever reads a channel without what the call says."""
    about, edit = opened.about, opened.approval.edit
    params = about.params if edit is None else edit.params
    return summary(
        agent=opened.agent_name,
        tool=about.tool,
        operation=about.operation,
        params=params if opened.is_personal else {},
        http=about.http if opened.is_personal else for_a_channel(about.http),
        descriptions=operation_descriptions(catalogue),
    )


def _lines(about: HeldAction) -> list[str]:
    """The masked params line by line: line ends of their own are escaped by JSON, and stay so."""
    return json.dumps(about.params, indent=2, ensure_ascii=False).split("\n")


def _step(verb: HistoryVerb, at: datetime, who: str | None, reason: str | None) -> _ShownStep:
    text = _STEPS.get(verb, verb.value)
    if who is not None and verb in (HistoryVerb.APPROVED, HistoryVerb.DENIED):
        text += f" {who}" + (f": {reason}" if reason else "")
    return _ShownStep(at, text)
