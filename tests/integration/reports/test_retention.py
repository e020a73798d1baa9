"""Reports go when the retention policy says so; a legal hold keeps them."""

from datetime import UTC, datetime, timedelta

import pytest

from headgate.audit.change import Change
from headgate.audit.model import EventFilter
from headgate.audit.store import list_events
from headgate.journal.apply import apply_before_reading
from headgate.kernel.clock import system_clock
from headgate.organizations.change import begin_change
from headgate.reports.store import list_reports
from headgate.retention.holds import lift_hold, place_hold
from headgate.retention.model import HoldScope
from headgate.retention.settings import put_policy
from headgate.vault.master_keys import create_master_keys
from headgate.vault.service import Vault
from headgate.workflows.keep_within_limits import RetentionSweep
from headgate.workflows.retained_kinds import KINDS
from tests.integration.reports.conftest import PERSON, SCENE


@pytest.fixture
def change(organization) -> Change:
    return Change(organization.org_id, PERSON, "usr_1", system_clock())


@pytest.fixture
def sweep_after(worker_database, organization, tmp_path):
    """A sweep whose clock is so many days ahead; says how much there was to do."""
    create_master_keys(tmp_path / "keys" / "master-keys")
    vault = Vault(tmp_path / "keys" / "master-keys")

    async def sweep(days: int) -> int:
        ahead = timedelta(days=days, minutes=1)
        return await RetentionSweep(worker_database, vault, lambda: datetime.now(UTC) + ahead).sweep(
            organization.org_id
        )

    return sweep


@pytest.fixture
def kept(api_database, organization):
    async def ids() -> list[str]:
        async with api_database.transaction(organization.org_id) as connection:
            page = await list_reports(
                connection, organization.org_id, report_type=None, status=None, limit=10, offset=0, exact_total=True
            )
        return [one.report_id for one in page.reports]

    return ids


async def test_a_report_is_kept_for_a_year_and_its_going_is_an_event(
    record, made, ask, sweep_after, kept, superuser, api_database, organization
) -> None:
    await record(SCENE)
    report, _ = await made()
    waiting = await ask()
    await sweep_after(364)
    assert await kept() == [waiting.report_id, report.report_id]
    assert await sweep_after(366) == 1
    assert await kept() == [waiting.report_id], "one that is not made yet is not old"
    left = superuser.execute("SELECT count(*) FROM report_pieces WHERE org_id = %s", [organization.org_id]).fetchone()
    assert left[0] == 0
    await apply_before_reading(api_database, organization.org_id)
    async with api_database.transaction(organization.org_id) as connection:
        (told,) = (await list_events(connection, organization.org_id, EventFilter(event_type="body.dropped"))).events
    assert (told.data["kind"], told.data["count"], told.data["report_ids"]) == ("reports", 1, [report.report_id])


async def test_an_organization_says_how_long(record, made, sweep_after, kept, api_database, change) -> None:
    await record(SCENE)
    report, _ = await made()
    for days, after, expected in ((None, 9_999, [report.report_id]), (7, 6, [report.report_id]), (7, 8, [])):
        async with begin_change(api_database, change) as changing:
            await put_policy(changing, {"drop_after_days": {"reports": days}}, KINDS)
        await sweep_after(after)
        assert await kept() == expected


@pytest.mark.parametrize("scope", [HoldScope.ORGANIZATION, HoldScope.AGENT])
async def test_no_report_goes_while_anything_is_held(
    record, made, sweep_after, kept, api_database, change, organization, scope: HoldScope
) -> None:
    await record(SCENE)
    report, _ = await made()
    target = None if scope is HoldScope.ORGANIZATION else organization.agent_id
    async with begin_change(api_database, change) as changing:
        hold = await place_hold(changing, scope, target, "Smith v. Example")
    await sweep_after(9_999)
    assert await kept() == [report.report_id]
    async with begin_change(api_database, change) as changing:
        await lift_hold(changing, hold.hold_id, "settled out of court")
    assert await sweep_after(9_999) == 1
    assert await kept() == []
