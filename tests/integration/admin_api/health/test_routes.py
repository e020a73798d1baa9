import re

from prometheus_client.parser import text_string_to_metric_families

from headgate.kernel.secrets import Secret


async def test_a_healthy_process(start_api, valkey_url: str) -> None:
    api = await start_api(valkey_url=Secret(valkey_url))
    healthy = {"status": "ok", "parts": {"database": "ok", "recorder": "ok", "valkey": "ok"}}
    async with api.client() as client:
        for path in ("/health", "/health/ready", "/ready"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()) == (200, healthy)
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
