"""The worker killed after every single statement of a sweep, and the API of an erasure: all of it, or nothing."""

from contextlib import suppress

import pytest

from headgate.audit.model import EventFilter
from headgate.audit.store import list_events
from headgate.db.database import _TimedConnection
from headgate.journal.apply import apply_before_reading
from headgate.kernel.errors import UnavailableError
from headgate.organizations.change import begin_change
from headgate.retention.action_bodies import open_bodies
from headgate.retention.erasure import erase_actions
from headgate.retention.model import ErasureDepth
from headgate.retention.settings import put_policy
from headgate.workflows.retained_kinds import BESIDE_ACTIONS, KINDS
from tests.integration.audit.verify_range import verify_range
from tests.integration.retention.conftest import REQUEST


class Cut:
    """Cuts the connection to the server right after the n-th statement: what the server sees of a kill -9."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        execute = _TimedConnection.execute

        async def cut(connection, *arguments, **rest):
            answer = await execute(connection, *arguments, **rest)
            if self.left is not None:
                self.left -= 1
                if self.left == 0:
                    connection.pgconn.finish()
            return answer

        monkeypatch.setattr(_TimedConnection, "execute", cut)


@pytest.fixture
def cut(monkeypatch) -> Cut:
    return Cut(monkeypatch)


async def _count(database, org_id: str, event_type: str) -> int:
    await apply_before_reading(database, org_id)
    async with database.transaction(org_id) as connection:
        return len((await list_events(connection, org_id, EventFilter(event_type=event_type))).events)


def _states(superuser, org_id: str) -> list[tuple[object, ...]]:
    return superuser.execute(
        "SELECT a.body_state, count(k.action_id), count(b.action_id), bool_or(a.request LIKE '%%bob%%')"
        " FROM actions a LEFT JOIN body_keys k USING (org_id, action_id)"
        " LEFT JOIN kept_bodies b USING (org_id, action_id, kind) WHERE a.org_id = %s GROUP BY 1 ORDER BY 1",
        [org_id],
    ).fetchall()


async def test_a_sweep_that_is_killed_anywhere_is_taken_up_again(
    superuser, api_database, make_action, sweep_after, vault, organization, change, cut: Cut
) -> None:
    org_id, actions = organization.org_id, [await make_action() for _ in range(3)]
    async with begin_change(api_database, change) as changing:
        await put_policy(changing, {"drop_after_days": {"bodies": 60}}, KINDS)
    for days, before, after in (
        (31, ("clear", 0, 0, True), ("kept", 3, 3, False)),
        (61, ("kept", 3, 3, False), ("dropped", 0, 0, False)),
    ):
        for killed_after in range(1, 60):
            cut.left = killed_after
            with suppress(UnavailableError):
                await sweep_after(days).sweep(org_id)
            survived, cut.left = cut.left > 0, None
            assert _states(superuser, org_id) in ([before], [after]), f"half done after statement {killed_after}"
            if survived:
                break
        else:
            pytest.fail("the sweep never came to its end")
        assert killed_after > 8
        assert _states(superuser, org_id) == [after]
        if days == 31:
            async with api_database.transaction(org_id) as connection:
                bodies = [await open_bodies(connection, org_id, one, vault) for one in actions]
            assert [one.request for one in bodies if one] == [REQUEST] * 3
    assert await _count(api_database, org_id, "body.dropped") == 1, "recorded once, with what was dropped"
    assert (await verify_range(api_database, org_id)).fault is None


@pytest.mark.parametrize("depth", ErasureDepth)
async def test_an_erasure_that_is_killed_anywhere_has_not_happened(
    superuser, api_database, make_action, organization, change, cut: Cut, depth: ErasureDepth
) -> None:
    org_id, action_id = organization.org_id, await make_action()
    await apply_before_reading(api_database, org_id)
    for killed_after in range(1, 30):
        cut.left = killed_after
        with suppress(UnavailableError):
            async with begin_change(api_database, change) as changing:
                await erase_actions(changing, [action_id], depth, "article 17", BESIDE_ACTIONS)
        survived, cut.left = cut.left > 0, None
        done = await _count(api_database, org_id, "body.erased")
        assert _states(superuser, org_id) == [("erased", 0, 0, False) if done else ("clear", 0, 0, True)]
        if survived:
            break
    assert killed_after > 4
    assert await _count(api_database, org_id, "body.erased") == 1
    assert (await verify_range(api_database, org_id)).fault is None
