"""The health routes of single parts: true, cheap, and without details for those who show no credential."""

import asyncio

import pytest
from redis.asyncio import Redis

from headgate.agents.scopes import Scope
from headgate.judges.breaker import FAILURES_TO_OPEN, Breaker
from headgate.judges.judge import Lane
from headgate.kernel.secrets import Secret
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID, Role


async def test_the_database(gate, organization) -> None:
    open_to_all = (await gate.client().get("/health/db-stats")).json()
    assert (open_to_all["state"], open_to_all["details"]) == ("ok", None)
    assert 0 < open_to_all["latency_ms"] < 2000
    assert 1 <= open_to_all["pool"]["size"] <= open_to_all["pool"]["most"]
    assert open_to_all["unsealed_events"] >= 0
    assert (await gate.person("victor", Role.VIEWER).get("/health/db-stats")).json()["details"] is None
    operator = gate.client(Authorization=f"Bearer {gate.api.token(gate.org_id, Role.OPERATOR)}")
    details = (await operator.get("/health/db-stats")).json()["details"]
    tables = {table["name"]: table["bytes"] for table in details["tables"]}
    assert {"actions", "agents", "audit_chain", "audit_events"} <= set(tables)
    assert not [name for name in tables if name.startswith("audit_events_")], "partitions count as their table"
    assert sum(tables.values()) < details["database_bytes"]
    assert 1 <= details["connections"] <= details["most_connections"]


async def test_redis(start_api, organization, valkey_url: str) -> None:
    api = await start_api(valkey_url=Secret(valkey_url), rate_limits=True)
    async with api.client() as client, api.as_role(organization.org_id, Role.OPERATOR) as operator:
        there = (await client.get("/health/redis")).json()
        assert (there["state"], there["rate_limits"], there["details"]) == ("ok", "shared", None)
        details = (await operator.get("/health/redis")).json()["details"]
        assert details["used_memory_bytes"] > 0
        assert details["connected_clients"] >= 1


@pytest.mark.parametrize(
    ("is_first", "role", "is_shown"),
    [
        (False, Role.ADMIN, False),
        (False, Role.VIEWER, False),
        (False, Role.OPERATOR, True),
        (True, Role.ADMIN, True),
        (True, Role.VIEWER, False),
    ],
)
async def test_the_installations_figures_are_the_operators(
    start_api, organization, superuser, valkey_url: str, is_first: bool, role: Role, is_shown: bool
) -> None:
    """And its first organization's administrators', who run it where nobody is an operator."""
    api = await start_api(valkey_url=Secret(valkey_url), rate_limits=True)
    org_id = organization.org_id
    if is_first:
        org_id = DEFAULT_ORGANIZATION_ID
        superuser.execute("INSERT INTO organizations (org_id, name) VALUES (%s, 'First')", [org_id])
        superuser.execute("INSERT INTO org_state (org_id) VALUES (%s)", [org_id])
    async with api.as_role(org_id, role) as client:
        assert (await client.get("/health/live")).status_code == 200
        for path in ("/health/db-stats", "/health/redis"):
            answer = (await client.get(path)).json()
            assert (answer["state"], answer["details"] is not None) == ("ok", is_shown), path
        health = (await client.get("/health")).json()
        assert ("warnings" in health, "stops" in health) == (is_shown, role is Role.ADMIN)


async def test_a_key_reads_the_installations_figures_in_the_first_organization_alone(gate) -> None:
    key = await gate.key(Scope.ADMIN)
    assert (await key.get("/health/db-stats")).json()["details"] is None
    health = (await key.get("/health")).json()
    assert ("warnings" in health, health["stops"]) == (False, [])


async def test_redis_that_is_gone_and_none_at_all(start_api, organization, running_api, tmp_path) -> None:
    gone = await start_api(valkey_url=Secret("redis://127.0.0.1:9"), rate_limits=True, data_dir=tmp_path / "gone")
    async with gone.as_role(organization.org_id, Role.OPERATOR) as operator:
        await operator.get("/admin/organizations")
        answer = (await operator.get("/health/redis")).json()
        assert answer == {"state": "unavailable", "latency_ms": None, "rate_limits": "per process", "details": None}
    async with running_api.client() as client:
        assert (await client.get("/health/redis")).json()["state"] == "not configured"


async def test_memory(running_api) -> None:
    async with running_api.client() as client:
        figures = (await client.get("/health/memory")).json()
    assert 10_000_000 < figures["resident_bytes"] <= figures["peak_resident_bytes"]
    assert 0 < figures["open_files"] < figures["most_open_files"]
    assert figures["threads"] >= 1


async def test_administrators_see_the_names_of_their_destinations(gate, superuser) -> None:
    superuser.execute(
        "INSERT INTO destinations (org_id, destination, failures, open_until, updated_at)"
        " VALUES (%s, 'api.example:443', 9, now() + interval '1 minute', now())",
        [gate.org_id],
    )
    listed = (await gate.person().get("/health/circuit-breakers")).json()["breakers"]
    assert listed == [{"kind": "destination", "name": "api.example:443", "state": "open"}]
    assert "example" not in (await gate.client().get("/health/circuit-breakers")).text


async def test_circuit_breakers(gate) -> None:
    judges, now = gate.api.dependencies.nlp.judges, [0.0]
    mine, theirs = Breaker(lambda: now[0]), Breaker(lambda: now[0])
    judges._breakers[Lane(gate.org_id, "openai_compatible https://mine.example")] = mine
    judges._breakers[Lane("org_other", "anthropic https://theirs.example")] = theirs
    admin, path = gate.person(), "/health/circuit-breakers"
    # Destinations are those of all organizations, and so of other tests' too: what counts is what changes.
    before = (await admin.get(path)).json()
    for _ in range(FAILURES_TO_OPEN):
        mine.failed(now[0])
    listed = (await admin.get(path)).json()
    assert listed["status"] == "degraded"
    assert {name: listed[name] - before[name] for name in ("closed", "open")} == {"closed": -1, "open": 1}
    assert listed["breakers"] == [{"kind": "judge", "name": "openai_compatible https://mine.example", "state": "open"}]
    now[0] = 60.0
    open_to_all = await gate.client().get(path)
    assert (open_to_all.json()["half_open"] - before["half_open"], open_to_all.json()["breakers"]) == (1, None)
    assert "example" not in open_to_all.text


async def test_objectives(running_api) -> None:
    async with running_api.client() as client:
        for _ in range(100):
            answer = (await client.get("/health/slo-status")).json()
            if answer["objectives"]:
                break
            await asyncio.sleep(0.05)
        await client.get("/nothing-here")
        await asyncio.to_thread(running_api.dependencies.slos.sample)
        after = {one["name"]: one for one in (await client.get("/health/slo-status")).json()["objectives"]}
    assert answer["status"] in ("ok", "warning", "critical")
    assert after["api_availability"]["windows"]["5m"]["total"] >= 1
    assert set(after["api_availability"]["windows"]) == {"5m", "30m", "1h", "6h"}


async def test_platform_statistics_are_for_any_origin(running_api) -> None:
    async with running_api.client(Origin="https://status.example") as client:
        answer = await client.get("/health/platform-stats")
        preflight = await client.options("/health/platform-stats", headers={"Access-Control-Request-Method": "GET"})
        elsewhere = await client.get("/health/memory")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.json()["status"] == "ok"
    assert answer.json()["open_approvals"] >= 0
    assert (preflight.status_code, preflight.content) == (200, b"")
    assert preflight.headers["Access-Control-Allow-Methods"] == "GET, OPTIONS"
    assert "Access-Control-Allow-Credentials" not in preflight.headers
    assert "Access-Control-Allow-Origin" not in elsewhere.headers


async def test_the_version_names_its_commit(running_api) -> None:
    async with running_api.client() as client:
        version = (await client.get("/health/version")).json()
    assert set(version) == {"name", "version", "interface_version", "commit", "built_at"}
    assert version["commit"] is None or len(version["commit"]) == 40


@pytest.mark.parametrize("path", ["/health/db-stats", "/health/redis", "/health/platform-stats", "/health/ready"])
async def test_without_a_database_they_answer_all_the_same(start_api, path: str) -> None:
    api = await start_api(database_dsn=Secret("postgresql://nobody@127.0.0.1:9/none"))
    async with api.client() as client:
        answer = await client.get(path, timeout=20)
    assert answer.status_code == (503 if path == "/health/ready" else 200), answer.text


async def test_polling_costs_the_parts_one_look_a_second(start_api, valkey_url: str) -> None:
    api = await start_api(valkey_url=Secret(valkey_url))
    async with api.client() as client, Redis.from_url(valkey_url) as valkey:
        before = (await valkey.info("commandstats")).get("cmdstat_ping", {}).get("calls", 0)
        answers = await asyncio.gather(*(client.get("/health/redis") for _ in range(100)))
        after = (await valkey.info("commandstats"))["cmdstat_ping"]["calls"]
    assert {answer.status_code for answer in answers} == {200}
    assert after - before <= 5
