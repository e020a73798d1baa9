"""From the record to deliveries: each once, in order, whatever dies in between."""

import asyncio
import json

import pytest

from headgate.db.database import Connection
from headgate.relay import relay_events
from headgate.relay.model import Consumer
from headgate.relay.relay_events import Follower
from headgate.webhooks.model import WebhookEvent


async def test_a_held_action_is_told_with_what_a_person_needs(told, organization, hold) -> None:
    endpoint, _ = await told.endpoint(8080)
    held = await hold(organization, tool="mail", risk_level="critical")
    await told.relay()
    (delivery,) = await told.deliveries()
    assert (delivery.target_id, delivery.event, delivery.subject_id) == (
        endpoint.endpoint_id,
        "approval.created",
        held.approval_id,
    )
    body = json.loads(delivery.payload)
    assert body["event"] == "approval.created"
    assert body["data"] == {
        "action_id": held.action_id,
        "agent_id": organization.agent_id,
        "agent_name": "Robot",
        "approval_id": held.approval_id,
        "assignees": [],
        "event_id": delivery.event_id,
        "expires_at": body["data"]["expires_at"],
        "operation": "send",
        "reason": "a person must look",
        "required_approvals": 1,
        "risk_level": "critical",
        "tool": "mail",
    }


async def test_only_what_is_subscribed_to_and_only_from_now_on(told, organization, hold) -> None:
    await hold(organization)
    await told.endpoint(8080, (WebhookEvent.APPROVAL_DENIED,))
    await hold(organization)
    await told.relay()
    assert await told.deliveries() == []


async def test_relaying_again_tells_nothing_again(told, organization, hold) -> None:
    await told.endpoint(8080)
    await hold(organization)
    await told.relay()
    await told.relay()
    assert len(await told.deliveries()) == 1


async def test_two_workers_at_once_tell_everything_once(told, organization, hold) -> None:
    await told.endpoint(8080)
    held = [await hold(organization) for _ in range(20)]

    async def until_done() -> None:
        for _ in range(10):
            await told.relay()

    await asyncio.gather(until_done(), until_done())
    assert sorted(str(one.subject_id) for one in await told.deliveries()) == sorted(one.approval_id for one in held)


async def test_a_crash_before_the_commit_repeats_and_loses_nothing(told, organization, hold) -> None:
    await told.endpoint(8080)
    await hold(organization)

    class PowerCut(BaseException):
        pass

    async def take_and_die(connection: Connection, org_id: str, events: object) -> int:
        await relay_events.store.move_cursor(connection, org_id, Consumer.WEBHOOKS, 10**6)
        raise PowerCut

    dying = Follower(frozenset({"approval.requested"}), take_and_die)
    with pytest.raises(PowerCut):
        for _ in range(3):  # other tests' organizations may come first
            await relay_events.relay_due(told.worker, {Consumer.WEBHOOKS: dying})
    await told.relay()
    assert len(await told.deliveries()) == 1


async def test_one_organization_that_cannot_be_told_keeps_no_other_waiting(
    told, organization, new_organization, hold, superuser
) -> None:
    await told.endpoint(8080)
    broken = new_organization()
    superuser.execute("INSERT INTO event_cursors VALUES (%s, 'webhooks', 0)", [broken.org_id])
    superuser.execute(
        "INSERT INTO webhook_endpoints (org_id, endpoint_id, url, events, created_at, updated_at)"
        " VALUES (%s, 'whk_x', 'http://receiver.example/', '{no.such.event}', now(), now())",
        [broken.org_id],
    )
    try:
        await hold(broken)
        await hold(organization)
        await told.relay()
        assert len(await told.deliveries()) == 1
    finally:
        superuser.execute("DELETE FROM event_cursors WHERE org_id = %s", [broken.org_id])


async def test_what_the_chain_does_not_lead_to_is_told_to_nobody(told, organization, hold, superuser) -> None:
    """An approval that the database's owner wrote where the chain was yet to come to."""
    await told.endpoint(8080)
    held = await hold(organization)
    await told.relay()
    superuser.execute(
        "INSERT INTO audit_events SELECT org_id, seq + 1, 'evt_forged', 'approval.approved', action_id, agent_id,"
        " created_at, sealed_at, salt, payload FROM audit_events WHERE org_id = %s ORDER BY seq DESC LIMIT 1",
        [organization.org_id],
    )
    other = await hold(organization)
    await told.relay()
    assert sorted((one.event, one.subject_id) for one in await told.deliveries()) == sorted(
        ("approval.created", one.approval_id) for one in (held, other)
    )
