"""Changing the master key: a new one becomes the current one, and every data key is wrapped again under it.

Killed at any point, nothing is lost and running it again goes on where it stopped: the file is replaced whole, before
the first row, and holds the old key until somebody retires it; each row is exchanged in one statement, and only if it
is still the one that was opened. No secret is decrypted, only the data key around it. Processes read the file again
when it changes; one that began to keep a secret under the old key before that is found by another pass.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from headgate.db.database import Database
from headgate.kernel.entry_codes import signer_of
from headgate.kernel.errors import ConflictError, UnavailableError
from headgate.vault.envelope import rewrap, unseal
from headgate.vault.master_keys import (
    MasterKeys,
    create_master_keys,
    load_master_keys,
    store_master_keys,
    wrapper_of,
)
from headgate.vault.store import (
    UsedKey,
    exchange_envelope,
    get_envelopes,
    has_writers,
    secrets_under_other_keys,
    signed_under,
    used_keys,
)
from headgate.vault.unwrapper import Unwrapper

_BATCH: Final = 200
SETTLE_SECONDS: Final = 6.0
"""Longer than a transaction that keeps a secret takes."""


class Rotated(Struct, frozen=True):
    """``failures``: (organization, name) of what does not open with any key of the file."""

    current: str
    is_new: bool
    rewrapped: int
    failures: tuple[tuple[str, str], ...]


class KeyState(Struct, frozen=True):
    """``fault``: why what is under it cannot be opened; None where it can, or where there is nothing. ``kms``: the
    address of the key that wraps it; None: it is in the clear, or the file cannot be read."""

    key_id: str
    is_current: bool
    secrets: int
    fault: str | None
    kms: str | None = None


async def key_states(database: Database, path: Path, unwrapper: Unwrapper | None = None) -> list[KeyState]:
    """Of every key of the file, and of every key that a stored secret needs. Raises UnavailableError (the database)."""
    async with database.across_organizations() as connection:
        used = {one.key_id: one for one in await used_keys(connection)}
    keys, unreadable = _try_load(path, unwrapper)
    names = dict.fromkeys([*(keys.keys if keys is not None else ()), *used])
    states: list[KeyState] = []
    for key_id in names:
        one = used.get(key_id)
        fault = None if one is None else unreadable or await _fault(database, keys, one)
        is_current = keys is not None and key_id == keys.current
        wrapped = None if keys is None else keys.wrapped.get(key_id)
        kms = None if wrapped is None else str(wrapped.wrapping.kms)
        states.append(KeyState(key_id, is_current, 0 if one is None else one.secrets, fault, kms))
    return states


async def file_fault(database: Database, path: Path, unwrapper: Unwrapper | None = None) -> str | None:
    """Why the file cannot be read. None: it can, or there is none and nothing is under a master key yet. Raises
    UnavailableError (the database)."""
    _, fault = _try_load(path, unwrapper)
    if fault is None or await asyncio.to_thread(path.exists):
        return fault
    async with database.across_organizations() as connection:
        is_needed = await has_writers(connection) or bool(await used_keys(connection))
    return fault if is_needed else None


def prepare_key(path: Path, unwrapper: Unwrapper | None = None) -> str:
    """One more key in the file, not used yet: the file is then carried to every machine, and ``rotate`` makes it the
    current one. Raises UnavailableError, ConflictError."""
    keys = load_master_keys(path, unwrapper)
    if keys.prepared is not None:
        raise ConflictError(f"{keys.prepared} is prepared already")
    made, key_id = _with_new_key(keys, unwrapper)
    store_master_keys(path, made)
    return key_id


async def rotate(
    database: Database,
    path: Path,
    unwrapper: Unwrapper | None = None,
    *,
    progress: Callable[[int], None] = lambda _: None,
    settle_seconds: float = SETTLE_SECONDS,
) -> Rotated:
    """Raises UnavailableError."""
    async with database.across_organizations() as connection:
        used = await used_keys(connection)
    keys = load_master_keys(path, unwrapper) if used else create_master_keys(path, unwrapper)
    is_unfinished = any(one.key_id != keys.current for one in used) and keys.prepared is None
    if not is_unfinished:
        key_id = keys.prepared
        if key_id is None:
            keys, key_id = _with_new_key(keys, unwrapper)
        keys = keys.with_current(key_id)
        store_master_keys(path, keys)
    done, failures = await _rewrap_all(database, keys, progress)
    await asyncio.sleep(settle_seconds)
    later, failures = await _rewrap_all(database, keys, progress)
    return Rotated(keys.current, not is_unfinished, done + later, tuple(failures))


async def retire_key(
    database: Database,
    path: Path,
    key_id: str,
    unwrapper: Unwrapper | None = None,
    *,
    spooled: Mapping[str, int],
    give_up_set_aside: bool = False,
) -> None:
    """Take a key out of the file that nothing needs any more. ``spooled``: how many files that are not in the database
    yet are under each key. ``give_up_set_aside``: also if entries that were set aside can never be applied then. Raises
    NotFoundError, ConflictError, UnavailableError."""
    keys = load_master_keys(path, unwrapper)
    remaining = keys.without(key_id)
    async with database.across_organizations() as connection:
        needed = {one.key_id: one.secrets for one in await used_keys(connection)}
        signed = await signed_under(connection, signer_of(keys.keys[key_id]).mark)
    if key_id in needed:
        raise ConflictError(
            f"{needed[key_id]} secrets or bodies are still encrypted under {key_id}. Run headgate secrets"
            " rotate; the worker re-encrypts the bodies.",
            details={"secrets": needed[key_id]},
        )
    if spooled.get(key_id):
        raise ConflictError(
            f"{spooled[key_id]} files of captured traffic are still encrypted under {key_id}. Try again when"
            " the proxy has recorded them.",
            details={"captures": spooled[key_id]},
        )
    if signed.waiting:
        # Without the key they could not be checked: they would be set aside, and count as missing for ever.
        raise ConflictError(
            f"{signed.waiting} rows of the journal are signed under {key_id} and not applied yet. Check that a worker"
            " runs, and that every machine has the new key; then try again.",
            details={"journal": signed.waiting},
        )
    if signed.set_aside and not give_up_set_aside:
        raise ConflictError(
            f"{signed.set_aside} entries that were set aside are signed under {key_id}, and cannot be applied without"
            " it. headgate audit set-aside list shows those of an organization. Apply them, or retire the key with"
            " --give-up-set-aside.",
            details={"set_aside": signed.set_aside},
        )
    store_master_keys(path, remaining)


async def _rewrap_all(
    database: Database, keys: MasterKeys, progress: Callable[[int], None]
) -> tuple[int, list[tuple[str, str]]]:
    done, failures, after = 0, list[tuple[str, str]](), ("", "")
    while True:
        async with database.across_organizations() as connection:
            due = await secrets_under_other_keys(connection, keys.current, after, _BATCH)
        if not due:
            return done, failures
        by_organization: dict[str, list[str]] = defaultdict(list)
        for org_id, name in due:
            by_organization[org_id].append(name)
        for org_id, names in by_organization.items():
            exchanged, failed = await _rewrap(database, keys, org_id, names)
            done += exchanged
            failures += [(org_id, name) for name in failed]
            progress(exchanged)
        after = due[-1]


async def _rewrap(database: Database, keys: MasterKeys, org_id: str, names: Sequence[str]) -> tuple[int, list[str]]:
    """One transaction. What does not open is left as it is, and told: the others do not wait for it."""
    exchanged, failed = 0, list[str]()
    async with database.transaction(org_id) as connection:
        for name, before in (await get_envelopes(connection, org_id, names)).items():
            try:
                after = rewrap(before, keys, org_id=org_id, name=name)
            except UnavailableError:
                failed.append(name)
                continue
            exchanged += await exchange_envelope(connection, org_id, name, before, after)
    return exchanged, failed


def _with_new_key(keys: MasterKeys, unwrapper: Unwrapper | None) -> tuple[MasterKeys, str]:
    """Adds a key that is wrapped as the current one is. Raises UnavailableError."""
    return keys.with_new_key(None if keys.wrapping is None else wrapper_of(unwrapper, keys.wrapping))


def _try_load(path: Path, unwrapper: Unwrapper | None) -> tuple[MasterKeys | None, str | None]:
    try:
        return load_master_keys(path, unwrapper), None
    except UnavailableError as error:
        return None, error.message


async def _fault(database: Database, keys: MasterKeys | None, used: UsedKey) -> str | None:
    """Of one secret that stands for all that are under this key."""
    if keys is None:
        return "there is no file"
    try:
        keys.key(used.key_id)
        if used.sample is None:
            return None
        org_id, sample = used.sample
        async with database.transaction(org_id) as connection:
            envelopes = await get_envelopes(connection, org_id, [sample])
        for name, one in envelopes.items():
            unseal(one, keys, org_id=org_id, name=name)
    except UnavailableError as error:
        return error.message
    return None
