"""Tokens of a real provider: its algorithms, its rotation, its absence, and those of several beside each other."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec.structs import replace
from structlog.testing import capture_logs

import admin_api.jwks
from admin_api.claims import ClaimNames
from admin_api.process_settings import OidcSettings
from headgate.demo.certificates import write_service_certificate
from headgate.organizations.model import Role
from tests.http_server import any_server
from tests.integration.admin_api.identity.provider import (
    ALGORITHMS,
    IdentityProvider,
    new_keys,
    program_of,
    run_identity_provider,
)

_CLAIMS = {"roles": ["gate-admins"], "acr": "urn:example:two"}


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IdentityProvider]:
    people = {f"program-{one}": _CLAIMS for one in ALGORITHMS}
    folder = tmp_path_factory.mktemp("provider")
    with run_identity_provider(folder, people, [program_of(one) for one in ALGORITHMS]) as started:
        yield started


@pytest.fixture
def trusted(provider: IdentityProvider, organization) -> OidcSettings:
    return OidcSettings(
        issuer=provider.issuer,
        audience="headgate",
        claims=ClaimNames(roles="roles", aal="acr", role_values={"gate-admins": Role.ADMIN}),
        default_organization=organization.org_id,
        organizations=frozenset({organization.org_id}),
    )


async def _ask(api, token: str) -> int:
    async with api.client(Authorization=f"Bearer {token}") as client:
        return int((await client.get("/admin/agents")).status_code)


async def test_every_algorithm_through_discovery(start_api, provider, trusted) -> None:
    api = await start_api(oidc=(trusted,), local_tokens=False)
    for algorithm in ALGORITHMS:
        token = await provider.token_of_program(f"program-{algorithm}", "headgate")
        assert jwt.get_unverified_header(token)["alg"] == algorithm
        assert await _ask(api, token) == 200, algorithm
        # One character of what was signed.
        head, claims, signature = token.split(".")
        assert await _ask(api, f"{head}.{claims[:-1]}{'A' if claims[-1] != 'A' else 'B'}.{signature}") == 401
    assert await _ask(api, await provider.token_of_program("program-RS256", "another")) == 401


async def test_a_provider_behind_a_private_authority(start_api, trusted, tmp_path: Path) -> None:
    root, certificate = write_service_certificate(tmp_path, "127.0.0.1")
    [published] = [key for key in new_keys(1) if key["alg"] == "ES256"]
    with any_server(lambda _, path, __: _provider_document(path, issuer[0], published), certificate=certificate) as url:
        issuer = [url]
        claims = {**_CLAIMS, "iss": url, "aud": "headgate", "sub": "p", "iat": int(time.time())}
        token = jwt.encode(
            {**claims, "exp": claims["iat"] + 600}, jwt.PyJWK(published).key, "ES256", {"kid": published["kid"]}
        )
        setting = replace(trusted, issuer=url)
        believed = await start_api(oidc=(setting,), upstream_ca_file=root)
        assert await _ask(believed, token) == 200
        stranger = await start_api(data_dir=tmp_path / "stranger", oidc=(setting,))
        with capture_logs() as lines:
            assert await _ask(stranger, token) == 503
    [line] = [one for one in lines if one["event"] == "provider_metadata_not_fetched"]
    assert "CERTIFICATE_VERIFY_FAILED" in line["error"]
    assert "HEADGATE_UPSTREAM_CA_FILE" in line["error"]


def _provider_document(path: str, issuer: str, key: dict[str, object]) -> tuple[int, str, bytes]:
    documents: dict[str, object] = {
        "/.well-known/openid-configuration": {"issuer": issuer, "jwks_uri": f"{issuer}/jwks"},
        "/jwks": {"keys": [{name: value for name, value in key.items() if name != "d"}]},
    }
    return 200, "application/json", json.dumps(documents[path]).encode()


async def test_two_providers_do_not_speak_for_each_other(
    start_api, provider, trusted, new_organization, tmp_path
) -> None:
    theirs = new_organization().org_id
    # The other one signs with the same keys and key ids, as a copied configuration would.
    other = IdentityProvider(tmp_path, provider.port + 1, {"program-RS256": {**_CLAIMS, "org_id": theirs}})
    other.clients, other.keys = [program_of("RS256")], provider.keys
    other.start()
    try:
        api = await start_api(
            oidc=(
                trusted,
                replace(trusted, issuer=other.issuer, default_organization=None, organizations=frozenset({theirs})),
            )
        )
        token = await other.token_of_program("program-RS256", "headgate")
        assert await _ask(api, token) == 200
        assert await _ask(api, await provider.token_of_program("program-RS256", "headgate")) == 200
        narrow = await start_api(data_dir=tmp_path / "narrow", oidc=(replace(trusted, issuer=other.issuer),))
        assert await _ask(narrow, token) == 401  # another organization than those that it may name
        stranger = await start_api(data_dir=tmp_path / "stranger", oidc=(trusted,))
        assert await _ask(stranger, token) == 401  # an issuer that nobody trusts, though its keys are known
    finally:
        other.stop()


async def test_keys_are_rotated_and_the_provider_goes_away(
    start_api, trusted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_api.jwks, "_REFETCH_FLOOR_SECONDS", 0.5)
    with run_identity_provider(tmp_path, {"program-ES256": _CLAIMS}, [program_of("ES256")]) as own:
        api = await start_api(oidc=(replace(trusted, issuer=own.issuer),))
        old = await own.token_of_program("program-ES256", "headgate")
        assert await _ask(api, old) == 200

        own.stop()
        own.keys = [*new_keys(2), *own.keys]  # the old ones stay published while their tokens live
        own.start()
        new = await own.token_of_program("program-ES256", "headgate")
        assert jwt.get_unverified_header(new)["kid"] == "ES256-2"
        await asyncio.sleep(0.6)
        assert [await _ask(api, one) for one in (new, old)] == [200, 200]

        unknown = jwt.encode(
            jwt.decode(new, options={"verify_signature": False}),
            ec.generate_private_key(ec.SECP256R1()),
            "ES256",
            {"kid": "ES256-3"},
        )
        own.stop()
        await asyncio.sleep(0.6)
        assert [await _ask(api, one) for one in (new, old)] == [200, 200]
        assert await _ask(api, unknown) == 401
        # A process that starts now knows no key, and lets nobody in.
        late = await start_api(data_dir=tmp_path / "late", oidc=(replace(trusted, issuer=own.issuer),))
        assert await _ask(late, new) == 503
