"""The key ring against a real database: what is cached, for how long, and what ends it."""

import asyncio
import gc
from datetime import UTC, datetime, timedelta

import pytest

from headgate.agents.authenticate import KeyRing
from headgate.agents.keys import generate_key
from headgate.agents.scopes import KIND_SCOPES, KeyKind
from headgate.agents.service import create_key, revoke_key
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Database
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import UnauthorizedError, UnavailableError
from headgate.kernel.secrets import Secret
from headgate.organizations.change import OrganizationChange, begin_change
from headgate.organizations.store import bump_generation, generation


class Time:
    def __init__(self) -> None:
        self.now = datetime.now(UTC)
        self.monotonic = 100.0

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.monotonic += seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def ring(api_database: Database, time: Time) -> KeyRing:
    return KeyRing(api_database, clock=lambda: time.now, monotonic=lambda: time.monotonic, max_entries=100)


@pytest.fixture
def issue(api_database: Database, organization):
    async def create(expires_at: datetime | None = None) -> tuple[str, str]:
        by = Change(organization.org_id, SYSTEM, None, system_clock())
        async with begin_change(api_database, by) as change:
            issued = await create_key(
                change,
                kind=KeyKind.AGENT,
                scopes=KIND_SCOPES[KeyKind.AGENT],
                agent_id=organization.agent_id,
                expires_at=expires_at,
            )
        return issued.record.key_id, issued.key.reveal()

    return create


async def test_a_key_is_known_after_the_first_time_and_for_one_generation(
    ring: KeyRing, api_database: Database, organization, issue
) -> None:
    key_id, key = await issue()
    assert ring.cached(key) is None
    identity = await ring.authenticate(key)
    assert (identity.key_id, identity.agent_name, identity.generation) == (key_id, "Robot", 2)
    assert ring.cached(key) is identity
    assert ring.cached(key, 2) is identity
    assert ring.cached(key, 3) is None

    async with api_database.transaction(organization.org_id) as connection:
        moved = await bump_generation(connection, organization.org_id)
    assert ring.cached(key) is identity, "nobody has told this process yet; the record's statement will"
    ring.observe_generation(organization.org_id, moved)
    assert ring.cached(key) is None
    assert (await ring.authenticate(key)).generation == moved
    ring.observe_generation(organization.org_id, moved - 1)
    assert ring.cached(key) is not None


async def test_a_revoked_key_is_gone_where_the_database_is_asked(
    ring: KeyRing, api_database: Database, organization, issue
) -> None:
    key_id, key = await issue()
    await ring.authenticate(key)
    async with api_database.transaction(organization.org_id) as connection:  # as another process: not told here
        await revoke_key(OrganizationChange(organization.org_id, SYSTEM, None, system_clock(), connection), key_id)
    with pytest.raises(UnauthorizedError, match="unknown or revoked"):
        await ring.authenticate(key, fresh=True)
    assert ring.cached(key) is None, "once it is known to be revoked, it is so everywhere"


async def test_a_change_that_is_committed_ends_what_this_process_has_cached(
    ring: KeyRing, api_database: Database, organization, issue
) -> None:
    key_id, key = await issue()
    by = Change(organization.org_id, SYSTEM, None, system_clock())
    await ring.authenticate(key)
    async with begin_change(api_database, by) as change:
        await revoke_key(change, key_id)
        assert ring.cached(key) is not None, "nothing is committed yet"
    assert ring.cached(key) is None
    with pytest.raises(UnauthorizedError, match="unknown or revoked"):
        await ring.authenticate(key)


async def test_a_change_that_is_rolled_back_or_raises_no_generation_leaves_the_cache(
    ring: KeyRing, api_database: Database, organization, issue
) -> None:
    key_id, key = await issue()
    by = Change(organization.org_id, SYSTEM, None, system_clock())
    identity = await ring.authenticate(key)
    with pytest.raises(ValueError, match="undone"):
        async with begin_change(api_database, by) as change:
            await revoke_key(change, key_id)
            raise ValueError("undone")
    assert ring.cached(key) is identity
    async with begin_change(api_database, by) as change:
        assert change.at == by.at
    assert ring.cached(key) is identity
    assert await ring.authenticate(key, fresh=True) == identity


async def test_a_commit_without_an_answer_ends_what_is_cached(
    ring: KeyRing, api_database: Database, superuser, organization, issue
) -> None:
    """The server may have committed before the connection broke."""
    key_id, key = await issue()
    await ring.authenticate(key)
    with pytest.raises(UnavailableError):
        async with begin_change(api_database, Change(organization.org_id, SYSTEM, None, system_clock())) as change:
            await revoke_key(change, key_id)
            superuser.execute("SELECT pg_terminate_backend(%s, 5000)", [change.connection.info.backend_pid])
    assert ring.cached(key) is None
    assert await ring.authenticate(key), "it was not committed: the key still works"
    assert ring.cached(key) is not None


async def test_what_a_look_up_in_flight_brings_is_not_cached_after_a_change(
    ring: KeyRing, api_database: Database, organization, issue
) -> None:
    _, key = await issue()
    asked = asyncio.ensure_future(ring.authenticate(key))
    await asyncio.sleep(0)
    for listener in api_database.generation_listeners:
        listener(organization.org_id)
    assert await asked
    assert ring.cached(key) is None


async def test_a_change_raises_the_generation_once(api_database: Database, organization) -> None:
    by = Change(organization.org_id, SYSTEM, None, system_clock())
    async with begin_change(api_database, by) as change:
        before = await generation(change.connection, organization.org_id)
        assert [await change.raise_generation(), await change.raise_generation()] == [before + 1] * 2
        assert await generation(change.connection, organization.org_id) == before + 1


async def test_expiry_is_checked_each_time(ring: KeyRing, time: Time, issue) -> None:
    _, key = await issue(time.now + timedelta(seconds=60))
    assert await ring.authenticate(key)
    time.move(59.9)
    assert ring.cached(key) is not None
    time.move(0.1)
    assert ring.cached(key) is None
    with pytest.raises(UnauthorizedError, match="expired"):
        await ring.authenticate(key)


async def test_a_refusal_is_believed_for_a_second(ring: KeyRing, time: Time, superuser, organization, issue) -> None:
    _, key = await issue()
    superuser.execute("UPDATE agents SET status = 'deactivated' WHERE agent_id = %s", [organization.agent_id])
    with pytest.raises(UnauthorizedError):
        await ring.authenticate(key)
    superuser.execute("UPDATE agents SET status = 'active' WHERE agent_id = %s", [organization.agent_id])
    time.move(0.9)
    with pytest.raises(UnauthorizedError):
        await ring.authenticate(key)
    time.move(0.1)
    assert await ring.authenticate(key)


async def test_what_is_no_key_is_refused_without_a_database() -> None:
    ring = KeyRing(Database(Secret("host=/nowhere")))
    for text in ("", "sk_live", "hg_short", generate_key().reveal()[:-1] + "!", "hg_" + "\ud800" * 49):
        with pytest.raises(UnauthorizedError, match="begins with hg_"):
            await ring.authenticate(text)


async def test_without_a_database_nobody_new_gets_in(ring: KeyRing, issue) -> None:
    _, key = await issue()
    database = Database(Secret("host=/nowhere connect_timeout=2"), timeout_seconds=0.2)
    await database.open()
    lonely = KeyRing(database)
    asked = await asyncio.gather(*(lonely.authenticate(key) for _ in range(20)), return_exceptions=True)
    assert {type(answer) for answer in asked} == {UnavailableError}
    await database.close()


async def test_memory_is_bounded_whatever_is_presented(ring: KeyRing, issue) -> None:
    _, key = await issue()
    for _ in range(150):
        with pytest.raises(UnauthorizedError):
            await ring.authenticate(generate_key().reveal())
    assert len(ring._refusals) == 100
    assert await ring.authenticate(key)
    assert key not in repr([vars(ring), *map(repr, gc.get_referents(ring._identities))])


async def test_one_question_for_many_and_one_touch(ring: KeyRing, superuser, issue) -> None:
    key_id, key = await issue()
    identities = await asyncio.gather(*(ring.authenticate(key) for _ in range(50)))
    assert len({id(identity) for identity in identities}) == 1
    assert superuser.execute("SELECT last_used_at FROM api_keys WHERE key_id = %s", [key_id]).fetchone() == (None,)
    await ring.touch_used()
    touched = superuser.execute("SELECT last_used_at FROM api_keys WHERE key_id = %s", [key_id]).fetchone()
    assert touched[0] is not None
    await ring.touch_used()
    assert superuser.execute("SELECT last_used_at FROM api_keys WHERE key_id = %s", [key_id]).fetchone() == touched


async def test_the_one_who_asked_is_cancelled_and_the_others_are_not_left_waiting(ring: KeyRing, issue) -> None:
    _, key = await issue()
    first = asyncio.create_task(ring.authenticate(key))
    others = [asyncio.create_task(ring.authenticate(key)) for _ in range(3)]
    await asyncio.sleep(0)
    first.cancel()
    answers = await asyncio.wait_for(asyncio.gather(*others), 30)
    assert first.cancelled()
    assert len({answer.key_id for answer in answers}) == 1
