"""The applier is killed between every two statements of a round, and while it commits: nothing is half applied."""

from contextlib import suppress
from datetime import UTC, datetime

import psycopg
import pytest

from headgate.audit import store
from headgate.audit.model import SYSTEM, Event, EventFilter, EventType
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading, apply_due, require_applied
from headgate.kernel.errors import UnavailableError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from tests.entry_codes import CODES
from tests.integration.audit.verify_range import verify_range

MOMENTS = {
    "before the chain is written": "CREATE TRIGGER die BEFORE INSERT ON audit_chain",
    "in the middle of the chain": "CREATE TRIGGER die AFTER INSERT ON audit_chain FOR EACH ROW WHEN (NEW.seq % 7 = 4)",
    "after the chain": "CREATE TRIGGER die AFTER INSERT ON audit_chain",
    "before the events are written": "CREATE TRIGGER die BEFORE INSERT ON audit_events",
    "after the events": "CREATE TRIGGER die AFTER INSERT ON audit_events",
    "before the journal is emptied": "CREATE TRIGGER die BEFORE DELETE ON journal",
    "in the middle of the journal": "CREATE TRIGGER die BEFORE DELETE ON journal FOR EACH ROW"
    " WHEN (OLD.journal_id % 7 = 4)",
    "after the journal was emptied": "CREATE TRIGGER die AFTER DELETE ON journal",
    "while it commits": "CREATE CONSTRAINT TRIGGER die AFTER INSERT ON audit_chain DEFERRABLE INITIALLY DEFERRED"
    " FOR EACH ROW",
}


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_sealer_that_is_killed_leaves_what_was_there(database_urls, moment: str) -> None:
    org_id, now = new_id(IdPrefix.ORGANIZATION), datetime.now(UTC)
    database = Database(Secret(database_urls.api), entry_codes=CODES)
    await database.open()

    async def append(first: int) -> None:
        events = [Event(EventType.DECISION_MADE, now, SYSTEM, {"n": number}) for number in range(first, first + 10)]
        async with database.transaction(org_id) as connection:
            await store.append(connection, org_id, events)

    try:
        with psycopg.connect(database_urls.administrator, autocommit=True) as superuser:
            superuser.execute("INSERT INTO organizations (org_id, name) VALUES (%s, 'Test')", [org_id])
            await append(0)
            await apply_before_reading(database, org_id)
            await append(10)
            superuser.execute(
                "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN"
                " PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10); RETURN NULL; END $$"
            )
            superuser.execute(f"{MOMENTS[moment]} EXECUTE FUNCTION die()".encode())
            with pytest.raises(UnavailableError):
                await require_applied(database, org_id)
            assert superuser.execute("SELECT count(*) FROM audit_chain").fetchall() == [(10,)]
            assert superuser.execute("SELECT count(*) FROM audit_events").fetchall() == [(10,)]
            assert superuser.execute("SELECT count(*) FROM journal").fetchall() == [(10,)]
            superuser.execute("DROP FUNCTION die CASCADE")
        await apply_before_reading(database, org_id)
        found = await verify_range(database, org_id)
        assert (found.fault, found.events_verified) == (None, 20)
        async with database.transaction(org_id) as connection:
            page = await store.list_events(connection, org_id, EventFilter())
        assert [event.data["n"] for event in reversed(page.events)] == [*range(20)]
    finally:
        await database.close()


async def test_what_stands_before_an_event_that_breaks_the_sealer_is_sealed(
    api_database: Database, worker_database: Database, superuser, organization
) -> None:
    """A poison row: the good ones before it do not wait, and the ones behind it are not lost."""
    org_id, now = organization.org_id, datetime.now(UTC)

    async def waiting() -> int:
        return superuser.execute("SELECT count(*) FROM journal WHERE org_id = %s", [org_id]).fetchone()[0]

    events = [
        Event(EventType.DECISION_MADE, now, SYSTEM, {}, action_id="act_poison" if number == 11 else None)
        for number in range(20)
    ]
    async with api_database.transaction(org_id) as connection:
        await store.append(connection, org_id, events)
    superuser.execute("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'poison'; END $$")
    superuser.execute(
        "CREATE TRIGGER refuse BEFORE INSERT ON audit_events FOR EACH ROW WHEN (NEW.action_id = 'act_poison')"
        " EXECUTE FUNCTION refuse()"
    )
    try:
        for _ in range(30):
            with suppress(UnavailableError):
                await apply_due(worker_database)
        assert await waiting() == 9
        assert (await verify_range(api_database, org_id)).events_verified == 11
    finally:
        superuser.execute("DROP FUNCTION refuse CASCADE")
    while await apply_due(worker_database):
        pass
    assert await waiting() == 0
    found = await verify_range(api_database, org_id)
    assert (found.fault, found.events_verified) == (None, 20)


@pytest.mark.parametrize("created_at", ["20000-01-01", "0001-01-01 BC", "infinity"])
async def test_a_time_that_nobody_can_read_back_is_refused_at_the_door(cluster, organization, created_at: str) -> None:
    """A poison row: it would be sealed, and every reader of its page would fail on it from then on."""
    with psycopg.connect(cluster.dsn("headgate_api")) as connection:
        connection.execute("SELECT set_config('app.org_id', %s, true)", [organization.org_id])
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute(
                "INSERT INTO journal (org_id, event_type, created_at, payload) VALUES (%s, 'decision.made', %s, '{}')",
                [organization.org_id, created_at],
            )
