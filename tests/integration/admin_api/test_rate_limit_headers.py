"""What every answer says of its sender's quota, whatever the answer is; and fifty clients at the same moment."""

import asyncio

import pytest

from headgate.agents.scopes import KeyKind, Scope
from headgate.kernel.secrets import Secret

CLIENTS = 50
NAMES = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


@pytest.mark.parametrize(
    ("method", "path", "status", "limit"),
    [
        ("GET", "/admin/keys", 200, "50"),
        ("GET", "/admin/keys/key_00000000-0000-7000-8000-000000000000", 404, "50"),
        ("GET", "/admin/keys?limit=0", 400, "50"),
        ("POST", "/admin/agents", 400, "50"),
        ("GET", "/v1/approvals", 200, "100"),
        ("GET", "/v1/actions/act_00000000-0000-7000-8000-000000000000", 404, "100"),
        ("POST", "/v1/actions", 403, "100"),
        ("POST", "/v1/demo/evaluate", 400, "60"),
        ("POST", "/csp-report", 400, "60"),
    ],
)
async def test_every_limited_answer_tells_the_quota(
    start_api, organization, method: str, path: str, status: int, limit: str
) -> None:
    api = await start_api(rate_limits=True)
    async with api.as_admin(organization.org_id) as client:
        answer = await client.request(method, path)
    assert answer.status_code == status, answer.text
    assert [name for name in NAMES if name not in answer.headers] == []
    assert answer.headers["X-RateLimit-Limit"] == limit
    assert int(answer.headers["X-RateLimit-Remaining"]) == int(limit) - 1


@pytest.mark.parametrize(
    ("method", "path", "status", "limit"),
    [
        ("GET", "/admin/keys", 401, "50"),
        ("POST", "/v1/actions", 401, "100"),
        ("POST", "/v1/mfa/recovery-codes/verify", 401, "50"),
        ("PUT", "/admin/keys", 405, "50"),
        ("PATCH", "/v1/actions", 405, "100"),
        ("PUT", "/v1/demo/evaluate", 405, "60"),
        ("POST", "/admin/agents", 413, "50"),
        ("POST", "/v1/demo/evaluate", 413, "60"),
        ("POST", "/webhooks/jira/con_00000000-0000-7000-8000-000000000000", 413, "1000"),
        ("GET", "/admin/nothing", 404, "50"),
        ("GET", "/v1/nothing", 404, "100"),
    ],
)
async def test_a_refusal_before_it_is_known_who_asks_tells_the_quota_and_uses_none_of_it(
    start_api, organization, method: str, path: str, status: int, limit: str
) -> None:
    api = await start_api(rate_limits=True, body_limit_bytes=10_000)
    body = b"x" * 10_001 if status == 413 else b""
    async with api.client() as client:
        answers = [await client.request(method, path, content=body) for _ in range(2)]
    assert [one.status_code for one in answers] == [status, status], answers[0].text
    for answer in answers:
        assert [name for name in NAMES if name not in answer.headers] == []
        assert (answer.headers["X-RateLimit-Limit"], answer.headers["X-RateLimit-Remaining"]) == (limit, limit)
    async with api.as_admin(organization.org_id) as client:
        assert (await client.get("/admin/keys")).headers["X-RateLimit-Remaining"] == "49"


@pytest.mark.parametrize("shared", [True, False])
async def test_fifty_clients_each_get_their_own_quota_and_no_more(
    start_api, new_organization, valkey_url: str, shared: bool
) -> None:
    """One agent that floods costs the others nothing; a quota is exact under concurrency, with Valkey and without."""
    api = await start_api(rate_limits=True, valkey_url=Secret(valkey_url) if shared else None)
    organization = new_organization()
    keys = []
    for _ in range(CLIENTS):
        _, key = await api.key(
            organization.org_id, Scope.ACTIONS_READ, kind=KeyKind.AGENT, agent_id=organization.agent_id
        )
        keys.append(key)

    async def flood() -> list[int]:
        async with api.client(X_Agent_Key=keys[0]) as client:
            answers = await asyncio.gather(*(client.get("/v1/actions", timeout=60) for _ in range(150)))
        assert all(int(one.headers["Retry-After"]) >= 1 for one in answers if one.status_code == 429)
        return [one.status_code for one in answers]

    async def modest(key: str) -> list[int]:
        async with api.client(X_Agent_Key=key) as client:
            return [(await client.get("/v1/actions", timeout=60)).status_code for _ in range(5)]

    flooded, *others = await asyncio.gather(flood(), *(modest(key) for key in keys[1:]))
    assert [statuses for statuses in others if set(statuses) != {200}] == []
    assert (flooded.count(200), flooded.count(429)) == (100, 50)


async def test_a_quota_is_one_for_all_processes_and_goes_on_alone_without_valkey(
    start_api, new_organization, valkey_url: str, tmp_path
) -> None:
    organization = new_organization()
    apis = [
        await start_api(rate_limits=True, valkey_url=Secret(valkey_url), data_dir=tmp_path / name)
        for name in ("one", "two")
    ]
    alone = await start_api(rate_limits=True, valkey_url=Secret("redis://127.0.0.1:9"), data_dir=tmp_path / "alone")
    _, key = await apis[0].key(organization.org_id, Scope.ADMIN)
    remaining = []
    for api in [*apis, *apis, alone]:
        async with api.client(Authorization=f"Bearer {key}") as client:
            remaining.append(int((await client.get("/admin/keys")).headers["X-RateLimit-Remaining"]))
    assert remaining == [49, 48, 47, 46, 49]
