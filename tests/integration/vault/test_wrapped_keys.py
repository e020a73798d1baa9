"""Master keys that a key management service wraps: the file alone opens nothing, and rotation goes on working."""

import asyncio
import json
from pathlib import Path

import pytest

from headgate.db.database import Database
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.vault.master_keys import create_master_keys, load_master_keys
from headgate.vault.rotation import file_fault, key_states, prepare_key, retire_key, rotate
from headgate.vault.service import Vault
from headgate.vault.wrap_master_keys import unwrap_master_keys, wrap_master_keys
from headgate.vault.wrapped_key import parse_wrapping
from tests.key_management import Service

_NAMES = [f"secret/{number}" for number in range(3)]


@pytest.fixture
def keys_file(tmp_path: Path) -> Path:
    return tmp_path / "vault" / "master-keys.json"


async def _keep(database: Database, org_id: str, vault: Vault) -> None:
    async with database.transaction(org_id) as connection:
        for name in _NAMES:
            await vault.keep(connection, org_id, name, Secret(name))


async def _opens(database: Database, org_id: str, vault: Vault) -> bool:
    async with database.transaction(org_id) as connection:
        found = await vault.open(connection, org_id, _NAMES)
    return found == {name: Secret(name) for name in _NAMES}


async def _wrapped(keys_file: Path, service: Service) -> None:
    await asyncio.to_thread(create_master_keys, keys_file, service.unwrapper(), service.wrapping)


async def test_the_file_alone_opens_nothing(
    api_database: Database, organization, keys_file: Path, service: Service
) -> None:
    await _wrapped(keys_file, service)
    vault, org_id = Vault(keys_file, service.unwrapper()), organization.org_id
    await _keep(api_database, org_id, vault)
    assert await _opens(api_database, org_id, vault)
    document = json.loads(await asyncio.to_thread(keys_file.read_text))
    assert document["keys"][document["current"]].keys() == {"kms", "installation", "ciphertext"}
    with pytest.raises(UnavailableError, match="holds wrapped keys"):
        await _opens(api_database, org_id, Vault(keys_file))


async def test_keys_that_are_in_use_are_wrapped_rotated_and_retired(
    api_database: Database, organization, keys_file: Path, service: Service
) -> None:
    org_id, running = organization.org_id, Vault(keys_file, service.unwrapper())
    await _keep(api_database, org_id, running)
    old = load_master_keys(keys_file).current
    in_the_clear = await asyncio.to_thread(keys_file.read_bytes)
    await asyncio.to_thread(wrap_master_keys, keys_file, service.unwrapper(), service.wrapping)
    assert await _opens(api_database, org_id, running)
    await _opens(api_database, org_id, Vault(keys_file, service.unwrapper()))

    command = service.unwrapper()
    done = await rotate(api_database, keys_file, command, settle_seconds=0)
    assert (done.rewrapped, done.failures, done.is_new) == (len(_NAMES), (), True)
    assert await _opens(api_database, org_id, running)
    states = await key_states(api_database, keys_file, command)
    assert [(one.key_id, one.secrets, one.fault, one.kms) for one in states] == [
        (old, 0, None, service.kms),
        (done.current, len(_NAMES), None, service.kms),
    ]
    await retire_key(api_database, keys_file, old, command, spooled={})
    prepared = await asyncio.to_thread(prepare_key, keys_file, service.unwrapper())
    assert list(load_master_keys(keys_file, service.unwrapper()).wrapped) == [done.current, prepared]
    assert (await rotate(api_database, keys_file, service.unwrapper(), settle_seconds=0)).current == prepared
    assert await _opens(api_database, org_id, running)
    # The copy from before opens nothing any more.
    await asyncio.to_thread(keys_file.write_bytes, in_the_clear)
    with pytest.raises(UnavailableError, match="is not in the file"):
        await _opens(api_database, org_id, Vault(keys_file, service.unwrapper()))


async def test_another_key_of_the_service_takes_over_and_the_keys_can_be_had_back(
    api_database: Database, organization, keys_file: Path, service: Service
) -> None:
    await _wrapped(keys_file, service)
    await _keep(api_database, organization.org_id, Vault(keys_file, service.unwrapper()))
    other = parse_wrapping(service.other_kms, "moved")
    moved = await asyncio.to_thread(wrap_master_keys, keys_file, service.unwrapper(), other)
    assert {one.wrapping for one in moved.wrapped.values()} == {other}
    assert await _opens(api_database, organization.org_id, Vault(keys_file, service.unwrapper()))
    await asyncio.to_thread(unwrap_master_keys, keys_file, service.unwrapper())
    service.front.fault = "refused"
    assert await _opens(api_database, organization.org_id, Vault(keys_file))


@pytest.mark.parametrize("change", ["installation", "identifier", "kms", "ciphertext"])
async def test_a_file_that_was_changed_opens_nothing(
    api_database: Database, organization, keys_file: Path, service: Service, change: str
) -> None:
    await _wrapped(keys_file, service)
    await _keep(api_database, organization.org_id, Vault(keys_file, service.unwrapper()))
    document = json.loads(await asyncio.to_thread(keys_file.read_text))
    [(key_id, entry)] = document["keys"].items()
    match change:
        case "installation":
            entry["installation"] = "another"
        case "identifier":
            document = {"current": "k1", "keys": {"k1": entry}}
        case "kms":
            entry["kms"] = service.other_kms
        case "ciphertext":
            other = await asyncio.to_thread(service.unwrapper().wrap, key_id, bytes(32), service.wrapping)
            entry["ciphertext"] = other.ciphertext
    await asyncio.to_thread(keys_file.write_text, json.dumps(document))
    fault = await file_fault(api_database, keys_file, service.unwrapper())
    assert fault is not None
    assert fault.startswith("the master keys cannot be read: ") and str(keys_file) in fault
    expected = "is not the key that was created" if change == "ciphertext" else "cannot be unwrapped with"
    assert expected in fault


@pytest.mark.parametrize("fault", ["refused", "unavailable", "not json", "truncated"])
async def test_a_process_that_runs_goes_on_and_one_that_starts_recovers_by_itself(
    api_database: Database, organization, keys_file: Path, service: Service, fault: str
) -> None:
    await _wrapped(keys_file, service)
    running, org_id = Vault(keys_file, service.unwrapper()), organization.org_id
    await _keep(api_database, org_id, running)
    asked = service.front.asked
    service.front.fault = fault
    assert await _opens(api_database, org_id, running)
    states = await key_states(api_database, keys_file, running.unwrapper)
    assert [one.fault for one in states] == [None]
    assert service.front.asked == asked  # once in a process

    starting = Vault(keys_file, service.unwrapper())
    with pytest.raises(UnavailableError) as refused:
        await _opens(api_database, org_id, starting)
    assert "cannot be unwrapped with " + service.kms in refused.value.message
    assert str(keys_file) in refused.value.message and "Headgate retries" in refused.value.message
    [state] = await key_states(api_database, keys_file, starting.unwrapper)
    assert service.kms in (state.fault or "")
    service.front.fault = None
    async with asyncio.timeout(20):
        while True:
            try:
                assert await _opens(api_database, org_id, starting)
                break
            except UnavailableError:
                await asyncio.sleep(0.1)


async def test_a_rotation_without_the_service_changes_nothing(
    api_database: Database, organization, keys_file: Path, service: Service
) -> None:
    await _wrapped(keys_file, service)
    command = service.unwrapper()
    await _keep(api_database, organization.org_id, Vault(keys_file, command))
    before = await asyncio.to_thread(keys_file.read_bytes)
    service.front.fault = "refused"
    for unwrapper in (command, service.unwrapper()):
        with pytest.raises(UnavailableError):
            await rotate(api_database, keys_file, unwrapper, settle_seconds=0)
    with pytest.raises(UnavailableError):
        await asyncio.to_thread(wrap_master_keys, keys_file, command, parse_wrapping(service.other_kms, "tests"))
    assert await asyncio.to_thread(keys_file.read_bytes) == before
