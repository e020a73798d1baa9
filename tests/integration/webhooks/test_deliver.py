"""Delivering to receivers that answer, refuse, hang, redirect and flood; and what is left to be seen of it."""

import asyncio
import json
from datetime import timedelta

import pytest
from standardwebhooks.webhooks import Webhook

from headgate.audit.model import EventFilter
from headgate.audit.store import list_events
from headgate.deliveries.model import DeliveryStatus
from headgate.deliveries.turns import Turns
from headgate.journal.apply import apply_before_reading
from headgate.kernel.errors import ConflictError
from headgate.organizations.change import begin_change
from headgate.outgoing.model import OutgoingLimits
from headgate.queue.model import JobReference, RetryLater
from headgate.webhooks import deliver as deliver_webhook
from headgate.webhooks.model import WebhookEvent
from headgate.webhooks.service import (
    EndpointDraft,
    redeliver,
    remove_endpoint,
    rotate_secret,
    send_test,
    update_endpoint,
)
from headgate.webhooks.store import get_endpoint
from tests.integration.outgoing.receivers import Flood, answering, break_off, hang


def message_of(request: bytes) -> tuple[dict[str, str], bytes]:
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [line.decode().split(": ", 1) for line in head.split(b"\r\n")[1:]]
    return {name.lower(): value for name, value in lines}, body


@pytest.fixture
async def pending(told, organization, hold, world):
    """An endpoint whose receiver answers 200, and one delivery that waits for it."""
    receiver = await world.start(answering(200, b'{"seen":true,"api_key":"sk_live_51Hxxxxxxxxxxxxxxxxxxxxxxx"}'))
    endpoint, secret = await told.endpoint(receiver.port)
    await hold(organization)
    await told.relay()
    (delivery,) = await told.deliveries()
    return receiver, endpoint, secret, delivery


async def test_delivered_signed_and_visible(told, pending) -> None:
    receiver, _, secret, delivery = pending
    await told.run(delivery.delivery_id)
    headers, body = message_of(receiver.requests[0])
    assert Webhook(secret.reveal()).verify(body, headers) == json.loads(delivery.payload)
    assert (headers["webhook-id"], headers["content-type"]) == (delivery.delivery_id, "application/json")
    (done,) = await told.deliveries()
    (attempt,) = await told.attempts(delivery.delivery_id)
    assert (done.status, attempt.succeeded, attempt.status_code) == (DeliveryStatus.DELIVERED, True, 200)
    assert attempt.latency_ms is not None
    assert '"seen":true' in attempt.excerpt
    assert "sk_live_51H" not in attempt.excerpt
    await told.run(delivery.delivery_id)  # the queue may run a job twice
    assert len(receiver.requests) == 1


async def _fails(told, delivery) -> float:
    with pytest.raises(RetryLater) as later:
        await told.run(delivery.delivery_id)
    return later.value.after_seconds


@pytest.mark.parametrize(
    ("answer", "failure", "status"),
    [
        (answering(500, b"oops"), "status", 500),
        (answering(302, b"", "Location: http://127.0.0.1:1/"), "status", 302),
        (break_off, "broken", None),
        (hang, "deadline", None),
    ],
)
async def test_failures_are_seen_and_tried_again(told, pending, monkeypatch, answer, failure, status) -> None:
    monkeypatch.setattr(deliver_webhook, "_LIMITS", OutgoingLimits(deadline_seconds=0.3))
    receiver, _, _, delivery = pending
    receiver.answer = answer
    assert 2.5 <= await _fails(told, delivery) <= 5
    (waiting,) = await told.deliveries()
    (attempt,) = await told.attempts(delivery.delivery_id)
    assert (waiting.status, attempt.succeeded, attempt.failure, attempt.status_code) == (
        DeliveryStatus.PENDING, False, failure, status,
    )  # fmt: skip
    assert waiting.next_attempt_at is not None
    receiver.answer = answering()
    await told.run(delivery.delivery_id)
    assert [one.succeeded for one in await told.attempts(delivery.delivery_id)] == [False, True]
    ids = {message_of(request)[0]["webhook-id"] for request in receiver.requests}
    assert ids == {delivery.delivery_id}


async def test_a_gigabyte_is_cut_and_what_counts_is_the_status(told, pending) -> None:
    receiver, _, _, delivery = pending
    receiver.answer = flood = Flood(1 << 30)
    await told.run(delivery.delivery_id)
    (attempt,) = await told.attempts(delivery.delivery_id)
    assert attempt.succeeded
    assert len(attempt.excerpt) == 2000
    assert flood.sent < 32 << 20


async def test_a_receiver_may_say_when_to_come_back(told, pending) -> None:
    receiver, _, _, delivery = pending
    receiver.answer = answering(429, b"", "Retry-After: 120")
    assert await _fails(told, delivery) == pytest.approx(120, abs=1)


async def test_away_for_an_hour_then_delivered_away_for_a_day_then_parked(told, pending) -> None:
    receiver, _, _, delivery = pending
    receiver.answer = answering(503)
    for _ in range(4):
        told.clock.ahead += timedelta(minutes=15)
        await _fails(told, delivery)
    receiver.answer = answering()
    await told.run(delivery.delivery_id)
    async with begin_change(told.api, told.change()) as change:
        await redeliver(change, delivery.target_id, delivery.delivery_id)
    receiver.answer = answering(503)
    await _fails(told, delivery)
    told.clock.ahead += timedelta(hours=24)
    await told.run(delivery.delivery_id)
    (parked,) = await told.deliveries()
    assert (parked.status, len(await told.attempts(delivery.delivery_id))) == (DeliveryStatus.PARKED, 7)


async def test_without_an_allowlist_entry_nothing_private_is_reached(told, pending, superuser) -> None:
    receiver, _, _, delivery = pending
    superuser.execute("DELETE FROM settings WHERE org_id = %s", [told.org_id])
    await _fails(told, delivery)
    (attempt,) = await told.attempts(delivery.delivery_id)
    assert (attempt.failure, receiver.connections) == ("blocked", 0)


async def test_gone_disables_and_its_owner_is_told(told, pending) -> None:
    receiver, endpoint, _, delivery = pending
    receiver.answer = answering(410)
    await told.run(delivery.delivery_id)
    await apply_before_reading(told.api, told.org_id)
    async with told.api.transaction(told.org_id) as connection:
        disabled = await get_endpoint(connection, told.org_id, endpoint.endpoint_id)
        events = (await list_events(connection, told.org_id, EventFilter(event_type="webhook.disabled"))).events
    assert (disabled.enabled, disabled.disabled_reason) == (False, "it answered 410 Gone")
    assert events[0].data["owner"] == "usr_1"
    (parked,) = await told.deliveries()
    assert parked.status is DeliveryStatus.PARKED


async def test_nothing_is_sent_again_to_a_disabled_endpoint_but_tests(told, pending) -> None:
    """It would be cancelled when its turn comes, after it was told as pending."""
    receiver, endpoint, _, delivery = pending
    async with begin_change(told.api, told.change()) as change:
        test = await send_test(change, endpoint.endpoint_id)
    receiver.answer = answering(410)
    await told.run(test.delivery_id)
    async with begin_change(told.api, told.change()) as change:
        with pytest.raises(ConflictError, match="is disabled"):
            await redeliver(change, endpoint.endpoint_id, delivery.delivery_id)
        again = await redeliver(change, endpoint.endpoint_id, test.delivery_id)
    assert again.status is DeliveryStatus.PENDING
    assert {one.delivery_id: one.status for one in await told.deliveries()} == {
        delivery.delivery_id: DeliveryStatus.CANCELLED, test.delivery_id: DeliveryStatus.PENDING,
    }  # fmt: skip


async def test_days_of_nothing_but_failures_disable_and_one_success_forgives(told, pending) -> None:
    receiver, endpoint, _, delivery = pending

    async def attempt(days: float, status: int) -> bool:
        """Whether the endpoint is enabled after an attempt then that was answered so."""
        told.clock.ahead, receiver.answer = timedelta(days=days), answering(status)
        if days:
            async with begin_change(told.api, told.change()) as change:
                await redeliver(change, endpoint.endpoint_id, delivery.delivery_id)
        told.clock.ahead += timedelta(hours=24)  # the last attempt of that delivery
        await told.run(delivery.delivery_id)
        async with told.api.transaction(told.org_id) as connection:
            return (await get_endpoint(connection, told.org_id, endpoint.endpoint_id)).enabled

    assert await attempt(0, 500)
    assert await attempt(2, 500)
    assert await attempt(3.5, 200)
    assert await attempt(5, 500)
    assert not await attempt(8, 500)
    async with told.api.transaction(told.org_id) as connection:
        found = await get_endpoint(connection, told.org_id, endpoint.endpoint_id)
    assert found.disabled_reason is not None
    assert found.disabled_reason.startswith("every attempt since")


async def test_what_a_killed_worker_had_begun_stays_visible_and_is_sent_again(told, pending) -> None:
    receiver, _, _, delivery = pending
    receiver.answer = hang
    running = asyncio.ensure_future(told.run(delivery.delivery_id))
    while not receiver.requests:
        await asyncio.sleep(0.01)
    running.cancel()  # nothing of what follows in the worker happens
    await asyncio.gather(running, return_exceptions=True)
    receiver.answer = answering()
    await told.run(delivery.delivery_id)
    first, second = await told.attempts(delivery.delivery_id)
    assert (first.succeeded, first.failure) == (False, "interrupted")
    assert second.succeeded
    assert len(receiver.requests) == 2


async def test_rotation_signs_with_both_secrets_for_its_time(told, pending) -> None:
    receiver, endpoint, old, delivery = pending
    async with begin_change(told.api, told.change()) as change:
        _, new = await rotate_secret(change, endpoint.endpoint_id, timedelta(hours=1), told.vault)
    await told.run(delivery.delivery_id)
    headers, body = message_of(receiver.requests[0])
    for secret in (old, new):
        assert Webhook(secret.reveal()).verify(body, headers)
    told.clock.ahead = timedelta(hours=1)
    async with begin_change(told.api, told.change()) as change:
        await redeliver(change, endpoint.endpoint_id, delivery.delivery_id)
    await told.run(delivery.delivery_id)
    headers, _ = message_of(receiver.requests[1])
    assert len(headers["webhook-signature"].split(" ")) == 1


async def test_a_deleted_or_disabled_endpoint_is_sent_nothing(told, pending) -> None:
    receiver, endpoint, _, delivery = pending
    async with begin_change(told.api, told.change()) as change:
        draft = EndpointDraft(endpoint.url, None, (WebhookEvent.APPROVAL_CREATED,), enabled=False)
        await update_endpoint(change, endpoint.endpoint_id, draft)
    await told.run(delivery.delivery_id)
    (cancelled,) = await told.deliveries()
    assert (cancelled.status, receiver.connections) == (DeliveryStatus.CANCELLED, 0)
    async with begin_change(told.api, told.change()) as change:
        await remove_endpoint(change, endpoint.endpoint_id, told.vault)
        assert await told.vault.names(change.connection, told.org_id, "webhook/") == []


async def test_one_receiver_does_not_take_every_place(told, organization, hold, world) -> None:
    stuck = await world.start(hang)
    await told.endpoint(stuck.port)
    for _ in range(3):
        await hold(organization)
    await told.relay()
    deliver = told.deliver(Turns(2))
    jobs = [JobReference(told.org_id, one.delivery_id, 1) for one in await told.deliveries()]
    running = [asyncio.ensure_future(deliver.run(job)) for job in jobs[:2]]
    while len(stuck.requests) < 2:
        await asyncio.sleep(0.01)
    with pytest.raises(RetryLater, match="delivery slots are in use"):
        await deliver.run(jobs[2])
    assert await told.attempts(jobs[2].subject_id) == []
    for one in running:
        one.cancel()
    await asyncio.gather(*running, return_exceptions=True)
