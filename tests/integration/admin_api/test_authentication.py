"""People: upserted from tokens, local or of an OpenID Connect issuer that publishes its keys over HTTP."""

import json
import time
from collections.abc import Iterator

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from admin_api.claims import ClaimNames
from admin_api.process_settings import OidcSettings
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role
from tests.http_server import Answer, http_server

KEY = rsa.generate_private_key(65537, 2048)


@pytest.fixture
def issuer() -> Iterator[str]:
    jwk = json.loads(RSAAlgorithm.to_jwk(KEY.public_key())) | {"kid": "k1"}

    def answer(path: str, _: bytes) -> Answer:
        documents = {
            "/.well-known/openid-configuration": {"issuer": address, "jwks_uri": f"{address}/keys"},
            "/keys": {"keys": [jwk]},
        }
        status = 200 if path in documents else 404
        return status, "application/json", json.dumps(documents.get(path)).encode()

    with http_server(answer) as address:
        yield address


async def test_a_person_is_upserted_from_each_token(running_api, organization, superuser) -> None:
    org_id = organization.org_id
    async with running_api.as_role(org_id, Role.VIEWER, subject="bob") as client:
        for _ in range(3):
            assert (await client.get("/admin/policies")).status_code == 200
    token = running_api.token(org_id, Role.ADMIN, subject="bob", email="bob@example.com")
    async with running_api.client(Authorization=f"Bearer {token}") as client:
        agent = (await client.post("/admin/agents", json={"name": "a"})).json()
    users = superuser.execute(
        "SELECT user_id, issuer, subject, email, roles FROM users WHERE org_id = %s", [org_id]
    ).fetchall()
    assert users == [(agent["created_by"], "headgate", "bob", "bob@example.com", ["admin"])]
    created = superuser.execute(
        "SELECT count(*) FROM journal WHERE org_id = %s AND event_type = 'user.created'", [org_id]
    ).fetchone()
    assert created == (1,)


async def test_a_token_cannot_make_an_organization(running_api, superuser) -> None:
    absent = new_id(IdPrefix.ORGANIZATION)
    async with running_api.as_admin(absent) as client:
        answer = await client.get("/admin/agents")
    assert answer.status_code == 403
    assert "organization" in answer.json()["error"]["message"]
    assert superuser.execute("SELECT count(*) FROM users WHERE org_id = %s", [absent]).fetchone() == (0,)


async def test_an_openid_connect_issuer(start_api, organization, new_organization, issuer: str) -> None:
    api = await start_api(
        local_tokens=False,
        oidc=(
            OidcSettings(
                issuer=issuer,
                audience="headgate-api",
                claims=ClaimNames(organization="tenant.id", roles="realm_access.roles", aal="acr"),
                default_organization=organization.org_id,
                organizations=frozenset({organization.org_id}),
            ),
        ),
    )
    claims = {
        "iss": issuer,
        "aud": "headgate-api",
        "sub": "carol",
        "exp": int(time.time()) + 60,
        "realm_access": {"roles": ["admin"]},
    }

    async def ask(token: str) -> int:
        async with api.client(Authorization=f"Bearer {token}") as client:
            return (await client.get("/admin/agents")).status_code

    def mint(**changes: object) -> str:
        return jwt.encode(claims | changes, KEY, "RS256", {"kid": "k1"})

    assert await ask(mint()) == 200
    assert await ask(mint(tenant={"id": organization.org_id})) == 200
    assert await ask(mint(tenant={"id": new_organization().org_id})) == 401
    assert await ask(mint(aud="headgate")) == 401
    assert await ask(mint(realm_access={"roles": ["viewer"]})) == 403
    # The local issuer is not trusted where it is switched off.
    assert await ask(api.token(organization.org_id, Role.ADMIN)) == 401


async def test_an_issuer_out_of_reach_is_503_and_nobody_gets_in(start_api, organization) -> None:
    nowhere = "http://127.0.0.1:9"
    api = await start_api(oidc=(OidcSettings(issuer=nowhere, audience="headgate"),))
    token = jwt.encode(
        {"iss": nowhere, "aud": "headgate", "sub": "x", "exp": int(time.time()) + 60, "org_id": organization.org_id},
        KEY,
        "RS256",
        {"kid": "k1"},
    )
    async with api.client(Authorization=f"Bearer {token}") as client:
        answer = await client.get("/admin/agents")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert answer.headers["Retry-After"] == "1"
