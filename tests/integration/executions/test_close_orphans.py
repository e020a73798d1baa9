"""What a dead process, or one that knows nothing of it, left running is closed once, as failed."""

import asyncio
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from headgate.actions.instance import Instance
from headgate.actions.store import get_action
from headgate.audit import store as audit_store
from headgate.audit.model import EventFilter
from headgate.db.database import Database
from headgate.executions.close_orphans import OUTCOME_UNKNOWN, close_orphans, forget_instances
from headgate.journal.apply import apply_before_reading, apply_due
from headgate.kernel.clock import system_clock

_DEAD_AFTER, _GRACE = timedelta(seconds=10), timedelta(seconds=5)
_LONG_AGO = timedelta(minutes=1)


async def _close(database: Database) -> int:
    await apply_due(database)
    return await close_orphans(database, system_clock, dead_after=_DEAD_AFTER, grace=_GRACE)


async def _status(database: Database, org_id: str, action_id: str) -> tuple[str, str | None]:
    async with database.transaction(org_id) as connection:
        action = (await get_action(connection, org_id, action_id)).action
    assert action.execution is not None
    return action.status.value, action.execution.error


@pytest.fixture
def age_heartbeat(superuser: psycopg.Connection[tuple[object, ...]]):
    def age(instance: Instance, by: timedelta) -> None:
        superuser.execute(
            "UPDATE instances SET heartbeat_at = heartbeat_at - %s, oldest_in_flight_started_at"
            " = oldest_in_flight_started_at - %s WHERE instance_id = %s",
            [by, by, instance.instance_id],
        )

    return age


async def test_executions_of_a_silent_process_are_closed_as_unknown(
    api_database: Database, worker_database: Database, proxy_database: Database, organization, execute, age_heartbeat
) -> None:
    instance = Instance("proxy", proxy_database)
    started_at = datetime.now(UTC) - _LONG_AGO
    running = await execute(organization, instance.instance_id, started_at=started_at)
    instance.began(running.execution_id, started_at)
    await instance.beat()
    await _close(worker_database)
    await apply_due(worker_database)
    assert await _status(api_database, organization.org_id, running.action_id) == ("executing", None)

    age_heartbeat(instance, _DEAD_AFTER + timedelta(seconds=1))
    assert sum(await asyncio.gather(_close(worker_database), _close(worker_database))) >= 1
    await apply_due(worker_database)
    assert await _status(api_database, organization.org_id, running.action_id) == ("failed", OUTCOME_UNKNOWN)

    await apply_before_reading(api_database, organization.org_id)
    async with api_database.transaction(organization.org_id) as connection:
        page = await audit_store.list_events(
            connection, organization.org_id, EventFilter(event_type="execution.failed")
        )
    assert [(event.action_id, event.agent_id, event.data) for event in page.events] == [
        (
            running.action_id,
            organization.agent_id,
            {"execution_id": running.execution_id, "error": OUTCOME_UNKNOWN},
        )
    ]


async def test_what_a_live_process_disowns_is_closed_and_what_it_holds_is_not(
    api_database: Database, worker_database: Database, proxy_database: Database, organization, execute
) -> None:
    instance = Instance("proxy", proxy_database)
    held_since = datetime.now(UTC) - _LONG_AGO
    disowned = await execute(organization, instance.instance_id, started_at=held_since - _LONG_AGO)
    held = await execute(organization, instance.instance_id, started_at=held_since)
    instance.began(held.execution_id, held_since)
    await instance.beat()
    assert await _close(worker_database) >= 1
    await apply_due(worker_database)
    assert (await _status(api_database, organization.org_id, disowned.action_id))[0] == "failed"
    assert (await _status(api_database, organization.org_id, held.action_id))[0] == "executing"


async def test_a_process_that_said_goodbye_leaves_nothing_running(
    api_database: Database, worker_database: Database, proxy_database: Database, organization, execute
) -> None:
    instance = Instance("proxy", proxy_database)
    await instance.beat()
    fresh = await execute(organization, instance.instance_id)
    old = await execute(organization, instance.instance_id, started_at=datetime.now(UTC) - _LONG_AGO)
    await instance.end()
    await _close(worker_database)
    await apply_due(worker_database)
    # The grace is for what is being recorded right now.
    assert (await _status(api_database, organization.org_id, fresh.action_id))[0] == "executing"
    assert (await _status(api_database, organization.org_id, old.action_id))[0] == "failed"


async def test_processes_not_heard_of_for_long_are_forgotten(
    worker_database: Database, proxy_database: Database, age_heartbeat
) -> None:
    gone, here = Instance("proxy", proxy_database), Instance("proxy", proxy_database)
    await gone.beat()
    await here.beat()
    age_heartbeat(gone, timedelta(hours=2))
    assert await forget_instances(worker_database) == 1
    async with worker_database.across_organizations() as connection:
        cursor = await connection.execute("SELECT instance_id FROM instances")
        left = {row["instance_id"] for row in await cursor.fetchall()}
    assert here.instance_id in left
    assert gone.instance_id not in left
    await here.end()
