"""The credential of a catalogue's own name, from ``PUT /admin/settings/credentials``: for calls that no connection
serves. It is written, and masked in answers, as that of a connection is (``headgate.connections.carried``).

Where a catalogue leaves its host to the agent (``*.atlassian.net``), the name ends with one host
(``jira@acme.atlassian.net``). Otherwise an agent would send the organization's credential to another customer's site.
"""

from collections.abc import Iterable
from typing import Final

from headgate.connections.carried import Carried, carried
from headgate.connections.credential import ValueCredential
from headgate.connections.model import Location, Place
from headgate.db.database import Connection
from headgate.kernel.call_name import fits
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import AmbiguousRequestError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.protocols.http_call import normalise_host
from headgate.tools.match import CatalogueIndex
from headgate.tools.model import CredentialPlace, Sending
from headgate.vault.service import Vault

_PREFIX: Final = "credential/"
_VALUE_MAX: Final = 8192
_NAME_MAX: Final = 180


def stored_name(place: CredentialPlace, sending: Sending, host: str) -> str:
    """``host``: where the call goes."""
    return f"{place.name}@{host}" if _leaves_host(sending) else place.name


async def set_credential(
    connection: Connection, org_id: str, vault: Vault, place: CredentialPlace, stored: str
) -> Carried | None:
    """None: there is none of the name ``stored``, and the call goes without. Raises UnavailableError."""
    name = _PREFIX + stored
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
    """``{"credentials": {NAME: VALUE or null}}``, or ``NAME@HOST``. Raises ValidationError, which never shows a
    value."""
    members = document.get("credentials") if isinstance(document, dict) and len(document) == 1 else None
    if not isinstance(members, dict):
        raise ValidationError(
            'credentials: {"credentials": {NAME: value or null}} is expected', details={"field": "credentials"}
        )
    found: dict[str, Secret | None] = {}
    for name, value in members.items():
        field = f"credentials.{name[:64]}"
        if not _is_name(name):
            raise ValidationError(
                f"{field}: must be the NAME that a catalogue uses (^[a-z][a-z0-9_]*$), or NAME@HOST with a host name in"
                f" lower case, at most {_NAME_MAX} characters",
                details={"field": field},
            )
        if value is None:
            found[name] = None
        elif isinstance(value, str) and 1 <= len(value) <= _VALUE_MAX and value.isascii() and value.isprintable():
            found[name] = Secret(value)
        else:
            raise ValidationError(f"{field}: must be visible ASCII, or null to remove it", details={"field": field})
    return found


def require_hosts(changes: dict[str, Secret | None], catalogue: CatalogueIndex) -> None:
    """Raises ValidationError for a value without a host whose catalogues all leave the host to the agent, and for one
    with a host that none of its catalogues covers."""
    for name in (name for name, value in changes.items() if value is not None):
        plain, at, host = name.partition("@")
        using = list(_using(plain, catalogue))
        field = f"credentials.{name}"
        if at and using and not any(_leaves_host(one) and host.endswith(one.host[1:]) for one in using):
            raise ValidationError(
                f"{field}: no call would get it: the catalogue that uses {plain} sends its calls to {using[0].host}",
                details={"field": field},
            )
        if not at and using and all(map(_leaves_host, using)):
            raise ValidationError(
                f"{field}: its catalogue covers {using[0].host}: set it for one host, as {name}@HOST",
                details={"field": field},
            )


def _using(name: str, catalogue: CatalogueIndex) -> Iterable[Sending]:
    for entries in catalogue.tools.values():
        for entry in entries.values():
            if entry.sending.credential is not None and entry.sending.credential.name == name:
                yield entry.sending


def _leaves_host(sending: Sending) -> bool:
    return sending.host.startswith("*.")


def _is_name(name: str) -> bool:
    plain, at, host = name.partition("@")
    if not fits(plain) or len(name) > _NAME_MAX:
        return False
    try:
        return not at or normalise_host(host) == host
    except AmbiguousRequestError:
        return False
