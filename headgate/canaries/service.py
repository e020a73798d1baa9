"""Making and revoking canary tokens. A transaction is the caller's."""

import secrets
import string
from typing import Final

from msgspec.structs import replace

from headgate.audit.model import EventType
from headgate.canaries.model import (
    CANARIES_MAX,
    LEAD_CHARACTERS,
    NO_CANARIES,
    Canary,
    CanarySet,
    canary_set,
    check_value,
    mac_of,
)
from headgate.canaries.store import canaries_in_force, find_canary, insert_canary, revoke
from headgate.db.database import Connection
from headgate.kernel.errors import ConflictError, UnavailableError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.organizations.change import OrganizationChange
from headgate.vault.service import Vault

_KEY: Final = "canaries/key"
_KEY_BYTES: Final = 32
_RANDOM_CHARACTERS: Final = 40
_ALPHABET: Final = string.ascii_lowercase + string.digits


async def create_canary(
    change: OrganizationChange, vault: Vault, name: str, value: Secret | None
) -> tuple[Canary, Secret]:
    """``value`` None: a random one. The answer is the only one with the value.

    Raises ValidationError; ConflictError where the value is one already, or there are too many; UnavailableError.
    """
    await change.raise_generation()
    made = Secret(_random()) if value is None else Secret(check_value(value.reveal()))
    key = await _key(change, vault)
    lowered = made.reveal().lower()
    mac = mac_of(key, lowered.encode())
    known = await canaries_in_force(change.connection, change.org_id)
    if len(known) >= CANARIES_MAX:
        raise ConflictError(f"an organization has at most {CANARIES_MAX} canary tokens: revoke some first")
    if same := [one.name for one in known if one.mac == mac]:
        raise ConflictError(f"this value is already the canary token {same[0]!r}")
    canary = Canary(
        change.org_id,
        new_id(IdPrefix.CANARY),
        name,
        made.reveal()[:LEAD_CHARACTERS],
        len(lowered),
        mac,
        change.at,
        change.user_id,
    )
    await insert_canary(change.connection, canary)
    await change.record(EventType.CANARY_CREATED, {"canary_id": canary.canary_id, "name": name})
    return canary, made


async def revoke_canary(change: OrganizationChange, canary_id: str) -> Canary:
    """From the next decision on its value may be sent. Raises NotFoundError."""
    await change.raise_generation()
    canary = await find_canary(change.connection, change.org_id, canary_id)
    if canary.revoked_at is not None:
        return canary
    await revoke(change.connection, change.org_id, canary_id, change.at)
    await change.record(EventType.CANARY_REVOKED, {"canary_id": canary_id, "name": canary.name})
    return replace(canary, revoked_at=change.at)


async def load_canaries(connection: Connection, org_id: str, vault: Vault | None) -> CanarySet:
    """Those in force. Raises UnavailableError where there are some and their key does not open: nothing is decided
    then, as nobody could say what a call holds."""
    canaries = await canaries_in_force(connection, org_id)
    if not canaries:
        return NO_CANARIES
    key = None if vault is None else (await vault.open(connection, org_id, [_KEY])).get(_KEY)
    if key is None:
        raise UnavailableError("the key of the canary tokens cannot be opened: see the vault's master keys")
    return canary_set(key, canaries)


async def _key(change: OrganizationChange, vault: Vault) -> Secret:
    found = (await vault.open(change.connection, change.org_id, [_KEY])).get(_KEY)
    if found is None:
        found = Secret(secrets.token_hex(_KEY_BYTES))
        await vault.keep(change.connection, change.org_id, _KEY, found)
    return found


def _random() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_CHARACTERS))
