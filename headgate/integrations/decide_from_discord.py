"""Decides by a button in Discord. An administrator has linked the account to a user; rights and the vote are the
user's."""

from collections.abc import Mapping

from msgspec import Struct

from headgate.approvals.decide import DecideApproval
from headgate.approvals.model import VoteDecision
from headgate.approvals.voting import Outcome, Voter
from headgate.audit.model import SYSTEM, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Database
from headgate.integrations.discord.interaction import Interaction, Press, ask_for_reason, interaction_of, pong, said
from headgate.integrations.discord.settings import DiscordSettings
from headgate.integrations.inbound import Connected, connected_to
from headgate.integrations.model import Integration, Item, Receipt, ReceiptOutcome
from headgate.integrations.store import find_item, insert_receipt
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, ForbiddenError, HeadgateError, NotFoundError
from headgate.kernel.ids import IdPrefix, parse_id
from headgate.kernel.visible_text import visible
from headgate.organizations.change import OrganizationChange
from headgate.organizations.store import find_users
from headgate.vault.service import Vault


class DecideFromDiscord(Struct, frozen=True):
    """The use case behind the application's interactions endpoint."""

    database: Database
    vault: Vault
    clock: Clock
    decide_approval: DecideApproval

    async def interact(self, connection_id: str, headers: Mapping[str, str], body: bytes) -> JsonObject:
        """Returns Discord's answer. Raises NotFoundError, UnauthorizedError, ValidationError."""
        connected = await connected_to(self.database, self.vault, Integration.DISCORD, connection_id)
        settings = connected.settings
        if not isinstance(settings, DiscordSettings):
            raise NotFoundError("no such connection")
        interaction = interaction_of(headers, body, settings.public_key, self.clock())
        match interaction.press:
            case Press.PING:
                return pong()
            case Press.OTHER:
                return said("Unknown button.")
            case Press.DENY:
                return ask_for_reason(interaction.approval_id)
            case Press.APPROVE | Press.SUBMIT_DENIAL:
                return await self._decide(connected, settings, interaction)

    async def _decide(self, connected: Connected, settings: DiscordSettings, interaction: Interaction) -> JsonObject:
        try:
            outcome = await self._vote(connected, settings, interaction)
        except HeadgateError as error:
            return said(f"Nothing was decided. {visible(error.message)}")
        return said(f"The approval is {outcome.approval.status}.")

    async def _vote(self, connected: Connected, settings: DiscordSettings, interaction: Interaction) -> Outcome:
        org_id, approval_id = connected.org_id, parse_id(IdPrefix.APPROVAL, interaction.approval_id)
        async with self.database.transaction(org_id) as connection:
            item = await find_item(connection, org_id, Integration.DISCORD, approval_id)
            linked = settings.people.get(interaction.account)
            users = {} if linked is None else await find_users(connection, org_id, [linked])
        if item is None:
            raise NotFoundError("This approval request was not sent to this channel.")
        user = users.get(linked or "")
        if user is None:
            raise ForbiddenError("This account is not linked to a Headgate user. An administrator can link it.")
        voter = self.decide_approval.mapped_voter(user)
        decision = VoteDecision.APPROVE if interaction.press is Press.APPROVE else VoteDecision.DENY

        async def remember(change: OrganizationChange, outcome: Outcome, voter: Voter) -> None:
            receipt = Receipt(
                connected.connection_id, interaction.receipt_id, self.clock(), ReceiptOutcome.DECIDED, approval_id,
                interaction.account,
            )  # fmt: skip
            if not await insert_receipt(change.connection, org_id, receipt):
                raise ConflictError("this button was pressed before")
            await append(change.connection, org_id, [self._event(interaction, item, decision, outcome, voter)])

        return await self.decide_approval.decide(
            org_id, approval_id, voter, decision, interaction.reason, seen_digest=item.digest or None, then=remember
        )

    def _event(
        self, interaction: Interaction, item: Item, decision: VoteDecision, outcome: Outcome, voter: Voter
    ) -> Event:
        data: JsonObject = {
            "account": interaction.account,
            "approval_id": item.approval_id,
            "integration": Integration.DISCORD.value,
            "item": item.opened.external_key,
            "user_id": voter.voter_id,
            "wanted": decision.value,
        }
        approval = outcome.approval
        return Event(
            EventType.INTEGRATION_DECIDED, self.clock(), SYSTEM, data,
            action_id=approval.action_id, agent_id=approval.agent_id,
        )  # fmt: skip
