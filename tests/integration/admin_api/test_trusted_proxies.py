"""Behind a trusted reverse proxy, limits and the record know the client; of anybody else no header is believed."""

from ipaddress import ip_network

import pytest

from admin_api.forwarded import TrustedProxies
from headgate.agents.scopes import Scope
from headgate.organizations.model import Role
from headgate.ratelimits.classes import DEFAULT_QUOTAS, RateClass
from headgate.ratelimits.gcra import Quota

QUOTAS = {**DEFAULT_QUOTAS, RateClass.PUBLIC: Quota(1, 60)}


@pytest.mark.parametrize(
    ("trusted", "statuses"),
    [("127.0.0.1/32", [202, 202, 429]), ("192.0.2.1/32", [202, 429, 429])],
    ids=["ours", "nobodys"],
)
async def test_each_client_has_a_quota_of_its_own(start_api, trusted: str, statuses: list[int]) -> None:
    api = await start_api(rate_limits=True, quotas=QUOTAS, trusted_proxies=TrustedProxies((ip_network(trusted),)))
    event = {"event": "signup_started", "subject": "sam@example.com"}
    async with api.client() as client:
        answers = [
            await client.post("/v1/funnel-events", json=event, headers={"X-Forwarded-For": f"203.0.113.1, {shown}"})
            for shown in ("198.51.100.1", "198.51.100.2", "198.51.100.2")
        ]
    assert [one.status_code for one in answers] == statuses


@pytest.mark.parametrize(
    ("trusted", "recorded"), [("127.0.0.0/8", "198.51.100.1"), ("192.0.2.1/32", "127.0.0.1")], ids=["ours", "nobodys"]
)
async def test_the_record_names_the_client(start_api, organization, trusted: str, recorded: str) -> None:
    api = await start_api(trusted_proxies=TrustedProxies((ip_network(trusted),)))
    _, key = await api.key(organization.org_id, Scope.ADMIN)
    async with api.client(Authorization=f"Bearer {key}", X_Forwarded_For="203.0.113.9, 198.51.100.1") as client:
        made = await client.post("/admin/keys", json={"kind": "webhook", "name": "receiver"})
        assert made.status_code == 201, made.text
        found = await client.get("/admin/audit", params={"event_type": "key.created", "limit": 1})
    assert found.json()["data"][0]["actor"]["address"] == recorded


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
@pytest.mark.parametrize(
    ("trusted", "is_told"), [((), True), (("192.0.2.1/32",), True), (("127.0.0.0/8",), False)], ids=str
)
async def test_a_proxy_that_is_not_believed_is_told_of(
    start_api, organization, header: str, trusted: tuple[str, ...], is_told: bool
) -> None:
    api = await start_api(trusted_proxies=TrustedProxies(tuple(map(ip_network, trusted))))
    async with api.client() as client, api.as_role(organization.org_id, Role.OPERATOR) as operator:
        assert (await operator.get("/health")).json()["warnings"] == []
        await client.get("/health/live", headers={header: "for=198.51.100.1"})
        warnings = (await operator.get("/health")).json()["warnings"]
        assert "warnings" not in (await client.get("/health")).json()  # nobody else is told of anything
    assert [("HEADGATE_TRUSTED_PROXIES" in one, header in one, "127.0.0.1" in one) for one in warnings] == (
        [(True, True, True)] if is_told else []
    )
