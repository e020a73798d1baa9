"""What is passed on as recorded is what the chain leads to; whoever owns the database can write anything beside it."""

from datetime import UTC, datetime

import pytest

from headgate.audit import store
from headgate.audit.feed_store import events_after, newest_seq
from headgate.audit.led_to import Led, led_to
from headgate.audit.model import SYSTEM, Event, EventType
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading

_COPY = (
    "INSERT INTO audit_events SELECT org_id, %s, 'evt_forged', event_type, action_id, agent_id, created_at, sealed_at,"
    " salt, payload FROM audit_events WHERE org_id = %s AND seq = 5"
)


async def _record(database: Database, org_id: str, *numbers: int) -> None:
    kinds = (EventType.KEY_REVOKED, EventType.APPROVAL_DENIED)
    events = [Event(kinds[number % 2], datetime.now(UTC), SYSTEM, {"n": number}) for number in numbers]
    async with database.transaction(org_id) as connection:
        await store.append(connection, org_id, events)
    await apply_before_reading(database, org_id)


async def _led(database: Database, org_id: str, after: int = 0, types: tuple[str, ...] | None = None) -> Led:
    async with database.transaction(org_id) as connection:
        return await led_to(connection, org_id, after, await newest_seq(connection, org_id), types)


def _seqs(led: Led) -> list[int]:
    return [one.stored.seq for one in led.events]


def _faults(led: Led) -> list[tuple[int, str]]:
    return [(one.seq, one.reason.value) for one in led.faults]


async def test_all_of_a_record_and_a_part_of_it(api_database: Database, organization) -> None:
    await _record(api_database, organization.org_id, *range(1, 11))
    led = await _led(api_database, organization.org_id)
    assert (_seqs(led), _faults(led)) == ([*range(1, 11)], [])
    led = await _led(api_database, organization.org_id, 6)
    assert (_seqs(led), _faults(led)) == ([7, 8, 9, 10], [])
    led = await _led(api_database, organization.org_id, 2, ("approval.denied", "approval.approved"))
    assert (_seqs(led), _faults(led)) == ([3, 5, 7, 9], [])


@pytest.mark.parametrize("types", [None, ("key.revoked", "approval.denied")])
@pytest.mark.parametrize("place", [0, 5, 11, 13])
async def test_a_row_beside_the_chain_is_no_event_wherever_it_stands(
    api_database: Database, superuser, organization, place: int, types: tuple[str, ...] | None
) -> None:
    await _record(api_database, organization.org_id, *range(1, 11))
    superuser.execute(_COPY, [place, organization.org_id])
    await _record(api_database, organization.org_id, *range(11, 15))
    led = await _led(api_database, organization.org_id, types=types)
    assert _seqs(led) == [*range(1, 15)]
    assert _faults(led) == ([(place, "column_changed")] if place else [])
    async with api_database.transaction(organization.org_id) as connection:
        fed = await events_after(connection, organization.org_id, 0, [EventType.APPROVAL_DENIED], 2)
        fed += await events_after(connection, organization.org_id, fed[-1].seq, [EventType.APPROVAL_DENIED], 100)
    assert [one.data["n"] for one in fed] == [1, 3, 5, 7, 9, 11, 13]


async def test_a_page_of_nothing_but_such_rows_is_gone_past(api_database: Database, superuser, organization) -> None:
    await _record(api_database, organization.org_id, *range(1, 11))
    for _ in range(5):
        superuser.execute(_COPY, [6, organization.org_id])
    async with api_database.transaction(organization.org_id) as connection:
        fed = await events_after(connection, organization.org_id, 5, [EventType.APPROVAL_DENIED], 2)
        assert [one.seq for one in fed] == [7, 9]
        assert await events_after(connection, organization.org_id, 10, [EventType.APPROVAL_DENIED], 2) == []


async def test_a_link_that_leads_to_nothing_is_told(api_database: Database, superuser, organization) -> None:
    org_id = organization.org_id
    await _record(api_database, org_id, *range(1, 11))
    superuser.execute("DELETE FROM audit_chain WHERE org_id = %s AND seq = 4", [org_id])
    superuser.execute(
        "UPDATE audit_chain SET header = changed.header, hash = sha256(convert_to(changed.header, 'UTF8'))"
        " FROM (SELECT regexp_replace(header, 'prev_hash\":\"sha256:.{64}', 'prev_hash\":\"sha256:' || repeat('0', 64))"
        "       AS header FROM audit_chain WHERE org_id = %s AND seq = 7) changed WHERE org_id = %s AND seq = 7",
        [org_id, org_id],
    )
    led = await _led(api_database, org_id)
    assert _seqs(led) == [1, 2, 3, 6, 9, 10]
    # The eighth is linked to what the seventh was.
    assert _faults(led) == [(5, "missing"), (7, "link_broken"), (8, "link_broken")]
