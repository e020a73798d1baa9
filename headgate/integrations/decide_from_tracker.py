"""Decides by a ticket's move, as the Headgate user linked to the platform's account: rights and the vote are the
user's.

An unlinked account decides nothing, and a comment in the ticket says so (semantics.md, "Tenancy and roles"). A repeated
webhook counts once. A move by Headgate itself returns as a webhook for an approval that has ended.
"""

from collections.abc import Mapping
from typing import Final

import structlog
from msgspec import Struct

from headgate.approvals.decide import DecideApproval
from headgate.approvals.model import REASON_MAX_CHARACTERS, ApprovalStatus, VoteDecision
from headgate.approvals.store import get_approval
from headgate.approvals.vote_store import votes_of
from headgate.approvals.voting import Outcome, Voter
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.integrations.adapters import tracker_of, transition_of
from headgate.integrations.inbound import IGNORED, REPEATED, Connected, connected_to
from headgate.integrations.model import Integration, Item, Receipt, ReceiptOutcome, Transition
from headgate.integrations.platform_api import PlatformError
from headgate.integrations.relay import put_delivery
from headgate.integrations.service import new_delivery
from headgate.integrations.store import find_item_by_external, has_receipt, insert_receipt
from headgate.integrations.ticket_text import refuse_edited
from headgate.integrations.tracker import Tracker
from headgate.integrations.tracker_settings import TrackerSettings
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, ForbiddenError, HeadgateError, NotFoundError, UnavailableError
from headgate.kernel.ids import IdPrefix, parse_id
from headgate.kernel.visible_text import visible
from headgate.organizations.change import OrganizationChange
from headgate.organizations.model import User
from headgate.organizations.store import find_users, find_users_by_email
from headgate.outgoing.client import OutgoingClient
from headgate.vault.service import Vault

_log = structlog.get_logger(__name__)

_NAMES: Final = {Integration.JIRA: "Jira", Integration.LINEAR: "Linear", Integration.SERVICENOW: "ServiceNow"}
_ENDED: Final = {VoteDecision.APPROVE: ApprovalStatus.APPROVED, VoteDecision.DENY: ApprovalStatus.DENIED}


class _RepeatedError(Exception):
    """A parallel request with the same delivery was recorded first; its vote counts."""


class DecideFromTracker(Struct, frozen=True):
    """The use case behind the trackers' webhooks."""

    database: Database
    vault: Vault
    client: OutgoingClient
    clock: Clock
    decide_approval: DecideApproval

    async def receive(
        self, integration: Integration, connection_id: str, headers: Mapping[str, str], body: bytes
    ) -> str:
        """Returns the outcome in one word. Raises NotFoundError, UnauthorizedError, ValidationError; UnavailableError
        if the platform should send the webhook again."""
        connected = await connected_to(self.database, self.vault, integration, connection_id)
        settings = connected.settings
        if not isinstance(settings, TrackerSettings):
            raise NotFoundError("no such connection")
        transition = transition_of(settings, headers, body, connected.secrets, self.clock())
        decision = None if transition is None else settings.states.decision(transition.status)
        if transition is None or decision is None:
            return IGNORED
        async with self.database.transaction(connected.org_id) as connection:
            if await has_receipt(connection, connected.org_id, connected.connection_id, transition.receipt_id):
                return REPEATED
            item = await find_item_by_external(connection, connected.org_id, integration, transition.external_id)
            if item is None:
                await self._require_unknown(connection, connected, transition)
                return IGNORED
            if await self._is_so_already(connection, connected, item, decision):
                await insert_receipt(connection, connected.org_id, self._receipt(connected, transition, item, None))
                return ReceiptOutcome.NO_CHANGE
        try:
            user = await self._user(connected, settings, transition.account)
            if decision is VoteDecision.APPROVE:
                await refuse_edited(self._tracker(connected), item)
            await self._vote(connected, user, transition, item, decision)
        except _RepeatedError:
            return REPEATED
        except UnavailableError:
            raise
        except HeadgateError as error:
            return await self._refuse(connected, transition, item, decision, error)
        except PlatformError as error:
            raise UnavailableError(f"{integration} did not return the user or the ticket: {error}") from error
        return ReceiptOutcome.DECIDED

    async def _vote(
        self, connected: Connected, user: User, transition: Transition, item: Item, decision: VoteDecision
    ) -> None:
        voter = self.decide_approval.mapped_voter(user)

        async def remember(change: OrganizationChange, outcome: Outcome, voter: Voter) -> None:
            receipt = self._receipt(connected, transition, item, ReceiptOutcome.DECIDED)
            if not await insert_receipt(change.connection, change.org_id, receipt):
                raise _RepeatedError
            data = _data(connected, transition, item, decision) | {"user_id": voter.voter_id}
            event = Event(
                EventType.INTEGRATION_DECIDED, self.clock(), SYSTEM, data,
                action_id=outcome.approval.action_id, agent_id=outcome.approval.agent_id,
            )  # fmt: skip
            await append(change.connection, change.org_id, [event])

        await self.decide_approval.decide(
            connected.org_id, item.approval_id, voter, decision, _reason(connected, transition, item, decision),
            seen_digest=item.digest or None, then=remember,
        )  # fmt: skip

    async def _user(self, connected: Connected, settings: TrackerSettings, account: str) -> User:
        """Finds the user by an explicit link, else by the address that the platform has verified. Raises
        ForbiddenError, PlatformError."""
        users: list[User] = []
        if account in settings.people:
            async with self.database.transaction(connected.org_id) as connection:
                users = list((await find_users(connection, connected.org_id, [settings.people[account]])).values())
        elif settings.match_by_email:
            email = await self._tracker(connected).verified_email(account)
            if email is not None:
                async with self.database.transaction(connected.org_id) as connection:
                    users = await find_users_by_email(connection, connected.org_id, email)
        if len(users) != 1:
            raise ForbiddenError("This account is not linked to a Headgate user. An administrator can link it.")
        return users[0]

    def _tracker(self, connected: Connected) -> Tracker:
        return tracker_of(connected.settings, connected.secrets, self.client, connected.rules, self.clock)

    async def _is_so_already(
        self, connection: Connection, connected: Connected, item: Item, decision: VoteDecision
    ) -> bool:
        """The webhook mirrors Headgate's own move, or a person moved the ticket to the state it should have anyway."""
        approval, _ = await get_approval(connection, connected.org_id, item.approval_id)
        return approval.status is _ENDED[decision]

    async def _require_unknown(self, connection: Connection, connected: Connected, transition: Transition) -> None:
        """Whether the ticket names an approval of ours whose opening is not recorded yet. Raises UnavailableError."""
        if transition.hint is None:
            return
        try:
            await get_approval(connection, connected.org_id, parse_id(IdPrefix.APPROVAL, transition.hint))
        except HeadgateError:
            return
        raise UnavailableError("this ticket is not known yet: send it again", retry_after_seconds=60)

    async def _refuse(
        self, connected: Connected, transition: Transition, item: Item, decision: VoteDecision, error: HeadgateError
    ) -> str:
        """Comments in the ticket that nothing was decided, unless the same decision was just made or this very
        delivery was answered meanwhile."""
        org_id = connected.org_id
        async with self.database.transaction(org_id) as connection:
            approval, _ = await get_approval(connection, org_id, item.approval_id)
            said_before = isinstance(error, ConflictError) and (
                approval.status is _ENDED[decision] or await _voted_so(connection, org_id, item, error, decision)
            )
            outcome = None if said_before else ReceiptOutcome.REFUSED
            receipt = self._receipt(connected, transition, item, outcome, error.message)
            if not await insert_receipt(connection, org_id, receipt):
                return REPEATED
            if said_before:
                return ReceiptOutcome.NO_CHANGE
            now = self.clock()
            data = _data(connected, transition, item, decision) | {"code": error.code.value, "message": error.message}
            await append(
                connection,
                org_id,
                [
                    Event(
                        EventType.INTEGRATION_REFUSED, now, SYSTEM, data,
                        action_id=approval.action_id, agent_id=approval.agent_id,
                    )
                ],
            )  # fmt: skip
            said = f"{visible(transition.account_name)} moved this to {visible(transition.status)}. {error.message}"
            payload: JsonObject = {
                "event": EventType.INTEGRATION_REFUSED.value, "approval_id": item.approval_id, "message": said,
            }  # fmt: skip
            delivery = new_delivery(
                Change(org_id, SYSTEM, None, now), connected.integration, EventType.INTEGRATION_REFUSED.value, payload,
                event_id=None, subject_id=item.approval_id,
            )  # fmt: skip
            await put_delivery(connection, connected.integration, delivery)
        _log.info("tracker_refused", org_id=org_id, integration=connected.integration, code=error.code)
        return ReceiptOutcome.REFUSED

    def _receipt(
        self,
        connected: Connected,
        transition: Transition,
        item: Item,
        outcome: ReceiptOutcome | None,
        message: str | None = None,
    ) -> Receipt:
        return Receipt(
            connected.connection_id,
            transition.receipt_id,
            self.clock(),
            outcome or ReceiptOutcome.NO_CHANGE,
            item.approval_id,
            transition.account,
            message,
        )


async def _voted_so(
    connection: Connection, org_id: str, item: Item, error: HeadgateError, decision: VoteDecision
) -> bool:
    """Whether the conflict is this very vote, cast before."""
    voted = (error.details or {}).get("voted")
    return voted == decision.value and bool(await votes_of(connection, org_id, item.approval_id))


def _reason(connected: Connected, transition: Transition, item: Item, decision: VoteDecision) -> str | None:
    """The reason that a denial requires: the comment of the transition, else the transition's name."""
    if transition.comment is not None:
        return visible(transition.comment, kept="\n")[:REASON_MAX_CHARACTERS]
    if decision is VoteDecision.APPROVE:
        return None
    key = item.opened.external_key
    return f"moved to {visible(transition.status)} in {_NAMES[connected.integration]} {key}"[:REASON_MAX_CHARACTERS]


def _data(connected: Connected, transition: Transition, item: Item, decision: VoteDecision) -> JsonObject:
    return {
        "account": transition.account,
        "approval_id": item.approval_id,
        "integration": connected.integration.value,
        "item": item.opened.external_key,
        "status": transition.status,
        "wanted": decision.value,
    }
