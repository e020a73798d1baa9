"""The master key changes while secrets are being used, and a rotation may be killed at any point."""

import asyncio
import json
import sys
from pathlib import Path

import psycopg
import pytest

from headgate.actions.entry_lane import EntryLane
from headgate.db.database import Database
from headgate.kernel.entry_codes import EntryCodes
from headgate.kernel.errors import ConflictError, NotFoundError, UnavailableError
from headgate.kernel.secrets import Secret
from headgate.vault.master_keys import create_master_keys, load_master_keys
from headgate.vault.rotation import file_fault, key_states, prepare_key, retire_key, rotate
from headgate.vault.service import Vault

NAMES = [f"secret/{number}" for number in range(10)]


@pytest.fixture
def keys_file(tmp_path: Path) -> Path:
    return tmp_path / "vault" / "master-keys.json"


@pytest.fixture
async def kept(api_database: Database, new_organization, keys_file: Path) -> list[str]:
    """Ten secrets in each of two organizations."""
    vault, organizations = Vault(keys_file), [new_organization().org_id for _ in range(2)]
    for org_id in organizations:
        async with api_database.transaction(org_id) as connection:
            for name in NAMES:
                await vault.keep(connection, org_id, name, Secret(f"{org_id} {name}"))
    return organizations


async def _all_open(database: Database, vault: Vault, organizations: list[str]) -> bool:
    for org_id in organizations:
        async with database.transaction(org_id) as connection:
            found = await vault.open(connection, org_id, NAMES)
        if found != {name: Secret(f"{org_id} {name}") for name in NAMES}:
            return False
    return True


async def test_everything_is_under_the_new_key_and_the_old_one_can_go(
    api_database: Database, kept: list[str], keys_file: Path
) -> None:
    running = Vault(keys_file)
    assert await _all_open(api_database, running, kept)
    old = load_master_keys(keys_file).current
    with pytest.raises(ConflictError):
        await retire_key(api_database, keys_file, old, spooled={})
    done = await rotate(api_database, keys_file, settle_seconds=0)
    assert (done.rewrapped, done.failures, done.is_new) == (20, (), True)
    assert [
        (one.key_id, one.is_current, one.secrets, one.fault) for one in await key_states(api_database, keys_file)
    ] == [
        (old, False, 0, None),
        (done.current, True, 20, None),
    ]
    with pytest.raises(ConflictError, match="captured traffic"):
        await retire_key(api_database, keys_file, old, spooled={old: 1})
    await retire_key(api_database, keys_file, old, spooled={done.current: 1})
    assert list(load_master_keys(keys_file).keys) == [done.current]
    # A process that runs reads the file again; it keeps the next one under the new key.
    assert await _all_open(api_database, running, kept)
    async with api_database.transaction(kept[0]) as connection:
        await running.keep(connection, kept[0], "later", Secret("x"))
    assert [one.secrets for one in await key_states(api_database, keys_file)] == [21]
    with pytest.raises(ConflictError):
        await retire_key(api_database, keys_file, done.current, spooled={})
    with pytest.raises(NotFoundError):
        await retire_key(api_database, keys_file, old, spooled={})


async def test_a_key_stays_while_the_journal_has_entries_under_it(
    cluster, api_database: Database, kept: list[str], keys_file: Path
) -> None:
    """They could not be checked without it: a recorded call would be set aside, and count as missing."""
    old = load_master_keys(keys_file).current
    lane = EntryLane(EntryCodes(lambda: load_master_keys(keys_file)))
    [entry] = lane.sign([(kept[0], b"an entry")])
    await rotate(api_database, keys_file, settle_seconds=0)
    [later] = lane.sign([(kept[0], b"an entry")])
    with psycopg.connect(cluster.dsn("postgres"), autocommit=True) as superuser:
        for one in (entry, later):
            superuser.execute(
                "INSERT INTO journal (org_id, created_at, entries) VALUES (%s, now(), %s)", [kept[0], one]
            )
        with pytest.raises(ConflictError, match="1 rows of the journal are signed under"):
            await retire_key(api_database, keys_file, old, spooled={})
        assert old in load_master_keys(keys_file).keys
        superuser.execute("DELETE FROM journal WHERE org_id = %s AND entries = %s", [kept[0], entry])
        await retire_key(api_database, keys_file, old, spooled={})
        superuser.execute("DELETE FROM journal WHERE org_id = %s", [kept[0]])


async def test_a_key_stays_while_entries_that_were_set_aside_are_signed_under_it(
    cluster, api_database: Database, kept: list[str], keys_file: Path
) -> None:
    """They could not be applied without it, even after their cause is mended."""
    old = load_master_keys(keys_file).current
    lane = EntryLane(EntryCodes(lambda: load_master_keys(keys_file)))
    [entry] = lane.sign([(kept[0], b"an entry")])
    await rotate(api_database, keys_file, settle_seconds=0)
    [later] = lane.sign([(kept[0], b"an entry")])
    with psycopg.connect(cluster.dsn("postgres"), autocommit=True) as superuser:
        for position, (one, is_event) in enumerate(
            [(entry, False), (later, False), (entry, True), (b"damaged", False)]
        ):
            superuser.execute(
                "INSERT INTO journal_set_aside (org_id, journal_id, position, is_event, entry, failure)"
                " VALUES (%s, 1, %s, %s, %s, 'a constraint')",
                [kept[0], position, is_event, one],
            )
    with pytest.raises(ConflictError, match="1 entries that were set aside are signed under") as refused:
        await retire_key(api_database, keys_file, old, spooled={})
    assert "headgate audit set-aside list" in refused.value.message
    assert old in load_master_keys(keys_file).keys
    await retire_key(api_database, keys_file, old, spooled={}, give_up_set_aside=True)
    assert old not in load_master_keys(keys_file).keys


@pytest.mark.parametrize("killed_after", [0, 3, 13, 20])
async def test_killed_and_run_again(
    api_database: Database, kept: list[str], keys_file: Path, cluster, killed_after: int
) -> None:
    old = load_master_keys(keys_file).current
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.integration.vault.killed_rotation",
        cluster.dsn("headgate_api"), str(keys_file), str(killed_after),
        cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert await child.wait() == -9
    assert await _all_open(api_database, Vault(keys_file), kept)
    current = load_master_keys(keys_file).current
    assert current != old
    done = await rotate(api_database, keys_file, settle_seconds=0)
    if killed_after < 20:
        assert (done.current, done.is_new) == (current, False)
    assert {one.key_id for one in await key_states(api_database, keys_file) if one.secrets} == {done.current}
    assert await _all_open(api_database, Vault(keys_file), kept)


async def test_a_secret_that_changes_or_goes_meanwhile_stays_as_it_was_left(
    api_database: Database, kept: list[str], keys_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headgate.vault import rotation  # noqa: PLC0415

    real, org_id, vault = rotation.exchange_envelope, kept[0], Vault(keys_file)

    async def after_others(connection, of: str, name: str, before, after) -> bool:
        if of == org_id and name in NAMES[:2]:
            async with api_database.transaction(org_id) as other:
                if name == NAMES[0]:
                    await vault.keep(other, org_id, name, Secret("newer"))
                else:
                    await vault.forget(other, org_id, name)
        return await real(connection, of, name, before, after)

    monkeypatch.setattr(rotation, "exchange_envelope", after_others)
    done = await rotate(api_database, keys_file, settle_seconds=0)
    assert (done.rewrapped, done.failures) == (18, ())
    async with api_database.transaction(org_id) as connection:
        assert await vault.open(connection, org_id, NAMES[:2]) == {NAMES[0]: Secret("newer")}


async def test_one_that_does_not_open_is_told_and_stops_nothing(
    api_database: Database, kept: list[str], keys_file: Path, superuser: psycopg.Connection[tuple[object, ...]]
) -> None:
    superuser.execute(
        "UPDATE vault_secrets SET wrapped_key = '\\x00' WHERE org_id = %s AND name = %s", [kept[1], NAMES[4]]
    )
    done = await rotate(api_database, keys_file, settle_seconds=0)
    assert (done.rewrapped, done.failures) == (19, ((kept[1], NAMES[4]),))


async def test_a_key_that_is_prepared_is_used_by_the_next_rotation(
    api_database: Database, kept: list[str], keys_file: Path
) -> None:
    old = load_master_keys(keys_file).current
    prepared = prepare_key(keys_file)
    assert load_master_keys(keys_file).current == old
    with pytest.raises(ConflictError):
        prepare_key(keys_file)
    assert (await rotate(api_database, keys_file, settle_seconds=0)).current == prepared


async def test_a_file_that_cannot_be_read_is_a_fault_where_something_needs_it(
    cluster, api_database: Database, keys_file: Path
) -> None:
    """Also where no secret is kept: entries of the record are signed under its keys."""
    assert await file_fault(api_database, keys_file) is None
    await asyncio.to_thread(create_master_keys, keys_file)
    assert await file_fault(api_database, keys_file) is None
    await asyncio.to_thread(keys_file.write_text, "{}")
    assert "'current' is missing" in (await file_fault(api_database, keys_file) or "")
    await asyncio.to_thread(keys_file.unlink)
    with psycopg.connect(cluster.dsn("postgres"), autocommit=True) as superuser:
        superuser.execute(
            "INSERT INTO journal_writers (org_id, writer, applied, digest, before, position, missing, mark, code)"
            " VALUES ('org_1', %s, 1, %s, 0, 0, 0, %s, %s)",
            [bytes(16), bytes(16), bytes(4), bytes(16)],
        )
    assert "does not exist" in (await file_fault(api_database, keys_file) or "")


async def test_missing_and_wrong_keys_are_told_apart(api_database: Database, kept: list[str], keys_file: Path) -> None:
    key_id = load_master_keys(keys_file).current
    await asyncio.to_thread(keys_file.unlink)
    [state] = await key_states(api_database, keys_file)
    assert (state.key_id, state.secrets) == (key_id, 20)
    assert "cannot be read" in (state.fault or "")
    with pytest.raises(UnavailableError):
        await rotate(api_database, keys_file, settle_seconds=0)
    another = "A" * 43 + "="
    for name, said in (
        (key_id, "is not the key that was created"),
        ("k9", "is not in the file"),
        ("k1", "is not in the file"),
    ):
        await asyncio.to_thread(keys_file.write_text, json.dumps({"current": name, "keys": {name: another}}))
        await asyncio.to_thread(keys_file.chmod, 0o600)
        faults = [one.fault for one in await key_states(api_database, keys_file) if one.secrets]
        assert len(faults) == 1 and said in (faults[0] or ""), name
