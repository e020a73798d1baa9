"""The credential of a catalogue's own name, from ``PUT /admin/settings/credentials``: for calls that no connection
serves. It is written, and masked in answers, as that of a connection is (``headgate.connections.carried``).
"""

from typing import Final

from headgate.connections.carried import Carried, carried
from headgate.connections.credential import ValueCredential
from headgate.connections.model import Location, Place
from headgate.db.database import Connection
from headgate.kernel.call_name import fits
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.tools.model import CredentialPlace
from headgate.vault.service import Vault

_PREFIX: Final = "credential/"
_VALUE_MAX: Final = 8192


async def set_credential(connection: Connection, org_id: str, vault: Vault, place: CredentialPlace) -> Carried | None:
    """None: there is none of this name, and the call goes without. Raises UnavailableError."""
    name = _PREFIX + place.name
    value = (await vault.open(connection, org_id, [name])).get(name)
    if value is None:
        return None
    return carried(Place(Location.HEADER, place.header.lower(), place.prefix), ValueCredential(value))


async def credential_names(connection: Connection, org_id: str, vault: Vault) -> list[str]:
    """Which are set; their values are shown to nobody."""
    return [name.removeprefix(_PREFIX) for name in await vault.names(connection, org_id, _PREFIX)]


async def change_credentials(
    connection: Connection, org_id: str, vault: Vault, changes: dict[str, Secret | None]
) -> None:
    """Set these, and forget those that are None; the others stay. Raises UnavailableError."""
    for name, value in changes.items():
        if value is None:
            await vault.forget(connection, org_id, _PREFIX + name)
        else:
            await vault.keep(connection, org_id, _PREFIX + name, value)


def parse_credentials(document: JsonValue) -> dict[str, Secret | None]:
    """``{"credentials": {NAME: VALUE or null}}``. Raises ValidationError, which never shows a value."""
    members = document.get("credentials") if isinstance(document, dict) and len(document) == 1 else None
    if not isinstance(members, dict):
        raise ValidationError(
            'credentials: {"credentials": {NAME: value or null}} is expected', details={"field": "credentials"}
        )
    found: dict[str, Secret | None] = {}
    for name, value in members.items():
        field = f"credentials.{name[:64]}"
        if not fits(name):
            raise ValidationError(f"{field}: must match ^[a-z][a-z0-9_]*$", details={"field": field})
        if value is None:
            found[name] = None
        elif isinstance(value, str) and 1 <= len(value) <= _VALUE_MAX and value.isascii() and value.isprintable():
            found[name] = Secret(value)
        else:
            raise ValidationError(f"{field}: must be visible ASCII, or null to remove it", details={"field": field})
    return found
