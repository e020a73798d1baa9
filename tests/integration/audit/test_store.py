"""Listing events: every filter of the specification, totals, cursors, and one organization at a time."""

from datetime import UTC, datetime, timedelta

import pytest

from headgate.audit import store
from headgate.audit.chain_store import range_of
from headgate.audit.model import SYSTEM, Event, EventFilter, EventType
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading
from headgate.kernel.errors import NotFoundError, ValidationError

_NOON = datetime(2020, 11, 21, 12, 0, tzinfo=UTC)  # long ago: nothing else happens then


@pytest.fixture
async def recorded(api_database: Database, organization, hold) -> str:
    """Four events of our own, beside the three of one held action; returns that action's id."""
    held = await hold(organization, risk_level="critical")
    events = [
        Event(EventType.KEY_REVOKED, _NOON - timedelta(hours=1), SYSTEM, {"n": 0}),
        Event(EventType.POLICY_CREATED, _NOON, SYSTEM, {"n": 1}),
        Event(EventType.POLICY_CREATED, _NOON + timedelta(hours=1), SYSTEM, {"n": 2}, agent_id="agt_other"),
        Event(EventType.ACTION_RETRIED, _NOON, SYSTEM, {"n": 3}, action_id=held.action_id),
    ]
    async with api_database.transaction(organization.org_id) as connection:
        await store.append(connection, organization.org_id, events)
    await apply_before_reading(api_database, organization.org_id)
    return held.action_id


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (EventFilter(event_type="policy.created"), [2, 1]),
        (EventFilter(start=_NOON, end=_NOON), [3, 1]),
        (EventFilter(start=_NOON + timedelta(microseconds=1), end=_NOON + timedelta(hours=2)), [2]),
        (EventFilter(end=_NOON - timedelta(minutes=1), event_type="key.revoked"), [0]),
        (EventFilter(agent_id="agt_other"), [2]),
        (EventFilter(risk_level="critical", event_type="action.retried"), [3]),
        (EventFilter(risk_level="low"), []),
        (EventFilter(event_type="no.such"), []),
    ],
)
async def test_filters(
    api_database: Database, organization, recorded: str, wanted: EventFilter, found: list[int]
) -> None:
    async with api_database.transaction(organization.org_id) as connection:
        page = await store.list_events(connection, organization.org_id, wanted)
    assert [event.data["n"] for event in page.events] == found
    assert (page.total, page.total_is_minimum, page.next_cursor) == (len(found), False, None)


async def test_an_action_has_its_events(api_database: Database, organization, recorded: str) -> None:
    async with api_database.transaction(organization.org_id) as connection:
        page = await store.list_events(connection, organization.org_id, EventFilter(action_id=recorded))
    assert [event.event_type for event in reversed(page.events)] == [
        "action.submitted",
        "decision.made",
        "approval.requested",
        "action.retried",
    ]


async def test_pages_by_offset_and_by_cursor_are_the_same(api_database: Database, organization, recorded: str) -> None:
    async with api_database.transaction(organization.org_id) as connection:
        first = await store.list_events(connection, organization.org_id, EventFilter(), limit=3)
        by_offset = await store.list_events(connection, organization.org_id, EventFilter(), limit=3, offset=3)
        by_cursor = await store.list_events(
            connection, organization.org_id, EventFilter(), limit=3, cursor=first.next_cursor
        )
        with pytest.raises(ValidationError, match="not a cursor"):
            await store.list_events(connection, organization.org_id, EventFilter(), cursor="1 OR true")
    assert by_offset == by_cursor
    assert (first.total, len(by_offset.events)) == (7, 3)


async def test_totals_are_exact_up_to_a_limit(
    api_database: Database, organization, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.db.bounded_count.EXACT_TOTAL_LIMIT", 5)
    async with api_database.transaction(organization.org_id) as connection:
        counted = await store.list_events(connection, organization.org_id, EventFilter())
        exact = await store.list_events(connection, organization.org_id, EventFilter(), exact_total=True)
    assert (counted.total, counted.total_is_minimum) == (5, True)
    assert (exact.total, exact.total_is_minimum) == (7, False)


async def test_another_organizations_event_does_not_exist(
    api_database: Database, organization, new_organization, recorded: str
) -> None:
    async with api_database.transaction(organization.org_id) as connection:
        event = (await store.list_events(connection, organization.org_id, EventFilter())).events[0]
    other = new_organization()
    async with api_database.transaction(other.org_id) as connection:
        with pytest.raises(NotFoundError):
            await store.get_event(connection, other.org_id, event.event_id)
        # Row-level security holds where a query forgets its organization.
        with pytest.raises(NotFoundError):
            await store.get_event(connection, organization.org_id, event.event_id)
        assert (await store.list_events(connection, organization.org_id, EventFilter())).total == 0
        assert await range_of(connection, organization.org_id, None, None) is None
