"""What else can be kept joins by a small interface; holds and forgetting exclude each other; months go when empty."""

import asyncio
from datetime import UTC, datetime

import pytest

from headgate.audit.model import EventFilter
from headgate.audit.store import list_events
from headgate.journal.apply import apply_before_reading
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.retention.bodies import envelope_name
from headgate.retention.body_store import forget, get_body
from headgate.retention.erasure import erase_actions
from headgate.retention.holds import place_hold
from headgate.retention.model import BodyState, ErasureDepth, ErasureOutcome, HoldScope
from headgate.retention.retained_kind import Dropped, RetainedKind
from headgate.retention.settings import put_policy
from headgate.retention.sweep_store import drop_empty_partitions, ensure_partition
from headgate.workflows.keep_within_limits import RetentionSweep


class Captures:
    """A further kind of thing, as another slice would keep it."""

    def __init__(self) -> None:
        self.dropped_before: list[datetime] = []
        self.erased: list[str] = []
        self.fails = False
        self.thing = RetainedKind("captures", self.drop, self.erase)

    async def drop(self, connection, org_id: str, before: datetime) -> Dropped:
        self.dropped_before.append(before)
        if self.fails:
            raise UnavailableError("the captures are away")
        return Dropped(7, {"month": "2026-10"}) if len(self.dropped_before) == 1 else Dropped(0)

    async def erase(self, connection, org_id: str, action_ids) -> int:
        self.erased += action_ids
        return len(action_ids)


async def test_a_further_kind_is_dropped_recorded_held_and_erased(
    api_database, worker_database, vault, organization, change, make_action
) -> None:
    org_id, captures, action_id = organization.org_id, Captures(), await make_action()
    now = datetime.now(UTC)
    sweep = RetentionSweep(worker_database, vault, lambda: now, (captures.thing,))
    async with begin_change(api_database, change) as changing:
        await put_policy(changing, {"drop_after_days": {"captures": 30}}, ["captures"])
    assert await sweep.sweep(org_id) == 7
    assert await sweep.sweep(org_id) == 0
    assert {(now - one).days for one in captures.dropped_before} == {30}
    captures.fails = True
    with pytest.raises(UnavailableError):
        await sweep.sweep(org_id)
    await apply_before_reading(api_database, org_id)
    async with begin_change(api_database, change) as changing:
        [told] = (await list_events(changing.connection, org_id, EventFilter(event_type="body.dropped"))).events
        found = await erase_actions(changing, [action_id], ErasureDepth.BODIES, "article 17", [captures.thing])
        assert (found[action_id], captures.erased) == (ErasureOutcome.ERASED, [action_id])
        await place_hold(changing, HoldScope.ORGANIZATION, None, "Smith v. Example")
    assert (told.data["kind"], told.data["count"], told.data["month"]) == ("captures", 7, "2026-10")
    looked = len(captures.dropped_before)
    assert await sweep.sweep(org_id) == 0
    assert len(captures.dropped_before) == looked, "everything is held: nothing is even looked for"


async def _keep(connection, org_id: str, action_id: str, kind: str, sealed) -> bool:
    """As ``put_results_away`` does. False: the action's bodies have been forgotten, and so is this."""
    cursor = await connection.execute(
        "SELECT keep_body(%s, %s, %s, %s, %s, %s) AS kept",
        [org_id, action_id, kind, sealed.key_id, sealed.wrapped_key, sealed.ciphertext],
    )
    return bool((await cursor.fetchone())["kept"])


async def test_a_further_body_of_an_action_goes_with_it(
    api_database, superuser, vault, organization, make_action, change
) -> None:
    org_id, action_id, kind = organization.org_id, await make_action(), "capture/1"
    sealed = vault.seal(org_id, envelope_name(action_id, kind), Secret("what was captured"))
    async with api_database.transaction(org_id) as connection:
        assert await _keep(connection, org_id, action_id, kind, sealed)
        assert await _keep(connection, org_id, action_id, kind, sealed), "again, in its place"
        kept = await get_body(connection, org_id, action_id, kind)
        assert kept is not None
        assert vault.unseal(org_id, envelope_name(action_id, kind), kept).reveal() == "what was captured"
    async with begin_change(api_database, change) as changing:
        await erase_actions(changing, [action_id], ErasureDepth.BODIES, "article 17", [])
        assert await get_body(changing.connection, org_id, action_id, kind) is None
        assert not await _keep(changing.connection, org_id, action_id, kind, sealed), "too late to be kept"
    assert superuser.execute("SELECT 1 FROM kept_bodies WHERE action_id = %s", [action_id]).fetchall() == []


async def test_a_hold_waits_for_forgetting_and_forgetting_for_a_hold(
    api_database, worker_database, organization, make_action, change
) -> None:
    org_id, first, second = organization.org_id, await make_action(), await make_action()

    async def hold(target: str) -> None:
        async with begin_change(api_database, change) as changing:
            await place_hold(changing, HoldScope.ACTION, target, "Smith v. Example")

    async def erase(target: str) -> list[str]:
        async with worker_database.transaction(org_id) as connection:
            return await forget(connection, org_id, [target], BodyState.ERASED)

    async with worker_database.transaction(org_id) as connection:
        assert await forget(connection, org_id, [first], BodyState.ERASED) == [first]
        placing = asyncio.create_task(hold(first))
        await asyncio.sleep(0.3)
        assert not placing.done(), "what is being forgotten cannot be held in the same moment"
    await placing
    async with begin_change(api_database, change) as changing:
        await place_hold(changing, HoldScope.ACTION, second, "Smith v. Example")
        erasing = asyncio.create_task(erase(second))
        await asyncio.sleep(0.3)
        assert not erasing.done(), "a hold that is being placed is waited for"
    assert await erasing == [], "and is in force"


async def test_a_month_goes_when_nothing_of_it_is_kept(superuser, worker_database, organization) -> None:
    def months() -> set[str]:
        found = superuser.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'kept_bodies'::regclass"
        )
        return {str(name) for (name,) in found}

    async with worker_database.across_organizations() as connection:
        await ensure_partition(connection, datetime(2025, 1, 15, tzinfo=UTC))
        await ensure_partition(connection, datetime(2025, 2, 28, tzinfo=UTC))
        await ensure_partition(connection, datetime(2999, 1, 1, tzinfo=UTC))
    assert {"kept_bodies_2025_01", "kept_bodies_2025_02", "kept_bodies_rest"} <= months()
    assert "kept_bodies_2999_01" not in months(), "no month is made before its time"
    superuser.execute(
        "INSERT INTO kept_bodies (org_id, action_id, kind, made_at, ciphertext)"
        " VALUES (%s, 'act_1', 'action', %s, 'x')",
        [organization.org_id, datetime(2025, 1, 31, tzinfo=UTC)],
    )
    async with worker_database.across_organizations() as connection:
        assert await drop_empty_partitions(connection) >= 1
    assert "kept_bodies_2025_01" in months()
    assert "kept_bodies_2025_02" not in months()
    superuser.execute("DELETE FROM kept_bodies WHERE org_id = %s", [organization.org_id])
    async with worker_database.across_organizations() as connection:
        await drop_empty_partitions(connection)
    assert "kept_bodies_2025_01" not in months()
