"""Rule policies in a real database, as the API's role sees them."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from headgate.audit.change import Change
from headgate.audit.model import SYSTEM, Actor, ActorType
from headgate.db.database import Connection, Database
from headgate.kernel.errors import ConflictError, NotFoundError, ValidationError
from headgate.organizations.change import begin_change
from headgate.policies import service
from headgate.policies.data import policy_data
from headgate.policies.defaults import default_policies
from headgate.policies.draft import CheckedPolicy, PolicyDraft, check_policy
from headgate.policies.model import RulePolicy
from headgate.policies.service import create_policy, delete_policy, seed_default_policies
from headgate.policies.store import PolicyFilter, get_policy, list_policies, load_enabled

HEAD = "package t\nimport rego.v1\n"
DATA = policy_data(None)
ANN = Actor(ActorType.USER, "usr_ann", "ann@example.com")
INSTANT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)

type Organization = Any  # of the shared fixtures


async def create(database: Database, org_id: str, **draft: Any) -> service.SavedPolicy:
    wanted = PolicyDraft(**({"name": "Mine", "rego_policy": HEAD + "allow := true"} | draft))
    checked = CheckedPolicy(wanted, DATA, ())
    async with begin_change(database, Change(org_id, ANN, "usr_ann", INSTANT)) as change:
        return await create_policy(change, checked)


async def one(connection: Connection, sql: str, *parameters: object) -> Any:
    row = await (await connection.execute(sql, parameters)).fetchone()  # type: ignore[arg-type]  # a test's constant
    assert row is not None
    return next(iter(row.values()))


async def test_a_policy_is_created_with_its_version_and_its_event(
    api_database: Database, organization: Organization, superuser: psycopg.Connection[tuple[Any, ...]]
) -> None:
    org_id = organization.org_id
    created = await create(api_database, org_id, description="why", priority=7)
    async with api_database.transaction(org_id) as connection:
        stored = await get_policy(connection, org_id, created.policy.policy_id)
        generation = await one(connection, "SELECT generation FROM org_state WHERE org_id = %s", org_id)
        version = await one(
            connection, "SELECT rego_policy FROM policy_versions WHERE policy_id = %s AND version = 1", stored.policy_id
        )
    assert stored == created.policy
    assert (stored.version, stored.priority, stored.enabled, stored.quarantine) == (1, 7, True, None)
    assert stored.created_at == INSTANT
    assert generation == 2
    assert version == stored.rego_policy
    payloads = superuser.execute(
        "SELECT event_type, payload FROM journal WHERE org_id = %s UNION ALL"
        " SELECT event_type, payload FROM audit_events WHERE org_id = %s",
        [org_id, org_id],
    ).fetchall()
    [(event_type, payload)] = payloads
    assert event_type == "policy.created"
    assert json.loads(payload)["actor"]["id"] == "usr_ann"
    assert json.loads(payload)["data"]["policy_id"] == stored.policy_id


async def test_another_organization_sees_nothing(api_database: Database, new_organization: Any) -> None:
    mine, theirs = new_organization(), new_organization()
    created = await create(api_database, mine.org_id)
    async with api_database.transaction(theirs.org_id) as connection:
        with pytest.raises(NotFoundError):
            await get_policy(connection, mine.org_id, created.policy.policy_id)
        assert await load_enabled(connection, mine.org_id) == []


async def test_lists_are_filtered_counted_and_in_the_order_of_evaluation(
    api_database: Database, organization: Organization
) -> None:
    org_id = organization.org_id
    for name, priority, enabled in (("Late", 900, True), ("Early", 1, True), ("Off early", 0, False)):
        await create(api_database, org_id, name=name, priority=priority, enabled=enabled)
    async with api_database.transaction(org_id) as connection:

        async def names(wanted: PolicyFilter, **page: int) -> tuple[list[str], int]:
            found = await list_policies(connection, org_id, wanted, **page)  # type: ignore[arg-type]  # limit, offset
            return [policy.name for policy in found.policies], found.total

        assert await names(PolicyFilter()) == (["Off early", "Early", "Late"], 3)
        assert await names(PolicyFilter(enabled=True)) == (["Early", "Late"], 2)
        assert await names(PolicyFilter(name="EARLY")) == (["Off early", "Early"], 2)
        assert await names(PolicyFilter(name="100%_")) == ([], 0)
        assert await names(PolicyFilter(), limit=1, offset=1) == (["Early"], 3)
        assert [policy.name for policy in await load_enabled(connection, org_id)] == ["Early", "Late"]


async def test_totals_beyond_the_limit_are_minima(
    api_database: Database, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.db.bounded_count.EXACT_TOTAL_LIMIT", 2)
    for _ in range(3):
        await create(api_database, organization.org_id)
    async with api_database.transaction(organization.org_id) as connection:
        page = await list_policies(connection, organization.org_id, PolicyFilter())
        exact = await list_policies(connection, organization.org_id, PolicyFilter(), exact_total=True)
    assert (page.total, page.total_is_minimum) == (2, True)
    assert (exact.total, exact.total_is_minimum) == (3, False)


async def test_a_deleted_policy_decides_no_more_and_its_versions_stay(
    api_database: Database, organization: Organization
) -> None:
    org_id = organization.org_id
    created = await create(api_database, org_id)
    policy_id = created.policy.policy_id
    async with begin_change(api_database, Change(org_id, ANN, None, INSTANT)) as change:
        await delete_policy(change, policy_id)
    async with api_database.transaction(org_id) as connection:
        assert await load_enabled(connection, org_id) == []
        assert (await list_policies(connection, org_id, PolicyFilter())).total == 0
        assert await one(connection, "SELECT count(*) FROM policy_versions WHERE policy_id = %s", policy_id) == 2
        assert await one(connection, "SELECT generation FROM org_state WHERE org_id = %s", org_id) == 3
        with pytest.raises(NotFoundError):
            await get_policy(connection, org_id, policy_id)
    with pytest.raises(NotFoundError):
        async with begin_change(api_database, Change(org_id, ANN, None, INSTANT)) as change:
            await delete_policy(change, policy_id)
    async with api_database.transaction(org_id) as connection:  # what failed changed nothing
        assert await one(connection, "SELECT generation FROM org_state WHERE org_id = %s", org_id) == 3


async def test_the_limit_holds_under_a_race(
    api_database: Database, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "POLICIES_MAX", 3)
    results = await asyncio.gather(
        *(create(api_database, organization.org_id) for _ in range(6)), return_exceptions=True
    )
    refused = [result for result in results if isinstance(result, ConflictError)]
    assert (len(refused), len(results) - len(refused)) == (3, 3)


async def test_an_allow_that_decides_before_the_defaults_warns_of_nothing(
    api_database: Database, organization: Organization
) -> None:
    org_id = organization.org_id
    async with begin_change(api_database, Change(org_id, SYSTEM, None, INSTANT)) as change:
        seeded = await seed_default_policies(change)
    created = await create(
        api_database, org_id, name="All of GitHub", rego_policy=HEAD + 'allow if input.tool == "github"'
    )
    assert [policy.priority for policy in seeded] == [policy.priority for policy in default_policies()]
    assert created.warnings == ()


async def test_seeding_happens_once(api_database: Database, organization: Organization) -> None:
    org_id = organization.org_id
    seeded: list[list[RulePolicy]] = []
    for _ in range(2):
        async with begin_change(api_database, Change(org_id, SYSTEM, None, INSTANT)) as change:
            seeded.append(await seed_default_policies(change))
            for policy in seeded[-1]:
                await delete_policy(change, policy.policy_id)
    assert seeded[0]
    assert seeded[1] == []  # who deleted the defaults meant it


async def test_a_draft_is_tried_before_it_is_stored() -> None:
    checked = await check_policy(PolicyDraft("Mine", HEAD + "allow := true"), DATA)
    assert checked.warnings == ()


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": "\ud800"}, "name"),
        ({"description": "x" * 1001}, "description"),
        ({"priority": -1}, "priority"),
        ({"priority": 1001}, "priority"),
        ({"rego_policy": " "}, "rego_policy"),
        ({"rego_policy": HEAD + "#" + "ä" * 33_000}, "rego_policy"),
        ({"rego_policy": HEAD + "allow if {"}, "rego_policy"),
    ],
)
async def test_a_draft_beyond_its_limits_is_refused(draft: dict[str, Any], field: str) -> None:
    wanted = PolicyDraft(**({"name": "Mine", "rego_policy": HEAD + "allow := true"} | draft))
    with pytest.raises(ValidationError) as refusal:
        await check_policy(wanted, DATA)
    assert refusal.value.details is not None
    assert refusal.value.details["field"] == field
