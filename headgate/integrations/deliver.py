"""Delivers one item or notice to a tracker, a chat or a check: the target's part of ``workflows.deliver``.

A worker may be killed after the platform's answer and before it is recorded. The next attempt therefore searches for
the earlier one by its mark, and waits where the platform's search may lag.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import structlog
from msgspec import Struct
from msgspec.structs import replace

from headgate.db.database import Connection
from headgate.deliveries.deliver import Send
from headgate.deliveries.model import INTERRUPTED, Delivery, DeliveryStatus, SendResult
from headgate.deliveries.store import attempts_of
from headgate.integrations.adapters import SETTLING_SECONDS, tracker_of
from headgate.integrations.model import Integration, Item, Opened
from headgate.integrations.platform_api import PlatformError
from headgate.integrations.relay import REQUESTED
from headgate.integrations.service import load_secrets, load_stored
from headgate.integrations.store import find_item, insert_item, standings_of
from headgate.integrations.ticket_text import TEXT_DIGEST, digest_as_written, is_editable, text_digest
from headgate.integrations.tracker import Tracker
from headgate.integrations.wording import notice_of, request_of
from headgate.kernel.canonical_json import JsonObject, canonical_bytes, parse_strict, sha256_bytes
from headgate.kernel.clock import Clock
from headgate.notifications.links import Link, sign
from headgate.notifications.model import LINK_SECONDS
from headgate.notifications.service import link_key
from headgate.organizations.stored_rules import destination_rules
from headgate.outgoing.client import OutgoingClient
from headgate.vault.service import Vault

_log = structlog.get_logger(__name__)

_UNSURE: Final = frozenset({INTERRUPTED, "deadline", "broken", "unexpected_answer", None})
"""Failures that leave unknown whether the platform carried out the request."""
_SERVER_ERROR: Final = 500


class IntegrationTarget(Struct, frozen=True):
    """``public_api_url``: the base of links."""

    client: OutgoingClient
    vault: Vault
    clock: Clock
    public_api_url: str

    async def prepare(self, connection: Connection, delivery: Delivery) -> Send | None:
        """Returns None if the integration is disabled. Raises UnavailableError."""
        org_id, integration = delivery.org_id, Integration(delivery.target_id)
        stored = await load_stored(connection, org_id, integration, self.vault)
        if stored is None or not stored.settings.enabled or delivery.subject_id is None:
            return None
        secrets = await load_secrets(connection, org_id, integration, self.vault)
        rules = await destination_rules(connection, org_id)
        item = await find_item(connection, org_id, integration, delivery.subject_id)
        if item is not None and item.opened.report_key is not None:
            standings = await standings_of(connection, org_id, integration, item.opened.report_key)
            item = replace(item, standings=standings)
        payload = _document(delivery.payload)
        link = await self._link(connection, delivery) if delivery.event == REQUESTED else None
        unsure_since = await _unsure_since(connection, delivery)
        settings = stored.settings
        sending = _Sending(
            integration, delivery, payload, item, link, unsure_since, self.clock,
            lambda: tracker_of(settings, secrets, self.client, rules, self.clock),
        )  # fmt: skip
        return sending.send

    async def conclude(
        self, connection: Connection, delivery: Delivery, result: SendResult, status: DeliveryStatus | None
    ) -> None:
        """Records the opened or recovered item with the attempt that reports it."""
        if not result.succeeded or result.reference is None or delivery.subject_id is None:
            return
        opened = _document(result.reference)
        detail, url = opened.get("detail"), opened.get("url")
        item = Item(
            delivery.subject_id,
            Opened(
                str(opened["id"]),
                str(opened["key"]),
                url if isinstance(url, str) else None,
                detail if isinstance(detail, dict) else {},
            ),
            _digest(_document(delivery.payload)),
        )
        if await insert_item(connection, delivery.org_id, Integration(delivery.target_id), item):
            _log.info("item_opened", org_id=delivery.org_id, integration=delivery.target_id, key=opened["key"])

    async def _link(self, connection: Connection, delivery: Delivery) -> str | None:
        """A read-only link: deciding people are known by their own accounts. The attempts within one hour use the same
        link, so that a recovered ticket can be recognized by its text."""
        key = await link_key(connection, delivery.org_id, self.vault)
        if key is None or delivery.subject_id is None:
            return None
        hours = (self.clock() - delivery.created_at) // timedelta(seconds=LINK_SECONDS)
        until = delivery.created_at + (hours + 2) * timedelta(seconds=LINK_SECONDS)
        link = Link(delivery.org_id, delivery.subject_id, f"integration:{delivery.target_id}", None, until)
        return f"{self.public_api_url}/links/{sign(link, key)}"


class _Sending(Struct, frozen=True):
    """Makes one attempt. ``unsure_since``: the start of an earlier attempt with an unknown outcome."""

    integration: Integration
    delivery: Delivery
    payload: JsonObject
    item: Item | None
    link: str | None
    unsure_since: datetime | None
    clock: Clock
    tracker: Callable[[], Tracker]

    async def send(self) -> SendResult:
        started = self.clock()
        attempt = self._open if self.delivery.event == REQUESTED else self._tell
        try:
            result = await attempt(self.tracker())
        except PlatformError as error:
            return SendResult(
                False,
                status_code=error.status,
                failure=error.failure,
                message=error.excerpt if error.status is None else None,
                excerpt=error.excerpt if error.status is not None else None,
                latency_ms=_milliseconds(started, self.clock()),
                retry_after_seconds=error.retry_after_seconds,
                is_final=error.is_final,
            )
        return result

    async def _open(self, tracker: Tracker) -> SendResult:
        if self.item is not None:
            return SendResult(True, message="it was opened before")
        approval_id, request = self.delivery.subject_id or "", request_of(self.payload, self.link)
        if self.delivery.attempts:
            found = await tracker.find(approval_id)
            if found is not None:
                digest = await digest_as_written(tracker, found.external_id, request)
                message = "it had been opened before"
                if digest is None and is_editable(tracker):
                    message += ", and nothing is approved by what it says now"
                return SendResult(True, message=message, reference=_reference(_with_digest(found, digest)))
            wait = self._settling()
            if wait > 0:
                return SendResult(False, failure="settling", retry_after_seconds=wait)
        opened = await _with_text(tracker, await tracker.open(request))
        return SendResult(True, reference=_reference(opened))

    async def _tell(self, tracker: Tracker) -> SendResult:
        item, found = self.item, None
        if item is None:
            found = await tracker.find(self.delivery.subject_id or "")
            if found is None:
                return SendResult(True, message="no item was opened for this approval: nothing to update")
            item = Item(self.delivery.subject_id or "", found, b"")
        notice = notice_of(self.payload, self.delivery.delivery_id)
        await tracker.tell(item, notice, again=self.delivery.attempts > 0)
        return SendResult(True, reference=None if found is None else _reference(found))

    def _settling(self) -> float:
        if self.unsure_since is None:
            return 0.0
        passed = (self.clock() - self.unsure_since).total_seconds()
        return SETTLING_SECONDS.get(self.integration, 0.0) - passed


async def _with_text(tracker: Tracker, opened: Opened) -> Opened:
    """Opens the item and returns it with its text, to compare when someone decides by it. Raises PlatformError: the
    item may exist nevertheless."""
    try:
        digest = await text_digest(tracker, opened.external_id)
    except PlatformError as error:
        raise PlatformError(
            "broken",
            excerpt=f"The ticket was created, then this failed: {error}",
            retry_after_seconds=error.retry_after_seconds,
        ) from error
    return _with_digest(opened, digest)


def _with_digest(opened: Opened, digest: str | None) -> Opened:
    return opened if digest is None else replace(opened, detail={**opened.detail, TEXT_DIGEST: digest})


async def _unsure_since(connection: Connection, delivery: Delivery) -> datetime | None:
    if not delivery.attempts:
        return None
    attempts = (await attempts_of(connection, delivery.org_id, [delivery.delivery_id])).get(delivery.delivery_id, [])
    unsure = [
        one.started_at
        for one in attempts
        if not one.succeeded and (one.failure in _UNSURE or (one.status_code or 0) >= _SERVER_ERROR)
    ]
    return max(unsure, default=None)


def _reference(opened: Opened) -> str:
    return canonical_bytes(
        {"detail": opened.detail, "id": opened.external_id, "key": opened.external_key, "url": opened.url}
    ).decode()


def _digest(payload: JsonObject) -> bytes:
    digest = payload.get("digest")
    return sha256_bytes(digest) if isinstance(digest, str) else b""


def _document(text: str) -> JsonObject:
    document = parse_strict(text.encode())
    return document if isinstance(document, dict) else {}


def _milliseconds(started: datetime, ended: datetime) -> float:
    return (ended - started).total_seconds() * 1000
