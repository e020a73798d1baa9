"""The specification's limits, shared through a real Valkey, and their headers."""

import time

from headgate.agents.scopes import KeyKind, Scope
from headgate.kernel.secrets import Secret


async def test_the_fifty_first_administrators_request_in_a_minute(start_api, organization, valkey_url: str) -> None:
    api = await start_api(rate_limits=True, valkey_url=Secret(valkey_url))
    _, key = await api.key(organization.org_id, Scope.ADMIN)
    _, other = await api.key(organization.org_id, Scope.ADMIN)
    async with api.client(Authorization=f"Bearer {key}") as client:
        answers = [await client.get("/admin/keys") for _ in range(60)]
        refused = [answer for answer in answers if answer.status_code == 429]
        first = answers[0]
        assert [first.headers[f"X-RateLimit-{name}"] for name in ("Limit", "Remaining")] == ["50", "49"]
        assert abs(int(first.headers["X-RateLimit-Reset"]) - time.time()) < 10
        assert answers[:50] == [answer for answer in answers[:50] if answer.status_code == 200]
        assert len(refused) >= 5
        assert refused[0].json()["error"]["code"] == "RATE_LIMITED"
        assert int(refused[0].headers["Retry-After"]) >= 1
        assert refused[0].headers["X-RateLimit-Remaining"] == "0"
        # Another class, and another key, have quotas of their own; probes have none.
        assert (await client.get("/v1/approvals")).headers["X-RateLimit-Limit"] == "100"
        assert "X-RateLimit-Limit" not in (await client.get("/health/live")).headers
        again = await client.get("/admin/keys", headers={"Authorization": f"Bearer {other}"})
        assert again.headers["X-RateLimit-Remaining"] == "49"


async def test_an_agents_key_is_counted_even_where_it_may_not(start_api, organization) -> None:
    api = await start_api(rate_limits=True)
    _, key = await api.key(organization.org_id, Scope.ACTIONS_READ, kind=KeyKind.AGENT, agent_id=organization.agent_id)
    async with api.client(X_Agent_Key=key) as client:
        statuses = [(await client.get("/v1/approvals")).status_code for _ in range(110)]
    assert set(statuses[:100]) == {403}
    assert 429 in statuses[100:]
