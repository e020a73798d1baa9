import re

from prometheus_client.parser import text_string_to_metric_families

from headgate.kernel.secrets import Secret
from headgate.queue.store import defer
from headgate.reports.service import MAKE_REPORT


async def test_a_healthy_process(start_api, valkey_url: str) -> None:
    api = await start_api(valkey_url=Secret(valkey_url))
    healthy = {"status": "ok", "parts": {"database": "ok", "recorder": "ok", "valkey": "ok", "vault": "not configured"}}
    async with api.client() as client:
        for path in ("/health", "/health/ready", "/ready"):
            answer = await client.get(path)
            document = answer.json()
            # Of all organizations, and so of other tests' too.
            assert isinstance(document.pop("break_glass_open_reviews"), int)
            latencies = document.pop("latency_ms")
            assert (answer.status_code, document) == (200, healthy)
            assert all(0 < latencies[part] < 2000 for part in ("database", "valkey"))
        assert (await client.get("/health/live")).json() == {"status": "ok"}
        version = (await client.get("/health/version")).json()
        assert version["interface_version"] == "1.0.5"
        assert re.fullmatch(r"\d+\.\d+\.\d+|0\+not\.installed", version["version"])


async def test_valkey_gone_is_degraded_and_still_ready(start_api) -> None:
    api = await start_api(valkey_url=Secret("redis://127.0.0.1:9"))
    async with api.client() as client:
        answer = await client.get("/ready")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert answer.json()["parts"]["valkey"] == "unavailable"
    assert answer.json()["latency_ms"]["valkey"] is None


async def test_metrics_are_prometheus_text(running_api) -> None:
    async with running_api.client() as client:
        await client.get("/health/live")
        answer = await client.get("/health/metrics")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert families["headgate_api_database_up"].samples[0].value == 1
    counted = [
        sample.labels
        for sample in families["headgate_api_requests"].samples
        if sample.name.endswith("_total") and sample.labels["route"] == "/health/live"
    ]
    assert {"method": "GET", "route": "/health/live", "status": "200"} in counted
    assert "headgate_api_unsealed_events" in families


async def test_open_approvals_are_counted(start_api, organization, hold) -> None:
    api = await start_api()

    async def counted() -> float:
        async with api.client() as client:
            families = text_string_to_metric_families((await client.get("/health/metrics")).text)
        return next(family.samples[0].value for family in families if family.name == "headgate_api_open_approvals")

    before = await counted()
    await hold(organization)
    assert await counted() == before + 1


async def test_what_waits_in_the_queues_is_counted(start_api, organization, api_database) -> None:
    api = await start_api()

    async def waiting() -> float:
        async with api.client() as client:
            families = text_string_to_metric_families((await client.get("/health/metrics")).text)
        jobs = next(family for family in families if family.name == "headgate_api_queue_jobs")
        return next(one.value for one in jobs.samples if one.labels == {"queue": "reports", "state": "waiting"})

    before = await waiting()
    async with api_database.transaction(organization.org_id) as connection:
        assert await defer(connection, MAKE_REPORT, organization.org_id, "rep_nobody_makes")
    assert await waiting() == before + 1
