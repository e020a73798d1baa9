"""Delivers a message to a channel, through Apprise's process or Slack's API, and builds the digest of a flood."""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from headgate.actions.masking import default_masker
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Connection, Database
from headgate.deliveries.deliver import Send
from headgate.deliveries.model import EXCERPT_MAX_CHARACTERS, Delivery, DeliveryStatus, SendResult, TargetKind
from headgate.deliveries.store import get_delivery, insert_delivery
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.kernel.clock import Clock, rfc3339
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.notifications.apprise_pool import ApprisePool
from headgate.notifications.invitation_mail import INVITED, addressed_to, invitation_message
from headgate.notifications.links import Link, sign
from headgate.notifications.mail_invitation import forget_address, waiting_address
from headgate.notifications.message import Message, message_of
from headgate.notifications.model import Channel, ChannelKind
from headgate.notifications.recipient import users_behind
from headgate.notifications.service import DIGEST, NOTIFY, link_key, load_secrets, load_settings, new_delivery
from headgate.notifications.slack import blocks
from headgate.notifications.slack_api import SlackApi, SlackError
from headgate.notifications.store import collect_into, end_collected
from headgate.organizations.destinations import Allowlist, DestinationRules
from headgate.organizations.invitations import InvitationStatus, find_invitation
from headgate.organizations.store import find_organization
from headgate.organizations.stored_rules import destination_rules
from headgate.outgoing.clear_text import rules_for
from headgate.outgoing.client import OutgoingClient
from headgate.queue.model import JobReference
from headgate.queue.store import defer
from headgate.vault.service import Vault

_MOST_IN_A_DIGEST: Final = 500
_ASKING: Final = frozenset({"approval.requested", "approval.reminded", "approval.escalated"})
_REFUSED_FOR_GOOD: Final = frozenset(
    {"channel_not_found", "not_in_channel", "is_archived", "invalid_auth", "account_inactive", "token_revoked",
     "missing_scope", "not_authed", "message_not_found", "cant_update_message"}
)  # fmt: skip
"""Slack's error codes that a retry does not fix."""


class ChannelTarget(Struct, frozen=True):
    """The channel's part of ``workflows.deliver``. ``public_api_url``: the base of links."""

    client: OutgoingClient
    apprise: ApprisePool
    vault: Vault
    clock: Clock
    public_api_url: str

    async def prepare(self, connection: Connection, delivery: Delivery) -> Send | None:
        """Returns None if the channel was deleted or disabled. Raises UnavailableError."""
        org_id = delivery.org_id
        settings = await load_settings(connection, org_id)
        channel = settings.channels.get(delivery.target_id)
        if channel is None or not (channel.enabled or delivery.event == "notification.test"):
            return None
        payload = _document(delivery.payload)
        secrets = await load_secrets(connection, org_id, channel, self.vault)
        if delivery.event == INVITED:
            return await self._invitation(connection, delivery, secrets)
        link = await self._link(connection, delivery, channel, timedelta(seconds=settings.link_seconds))
        message = message_of(payload, link)
        rules = await destination_rules(connection, org_id)
        if channel.kind is ChannelKind.APPRISE:

            async def send_by_apprise() -> SendResult:
                return await self._by_apprise(secrets, message, rules)

            return send_by_apprise
        updates = payload.get("updates")
        earlier = None
        if isinstance(updates, str):
            earlier = (await get_delivery(connection, org_id, TargetKind.CHANNEL, updates)).reference
            if earlier is None:
                return None  # The message never arrived, so there is nothing to update.

        async def send_by_slack() -> SendResult:
            return await self._by_slack(channel, secrets, rules, message, payload, earlier)

        return send_by_slack

    async def conclude(
        self, connection: Connection, delivery: Delivery, result: SendResult, status: DeliveryStatus | None
    ) -> None:
        """The deliveries in a digest end with the digest."""
        if delivery.event == "digest" and status is not None:
            await end_collected(connection, delivery.org_id, delivery.delivery_id, status.value, self.clock())
        if delivery.event == INVITED and status is DeliveryStatus.DELIVERED and delivery.subject_id is not None:
            await forget_address(connection, delivery.org_id, delivery.subject_id, self.vault)

    async def _invitation(self, connection: Connection, delivery: Delivery, secrets: dict[str, Secret]) -> Send | None:
        """Mails only the invited person, and only while the invitation is open."""
        org_id, invitation_id, url = delivery.org_id, delivery.subject_id or "", secrets.get("url")
        invitation = await find_invitation(connection, org_id, invitation_id, lock=False)
        address = await waiting_address(connection, org_id, invitation_id, self.vault)
        if invitation is None or invitation.status(self.clock()) is not InvitationStatus.OPEN or address is None:
            return None
        organization = await find_organization(connection, org_id)
        message = invitation_message("" if organization is None else organization.name, address)
        rules = await destination_rules(connection, org_id)
        theirs = {} if url is None else {"url": addressed_to(url, invitation.email)}

        async def send() -> SendResult:
            return await self._by_apprise(theirs, message, rules)

        return send

    async def _link(
        self, connection: Connection, delivery: Delivery, channel: Channel, lifetime: timedelta
    ) -> str | None:
        if delivery.event not in _ASKING or delivery.subject_id is None:
            return None
        key = await link_key(connection, delivery.org_id, self.vault)
        if key is None:
            return None
        user_id = None
        if channel.recipient is not None:
            user_id = (await users_behind(connection, delivery.org_id, [channel.recipient])).get(channel.recipient)
        link = Link(delivery.org_id, delivery.subject_id, channel.name, user_id, self.clock() + lifetime)
        return f"{self.public_api_url}/links/{sign(link, key)}"

    async def _by_apprise(self, secrets: dict[str, Secret], message: Message, rules: Allowlist) -> SendResult:
        url = secrets.get("url")
        if url is None:
            return SendResult(False, failure="no_secret", message="the channel's address is not in the vault")
        started = self.clock()
        answer = await self.apprise.send(url, message.title, message.text, rules)
        said = default_masker().mask_text(answer.said)[:EXCERPT_MAX_CHARACTERS] or None
        blocked = ", ".join(answer.blocked)[:500]
        return SendResult(
            answer.succeeded,
            failure=answer.failure,
            message=f"blocked: {blocked}: the organization's allowlist does not name it" if blocked else None,
            excerpt=said,
            latency_ms=_milliseconds(started, self.clock()),
        )

    async def _by_slack(
        self,
        channel: Channel,
        secrets: dict[str, Secret],
        rules: DestinationRules,
        message: Message,
        payload: JsonObject,
        earlier: str | None,
    ) -> SendResult:
        token = secrets.get("token")
        if token is None or channel.api_url is None:
            return SendResult(False, failure="no_secret", message="the channel's token is not in the vault")
        approval_id = payload.get("approval_id")
        can_decide = payload.get("event") in _ASKING and isinstance(approval_id, str)
        arguments: JsonObject = {
            "channel": channel.place,
            "text": message.title,
            "blocks": blocks(message, str(approval_id) if can_decide else None),
        }
        started = self.clock()
        api = SlackApi(self.client, channel.api_url, token, rules_for(channel.api_url, rules))
        try:
            if earlier is not None:
                place, _, timestamp = earlier.partition(" ")
                answer = await api.call("chat.update", arguments | {"channel": place, "ts": timestamp})
            else:
                answer = await api.call("chat.postMessage", arguments)
        except SlackError as error:
            return SendResult(
                False,
                status_code=error.status,
                failure=error.failure,
                latency_ms=_milliseconds(started, self.clock()),
                retry_after_seconds=error.retry_after_seconds,
                is_final=error.failure in _REFUSED_FOR_GOOD,
            )
        reference = f"{answer.get('channel')} {answer.get('ts')}"
        return SendResult(True, status_code=200, latency_ms=_milliseconds(started, self.clock()), reference=reference)


class SendDigest(Struct, frozen=True):
    """The job at the end of a flood's window: one message with the collected ones."""

    database: Database
    clock: Clock

    async def run(self, job: JobReference) -> None:
        channel, now = job.subject_id, self.clock()
        async with self.database.transaction(job.org_id) as connection:
            digest_id = new_id(IdPrefix.DELIVERY)
            collected = await collect_into(connection, job.org_id, channel, digest_id, _MOST_IN_A_DIGEST)
            if not collected:
                return
            payload = {
                "event": "digest",
                "timestamp": rfc3339(now),
                "items": list[JsonValue](_document(one) for one in collected),
            }
            made = new_delivery(
                Change(job.org_id, SYSTEM, None, now), channel, "digest", canonical_bytes(payload).decode(),
                delivery_id=digest_id,
            )  # fmt: skip
            await insert_delivery(connection, made)
            await defer(connection, NOTIFY, job.org_id, digest_id)
            if len(collected) == _MOST_IN_A_DIGEST:
                await defer(connection, DIGEST, job.org_id, channel)


def _document(text: str) -> JsonObject:
    document = parse_strict(text.encode())
    return document if isinstance(document, dict) else {}


def _milliseconds(start: datetime, end: datetime) -> float:
    return (end - start).total_seconds() * 1000
