"""Whose account a credential opens, as the platform itself says: a consent may come back as somebody else's.

What cannot be told counts as another account: an approval or a grant is never carried over to one that nobody saw.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime

from headgate.connections.model import Connection
from headgate.connections.platforms import Platform
from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.organizations.change import OrganizationChange
from headgate.outgoing.model import OutgoingRequest, OutgoingResponse

_ACCOUNT_MAX = 320

type AccountChanged = Callable[[OrganizationChange, Connection, Connection], Awaitable[Connection]]
"""Called with the connection before and after a change, in its transaction; returns the one after."""


def account_request(connection: Connection, platform: Platform, token: Secret) -> OutgoingRequest | None:
    """Asks whose ``token`` is; None: this platform has no address that says it."""
    path = connection.settings.get("check_path")
    if not isinstance(path, str) or path != platform.check_path or not platform.account:
        return None
    headers = (
        ("Accept", "application/json"),
        (connection.place.name, connection.place.prefix + token.reveal()),
        *platform.check_headers.items(),
    )
    return OutgoingRequest("GET", f"https://{connection.hosts[0]}{path}", headers, b"")


def read_account(platform: Platform, response: OutgoingResponse) -> str | None:
    """The account's name and the identifier by which the platform knows it for ever; None: it does not say."""
    if response.status != 200 or response.is_truncated:
        return None
    try:
        document = parse_strict(response.body)
    except ValidationError:
        return None
    if not isinstance(document, dict):
        return None
    said = [document.get(name) for name in platform.account]
    if not isinstance(said[-1], str | int) or isinstance(said[-1], bool):
        return None
    shown = " ".join(str(one) for one in said if isinstance(one, str | int) and not isinstance(one, bool))
    return shown if 0 < len(shown) <= _ACCOUNT_MAX and shown.isprintable() else None


def account_since(connection: Connection, account: str | None, at: datetime) -> datetime:
    """``at`` where the credential may be another account's than the one that ``connection`` stood for."""
    return connection.account_since if account is not None and account == connection.account else at
