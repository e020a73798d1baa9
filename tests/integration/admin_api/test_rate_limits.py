"""The specification's limits, shared through a real Valkey, and their headers."""

import asyncio
import time

from headgate.agents.scopes import KeyKind, Scope
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.ratelimits.classes import DEFAULT_QUOTAS, RateClass
from headgate.ratelimits.gcra import Quota
from tests.integration.ratelimits.conftest import valkey_server  # noqa: F401 - a fixture


async def test_the_fifty_first_administrators_request_in_a_minute(start_api, organization, valkey_url: str) -> None:
    api = await start_api(rate_limits=True, valkey_url=Secret(valkey_url))
    _, key = await api.key(organization.org_id, Scope.ADMIN)
    _, other = await api.key(organization.org_id, Scope.ADMIN)
    async with api.client(Authorization=f"Bearer {key}") as client:
        answers = [await client.get("/admin/keys") for _ in range(60)]
        refused = [answer for answer in answers if answer.status_code == 429]
        first = answers[0]
        assert [first.headers[f"X-RateLimit-{name}"] for name in ("Limit", "Remaining")] == ["50", "49"]
        assert 0 < int(first.headers["X-RateLimit-Reset"]) - time.time() <= 61
        assert answers[:50] == [answer for answer in answers[:50] if answer.status_code == 200]
        # None is earned back before the first one is a minute old.
        assert len(refused) == 10
        assert refused[0].json()["error"]["code"] == "RATE_LIMITED"
        assert int(refused[0].headers["Retry-After"]) >= 1
        assert refused[0].headers["X-RateLimit-Remaining"] == "0"
        # Another class, and another key, have quotas of their own; probes have none.
        assert (await client.get("/v1/approvals")).headers["X-RateLimit-Limit"] == "100"
        assert "X-RateLimit-Limit" not in (await client.get("/health/live")).headers
        again = await client.get("/admin/keys", headers={"Authorization": f"Bearer {other}"})
        assert again.headers["X-RateLimit-Remaining"] == "49"


async def test_no_quota_refuses_to_stop_or_to_revoke(start_api, organization) -> None:
    api = await start_api(rate_limits=True, quotas={**DEFAULT_QUOTAS, RateClass.ADMIN: Quota(1, 60)})
    _, key = await api.key(organization.org_id, Scope.ADMIN)
    spare, _ = await api.key(organization.org_id, Scope.ACTIONS_READ)
    switch = {"scope": "organization", "reason": "it sends spam"}
    async with api.client(Authorization=f"Bearer {key}") as client:
        assert [(await client.get("/admin/keys")).status_code for _ in range(2)] == [200, 429]
        stops = [await client.put("/admin/settings/kill-switch", json=switch) for _ in range(3)]
        assert [one.status_code for one in stops] == [200, 200, 200]
        assert (await client.post(f"/admin/agents/{organization.agent_id}/suspend", json={})).status_code != 429
        assert (await client.delete(f"/admin/keys/{spare.key_id}")).status_code in (200, 204)
        assert (await client.get("/admin/keys")).status_code == 429


async def test_reading_approvals_does_not_use_up_the_right_to_decide(start_api, organization) -> None:
    quotas = {**DEFAULT_QUOTAS, RateClass.ACTIONS: Quota(1, 60), RateClass.ADMIN: Quota(1, 60)}
    api = await start_api(rate_limits=True, quotas=quotas)
    _, key = await api.key(organization.org_id, Scope.APPROVALS_READ, Scope.APPROVALS_WRITE)
    nowhere = f"/v1/approvals/{new_id(IdPrefix.APPROVAL)}"
    async with api.client(Authorization=f"Bearer {key}") as client:
        assert [(await client.get("/v1/approvals")).status_code for _ in range(2)] == [200, 429]
        for path, body in ((f"{nowhere}/approve", {}), (f"{nowhere}/deny", {"reason": "no"})):
            assert (await client.post(path, json=body)).status_code == 404
        decided = await client.post(
            f"/admin/approvals/{nowhere.rpartition('/')[2]}/decision", json={"decision": "deny", "reason": "no"}
        )
        assert decided.status_code == 404
        assert decided.headers["X-RateLimit-Limit"] == "100"


async def test_an_agents_key_is_counted_even_where_it_may_not(start_api, organization) -> None:
    api = await start_api(rate_limits=True)
    _, key = await api.key(organization.org_id, Scope.ACTIONS_READ, kind=KeyKind.AGENT, agent_id=organization.agent_id)
    async with api.client(X_Agent_Key=key) as client:
        # All at once: on a busy machine one after the other takes so long that the quota is earned back meanwhile.
        answers = await asyncio.gather(*(client.get("/v1/approvals", timeout=60) for _ in range(150)))
    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(403), statuses.count(429)) == (100, 50)


async def test_the_quotas_are_the_operators(start_api, organization, valkey_url: str) -> None:
    quotas = {**DEFAULT_QUOTAS, RateClass.ADMIN: Quota(2, 30)}
    api = await start_api(rate_limits=True, valkey_url=Secret(valkey_url), quotas=quotas)
    _, key = await api.key(organization.org_id, Scope.ADMIN)
    async with api.client(Authorization=f"Bearer {key}") as client:
        answers = [await client.get("/admin/keys") for _ in range(3)]
    assert [one.status_code for one in answers] == [200, 200, 429]
    assert answers[0].headers["X-RateLimit-Limit"] == "2"
    assert 25 <= int(answers[2].headers["Retry-After"]) <= 30


async def test_redis_that_dies_under_load_fails_no_request(start_api, organization, valkey_server) -> None:  # noqa: F811
    api = await start_api(rate_limits=True, valkey_url=Secret(valkey_server.url))
    _, key = await api.key(organization.org_id, Scope.ADMIN)
    async with api.client(Authorization=f"Bearer {key}") as client:
        before = await client.get("/admin/keys")
        valkey_server.kill()
        after = await asyncio.gather(*(client.get("/admin/keys", timeout=60) for _ in range(60)))
        valkey_server.start()
    assert before.headers["X-RateLimit-Remaining"] == "49"
    # The process goes on with what it has let through: one before, 49 after.
    assert [one.status_code for one in after].count(200) == 49
    assert [one.status_code for one in after].count(429) == 11
