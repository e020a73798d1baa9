"""A master key that is missing or wrong: the API starts, says so, and refuses only what needs it."""

import asyncio
import json

import pytest

from headgate.kernel.secrets import Secret
from headgate.organizations.model import Role
from headgate.vault.master_keys import create_master_keys
from headgate.vault.service import Vault
from tests.key_management import service_of
from tests.transit_server import TOKEN


async def _kept(api_database, organization, keys_file) -> str:
    async with api_database.transaction(organization.org_id) as connection:
        await Vault(keys_file).keep(connection, organization.org_id, "webhook/x/1", Secret("x"))
    return json.loads(await asyncio.to_thread(keys_file.read_text))["current"]


@pytest.mark.parametrize("how", ["missing", "wrong"])
async def test_it_starts_says_so_and_goes_on(start_api, api_database, organization, tmp_path, capsys, how: str) -> None:
    keys_file = tmp_path / "keys" / "master-keys.json"
    key_id = await _kept(api_database, organization, keys_file)
    original = await asyncio.to_thread(keys_file.read_text)
    document = {"missing": None, "wrong": {key_id: "A" * 43 + "="}}[how]
    if document is None:
        await asyncio.to_thread(keys_file.unlink)
    else:
        await asyncio.to_thread(keys_file.write_text, json.dumps({"current": next(iter(document)), "keys": document}))
    api = await start_api(master_keys_file=keys_file)
    await api.dependencies.vault_watch.look()
    async with api.as_role(organization.org_id, Role.ADMIN) as client:
        health = await client.get("/health")
        assert (health.status_code, health.json()["status"]) == (200, "degraded")
        assert health.json()["parts"]["vault"] == "unavailable"
        assert (await client.get("/health/ready")).status_code == 200
        assert (await client.post("/admin/agents", json={"name": "a"})).status_code == 201
        refused = await client.post("/v1/mfa/totp/enrol")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert "master key" in refused.json()["error"]["message"]
        assert keys_file.exists() is (how != "missing")
        await asyncio.to_thread(keys_file.write_text, original)
        await asyncio.to_thread(keys_file.chmod, 0o600)
        await api.dependencies.vault_watch.look()
        assert (await client.get("/health")).json()["parts"]["vault"] == "ok"
        assert (await client.post("/v1/mfa/totp/enrol")).status_code == 200
    said = capsys.readouterr().out
    assert "vault_unusable" in said and "vault_usable" in said


async def test_a_key_management_service_that_is_away_is_told_and_it_recovers_by_itself(
    start_api, api_database, organization, tmp_path, monkeypatch, capsys
) -> None:
    keys_file = tmp_path / "keys" / "master-keys.json"
    with service_of("transit", tmp_path, monkeypatch) as service:
        await asyncio.to_thread(create_master_keys, keys_file, service.unwrapper(), service.wrapping)
        async with api_database.transaction(organization.org_id) as connection:
            await Vault(keys_file, service.unwrapper()).keep(connection, organization.org_id, "a", Secret("x"))
        service.front.fault = "refused"
        api = await start_api(master_keys_file=keys_file, unwrapper=service.unwrapper(wait_seconds=2.0))
        await api.dependencies.vault_watch.look()
        async with api.as_role(organization.org_id, Role.ADMIN) as client:
            health = (await client.get("/health")).json()
            assert (health["status"], health["parts"]["vault"]) == ("degraded", "unavailable")
            assert "headgate_api_master_keys_usable 0.0" in (await client.get("/metrics")).text
            refused = await client.post("/v1/mfa/totp/enrol")
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
            service.front.fault = None
            async with asyncio.timeout(20):
                while (await client.post("/v1/mfa/totp/enrol")).status_code != 200:
                    await asyncio.sleep(0.1)
            await api.dependencies.vault_watch.look()
            assert (await client.get("/health")).json()["parts"]["vault"] == "ok"
    said = capsys.readouterr().out
    assert "vault_unusable" in said and "vault_usable" in said
    assert str(keys_file) in said and "hashivault://master" in said and "answered 403" in said
    assert TOKEN not in said
