"""Inbound addresses have a class of their own: a thousand requests a minute for each (specification, "Limits")."""

import asyncio

import pytest

_ONE, _OTHER = (f"con_01a1fea6-b756-7a46-9ff4-412cec3a741{last}" for last in "12")


@pytest.mark.parametrize("integration", ["jira", "github", "github-actions", "discord"])
async def test_each_address_has_a_thousand(start_api, integration: str) -> None:
    api = await start_api(rate_limits=True)
    async with api.client() as client:
        answer = await client.post(f"/webhooks/{integration}/{_ONE}", content=b"{}")
    assert (answer.status_code, answer.headers["X-RateLimit-Limit"]) == (404, "1000")
    assert answer.headers["X-RateLimit-Remaining"] == "999"


async def test_the_thousand_and_first_waits_and_another_address_does_not(start_api) -> None:
    api = await start_api(rate_limits=True)
    async with api.client() as client:
        gate = asyncio.Semaphore(50)

        async def post(connection: str) -> int:
            async with gate:
                answer = await client.post(f"/webhooks/jira/{connection}", content=b"{}", timeout=60)
            if answer.status_code == 429:
                assert int(answer.headers["Retry-After"]) >= 1
            return answer.status_code

        # A busy machine earns some of the quota back meanwhile: more are sent than could be earned.
        statuses = await asyncio.gather(*(post(_ONE) for _ in range(2500)))
        assert set(statuses) == {404, 429}
        assert statuses.count(404) >= 1000
        assert await post(_OTHER) == 404


async def test_what_is_no_integration_is_not_there(start_api) -> None:
    api = await start_api()
    async with api.client() as client:
        for path in (
            f"/webhooks/mail/{_ONE}",
            f"/webhooks/teams/{_ONE}",
            "/webhooks/jira/con_x",
            "/webhooks/jira/x%00",
        ):
            assert (await client.post(path, content=b"{}")).status_code in (400, 404)
