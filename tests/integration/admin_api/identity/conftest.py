"""A real provider with people, and an API at which they sign in with browsers."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from admin_api.process_settings import LoginClient, OidcSettings
from headgate.kernel.public_roots import public_roots
from headgate.kernel.secrets import Secret
from tests.free_port import free_port
from tests.integration.admin_api.identity.provider import (
    SECRET,
    IdentityProvider,
    browser_client,
    run_identity_provider,
    sign_in_at,
)

COOKIE = "headgate_session"
_PEOPLE: dict[str, dict[str, Any]] = {
    "carol": {"email": "carol@example.com", "email_verified": True, "name": "Carol", "roles": ["admin"]},
    "dave": {"roles": ["viewer"]},
    "mallory": {"roles": ["admin"], "org_id": "org_00000000-0000-7000-8000-0000000000ff"},
}


@dataclass
class House:
    """An API with a public address, the provider at which its people sign in, and their organization."""

    api: Any
    provider: IdentityProvider
    org_id: str
    superuser: Any

    def browser(self, **headers: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            verify=public_roots(), base_url=self.api.url, headers=headers, timeout=60, trust_env=False
        )

    async def sent_back(self, browser: httpx.AsyncClient, person: str = "carol", **query: str) -> str:
        """The address that the provider sends the browser to; it is not opened."""
        begun = await browser.get("/auth/login", params=query)
        assert begun.status_code == 303, begun.text
        async with httpx.AsyncClient(verify=public_roots(), timeout=60, trust_env=False) as at_provider:
            answer = await sign_in_at(at_provider, begun.headers["location"], person)
        return answer.headers["location"]

    async def signed_in(self, browser: httpx.AsyncClient, person: str = "carol", **query: str) -> httpx.Response:
        answer = await browser.get(await self.sent_back(browser, person, **query))
        assert answer.status_code == 303, answer.text
        return answer

    def events(self, *types: str) -> list[tuple[str, dict[str, Any]]]:
        rows = self.superuser.execute(
            "SELECT event_type, payload FROM journal WHERE org_id = %s AND event_type = ANY (%s) ORDER BY 1",
            [self.org_id, list(types)],
        ).fetchall()
        return [(kind, json.loads(payload)["data"]) for kind, payload in rows]


@pytest.fixture(scope="module")
def login_provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IdentityProvider]:
    redirect = "http://127.0.0.1/auth/callback"
    # Native: any port of loopback (RFC 8252, section 7.3).
    native = {"application_type": "native", "post_logout_redirect_uris": ["http://127.0.0.1/auth/signed-out"]}
    clients = [
        browser_client("web", redirect, **native),
        browser_client("public", redirect, "ES256", token_endpoint_auth_method="none", **native),
    ]
    clients[1].pop("client_secret")
    clients.append(browser_client("own", "http://127.0.0.1/auth/providers/own/callback", **native))
    with run_identity_provider(tmp_path_factory.mktemp("provider"), _PEOPLE, clients) as started:
        yield started


@pytest.fixture
async def new_house(start_api, login_provider, organization, superuser, tmp_path) -> AsyncIterator[Any]:
    provider = login_provider

    async def make(
        client: LoginClient | None = None,
        *,
        default_organization: bool = True,
        organizations: str | None = None,
        port: int | None = None,
        **changes: Any,
    ) -> House:
        """``organizations`` own: the provider speaks for this organization alone."""
        port = free_port() if port is None else port
        oidc = OidcSettings(
            issuer=provider.issuer,
            audience="headgate",
            login=client or LoginClient("web", Secret(SECRET)),
            default_organization=organization.org_id if default_organization else None,
            organizations=frozenset({organization.org_id}) if organizations == "own" else None,
        )
        api = await start_api(
            data_dir=tmp_path / str(port),
            port=port,
            **({"oidc": (oidc,), "public_url": f"http://127.0.0.1:{port}"} | changes),
        )
        return House(api, provider, organization.org_id, superuser)

    if provider.process is None:
        provider.start()
    yield make


@pytest.fixture
async def house(new_house) -> House:
    return await new_house()
