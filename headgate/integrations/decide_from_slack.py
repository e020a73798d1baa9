"""Decides by a button in Slack, as the Headgate user linked to the Slack account: rights and the vote are the user's.

An unlinked account decides nothing (semantics.md, "Tenancy and roles"). Slack waits three seconds for an answer, so the
private message to the person follows after the answer (https://docs.slack.dev/interactivity/handling-user-interaction).
"""

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

import structlog
from msgspec import Struct
from msgspec.structs import replace

from headgate.approvals.decide import DecideApproval
from headgate.approvals.model import VoteDecision
from headgate.db.database import Database
from headgate.integrations.inbound import connected_to
from headgate.integrations.model import Integration
from headgate.integrations.slack.settings import SlackSettings
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ForbiddenError, HeadgateError, NotFoundError, UnauthorizedError
from headgate.kernel.ids import IdPrefix, addressed_id, parse_id
from headgate.kernel.secrets import Secret
from headgate.kernel.visible_text import visible
from headgate.notifications.model import NOTHING_SET, Channel, ChannelKind, NotificationSettings
from headgate.notifications.service import load_secrets, load_settings
from headgate.notifications.slack import Interaction, Press, denial_view, parse_interaction, verify
from headgate.notifications.slack_api import SlackApi, SlackError
from headgate.notifications.store import connection_owner
from headgate.organizations.destinations import DestinationRules
from headgate.organizations.model import User
from headgate.organizations.store import find_users, find_users_by_email
from headgate.organizations.stored_rules import destination_rules
from headgate.outgoing.clear_text import rules_for
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.model import OutgoingError, OutgoingLimits, OutgoingRequest
from headgate.vault.service import Vault

_log = structlog.get_logger(__name__)

_SLACKS_PATIENCE_SECONDS: Final = 2.0
_NOT_ACTED_UPON: Final = frozenset({Press.OTHER})


class SlackReply(Struct, frozen=True):
    """``body`` answers Slack's request; await ``afterwards`` after sending it."""

    body: JsonObject | None = None
    afterwards: Callable[[], Awaitable[None]] | None = None


class _Connection(Struct, frozen=True):
    org_id: str
    settings: NotificationSettings
    channel: Channel
    secrets: dict[str, Secret]
    rules: DestinationRules


class DecideFromSlack(Struct, frozen=True):
    """The use case behind the interactivity endpoint."""

    database: Database
    vault: Vault
    client: OutgoingClient
    clock: Clock
    decide_approval: DecideApproval

    async def interact(
        self, connection_id: str, timestamp: str | None, signature: str | None, body: bytes
    ) -> SlackReply:
        """Raises NotFoundError (unknown connection), UnauthorizedError (not signed by Slack), ValidationError."""
        connected = await self._connected(connection_id)
        secret = connected.secrets.get("signing_secret")
        if secret is None:
            raise UnauthorizedError("the signing secret of this connection is not set")
        verify(secret, timestamp, signature, body, self.clock())
        interaction = parse_interaction(body)
        if interaction.press in _NOT_ACTED_UPON:
            return SlackReply()
        try:
            if interaction.press is Press.DENY:
                await self._ask_for_reason(connected, interaction)
                return SlackReply()
            await self._vote(connected, interaction)
        except HeadgateError as error:
            return self._refused(connected, interaction, error.message)
        except SlackError as error:
            _log.warning("slack_not_asked", org_id=connected.org_id, failure=error.failure)
            return self._refused(connected, interaction, f"Slack did not help ({error.failure}): nothing was decided.")
        return SlackReply()

    async def _connected(self, connection_id: str) -> _Connection:
        async with self.database.across_organizations() as connection:
            owner = await connection_owner(connection, addressed_id(IdPrefix.CONNECTION, connection_id))
        if owner is None:
            return await self._integrated(connection_id)
        org_id, name = owner
        async with self.database.transaction(org_id) as connection:
            settings = await load_settings(connection, org_id)
            channel = settings.channels.get(name)
            if channel is None or not channel.enabled or channel.connection_id != connection_id:
                raise NotFoundError("no such connection")
            secrets = await load_secrets(connection, org_id, channel, self.vault)
            rules = await destination_rules(connection, org_id)
        return _Connection(org_id, settings, channel, secrets, rules)

    async def _integrated(self, connection_id: str) -> _Connection:
        """Presents the app of /admin/settings/slack as a channel of that name. Raises NotFoundError."""
        found = await connected_to(self.database, self.vault, Integration.SLACK, connection_id)
        settings = found.settings
        if not isinstance(settings, SlackSettings):
            raise NotFoundError("no such connection")
        channel = Channel(
            "slack", ChannelKind.SLACK, True, place=settings.channel, api_url=settings.base_url,
            connection_id=found.connection_id,
        )  # fmt: skip
        people = {f"slack:{account}": user for account, user in settings.people.items()}
        as_channel = replace(NOTHING_SET, channels={channel.name: channel}, people=people)
        return _Connection(found.org_id, as_channel, channel, found.secrets, found.rules)

    async def _vote(self, connected: _Connection, interaction: Interaction) -> None:
        approval_id = parse_id(IdPrefix.APPROVAL, interaction.approval_id or "")
        user = await self._user(connected, interaction.user)
        voter = self.decide_approval.mapped_voter(user)
        decision = VoteDecision.APPROVE if interaction.press is Press.APPROVE else VoteDecision.DENY
        await self.decide_approval.decide(connected.org_id, approval_id, voter, decision, interaction.reason)

    async def _user(self, connected: _Connection, account: str) -> User:
        """Finds the user by an explicit link, else by the address that Slack has verified. Raises ForbiddenError,
        SlackError."""
        linked = connected.settings.people.get(f"slack:{account}")
        if linked is not None:
            async with self.database.transaction(connected.org_id) as connection:
                found = await find_users(connection, connected.org_id, [linked])
            users = list(found.values())
        else:
            email = await self._api(connected).verified_email(account)
            users = []
            if email is not None:
                async with self.database.transaction(connected.org_id) as connection:
                    users = await find_users_by_email(connection, connected.org_id, email)
        if len(users) != 1:
            raise ForbiddenError("Your account is not linked to a Headgate user. An administrator can link it.")
        return users[0]

    async def _ask_for_reason(self, connected: _Connection, interaction: Interaction) -> None:
        approval_id = parse_id(IdPrefix.APPROVAL, interaction.approval_id or "")
        view: JsonObject = {"trigger_id": interaction.trigger_id, "view": denial_view(approval_id)}
        await self._api(connected).call("views.open", view)

    def _api(self, connected: _Connection) -> SlackApi:
        token, api_url = connected.secrets.get("token"), connected.channel.api_url
        if token is None or api_url is None:
            raise SlackError("no_secret")
        rules = rules_for(api_url, connected.rules)
        return SlackApi(self.client, api_url, token, rules, deadline_seconds=_SLACKS_PATIENCE_SECONDS)

    def _refused(self, connected: _Connection, interaction: Interaction, message: str) -> SlackReply:
        if interaction.press is Press.SUBMIT_DENIAL:
            return SlackReply({"response_action": "errors", "errors": {"reason": visible(message)}})
        url = interaction.response_url
        if url is None or not _is_slacks(url, connected.channel):
            return SlackReply()
        said = canonical_bytes({"response_type": "ephemeral", "replace_original": False, "text": visible(message)})

        async def say() -> None:
            request = OutgoingRequest("POST", url, (("content-type", "application/json"),), said)
            try:
                await self.client.send(request, rules_for(url, connected.rules), OutgoingLimits(deadline_seconds=10.0))
            except OutgoingError as error:
                _log.warning("slack_not_answered", org_id=connected.org_id, failure=error.failure)

        return SlackReply(afterwards=say)


def _is_slacks(url: str, channel: Channel) -> bool:
    """Slack's own address, or the base address of the channel's calls."""
    try:
        parts, own = urlsplit(url), urlsplit(channel.api_url or "")
    except ValueError:
        return False
    host = parts.hostname or ""
    if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
        return True
    return parts.scheme == "https" and (host == "slack.com" or host.endswith(".slack.com"))
