"""Secrets in the database: an organization's own, one of each name, and opened only with the master key."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from headgate.db.database import Database
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.vault.service import Vault
from tests.integration.conftest import Organization

_SECRET = Secret("not a real key")


@pytest.fixture
def keys_file(tmp_path: Path) -> Path:
    return tmp_path / "vault" / "master-keys.json"


async def test_what_is_kept_opens_and_is_replaced_and_forgotten(
    api_database: Database, organization: Organization, keys_file: Path
) -> None:
    vault, org_id = Vault(keys_file), organization.org_id
    async with api_database.transaction(org_id) as connection:
        await vault.keep(connection, org_id, "a/x", Secret("old"))
        await vault.keep(connection, org_id, "a/x", _SECRET)
        await vault.keep(connection, org_id, "b/y", _SECRET)
    async with api_database.transaction(org_id) as connection:
        assert await Vault(keys_file).open(connection, org_id, ["a/x", "none"]) == {"a/x": _SECRET}
        assert await vault.names(connection, org_id, "a/") == ["a/x"]
        await vault.forget(connection, org_id, "a/x")
        assert await vault.open(connection, org_id, ["a/x"]) == {}


async def test_another_part_reads_and_another_organization_sees_nothing(
    api_database: Database, proxy_database: Database, organization: Organization, new_organization, keys_file: Path
) -> None:
    vault, org_id, other = Vault(keys_file), organization.org_id, new_organization().org_id
    async with api_database.transaction(org_id) as connection:
        await vault.keep(connection, org_id, "x", _SECRET)
    async with proxy_database.transaction(org_id) as connection:
        assert await vault.open(connection, org_id, ["x"]) == {"x": _SECRET}
    async with api_database.transaction(other) as connection:
        assert await vault.open(connection, org_id, ["x"]) == {}
    with pytest.raises(UnavailableError):
        async with proxy_database.transaction(org_id) as connection:
            await vault.forget(connection, org_id, "x")


async def test_a_row_that_was_copied_to_another_name_does_not_open(
    api_database: Database,
    organization: Organization,
    keys_file: Path,
    superuser: psycopg.Connection[tuple[object, ...]],
) -> None:
    vault, org_id = Vault(keys_file), organization.org_id
    async with api_database.transaction(org_id) as connection:
        await vault.keep(connection, org_id, "x", _SECRET)
    superuser.execute("UPDATE vault_secrets SET name = 'y' WHERE org_id = %s", [org_id])
    with pytest.raises(UnavailableError):
        async with api_database.transaction(org_id) as connection:
            await vault.open(connection, org_id, ["y"])


async def test_without_the_master_key_nothing_opens(
    api_database: Database, organization: Organization, keys_file: Path
) -> None:
    org_id = organization.org_id
    async with api_database.transaction(org_id) as connection:
        await Vault(keys_file).keep(connection, org_id, "x", _SECRET)
    await asyncio.to_thread(keys_file.unlink)
    with pytest.raises(UnavailableError):
        async with api_database.transaction(org_id) as connection:
            await Vault(keys_file).open(connection, org_id, ["x"])


async def test_a_lost_file_is_not_replaced_by_one_that_opens_nothing(
    api_database: Database, organization: Organization, keys_file: Path
) -> None:
    async with api_database.transaction(organization.org_id) as connection:
        await Vault(keys_file).keep(connection, organization.org_id, "x", _SECRET)
    await asyncio.to_thread(keys_file.unlink)
    with pytest.raises(UnavailableError):
        async with api_database.transaction(organization.org_id) as connection:
            await Vault(keys_file).keep(connection, organization.org_id, "y", _SECRET)
    assert not await asyncio.to_thread(keys_file.exists)
