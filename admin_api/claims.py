"""What the claims of a token say, read without trust in their form.

Each issuer names organizations, roles and assurance in its own way: which claim, and which of its values mean
what, is configuration (``ClaimNames``). A value that is not of the expected form says nothing; it is never guessed at.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import UnauthorizedError
from headgate.organizations.model import Role

ASSURANCE_LEVELS: Final = ("aal1", "aal2", "aal3")
"""NIST SP 800-63B, weakest first."""

_ROLES: Final = {role.value: role for role in Role}
_METHODS: Final = {"mfa": "aal2"}
"""Of ``amr``, a list of methods (RFC 8176), only this one says that several factors were used."""


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """Which claims say what; a dot descends (``realm_access.roles``).

    ``role_values``: an issuer's own names (groups, mostly) of our roles, beside the roles' own names.
    ``aal_values``: its names of assurance levels (values of ``acr`` or ``amr``), beside ``aal1`` to ``aal3``.
    """

    organization: str = "org_id"
    roles: str = "roles"
    aal: str = "aal"
    role_values: Mapping[str, Role] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    aal_values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)


def instant_of(claims: JsonObject, name: str) -> float | None:
    """NumericDate (RFC 7519, section 2). Raises UnauthorizedError for what is no time."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnauthorizedError(f"the token's {name} is not a time")
    return float(value)


def text_of(claims: JsonObject, name: str) -> str | None:
    value = _descend(claims, name)
    return value if isinstance(value, str) and "\0" not in value else None


def roles_of(claims: JsonObject, names: ClaimNames) -> frozenset[Role]:
    """Those of the names that are roles here; an issuer's other roles mean nothing to us."""
    known = {**_ROLES, **names.role_values}
    return frozenset(known[name] for name in _words(_descend(claims, names.roles)) if name in known)


def aal_of(claims: JsonObject, names: ClaimNames) -> str | None:
    """The highest assurance level that the claim names; None: it names none that is known."""
    value = _descend(claims, names.aal)
    known = {**{level: level for level in ASSURANCE_LEVELS}, **names.aal_values}
    if isinstance(value, str):
        return known.get(value)
    known = {**_METHODS, **known}
    found = {known[name] for name in _words(value) if name in known}
    return max(found, key=ASSURANCE_LEVELS.index, default=None)


def require_audience(claims: JsonObject, audience: str, parties: frozenset[str]) -> None:
    """The token is for us, and was given to somebody who may present it (OpenID Connect Core 1.0, section 3.1.3.7,
    rules 3 to 5). ``parties``: who may, where that is configured; else whoever has a token that is for us alone.

    Raises UnauthorizedError.
    """
    value = claims.get("aud")
    audiences = value if isinstance(value, list) else [value]
    if audience not in audiences:
        raise UnauthorizedError("the token is for another audience (aud)")
    party = claims.get("azp", claims.get("client_id") if parties else None)
    if (parties or len(audiences) > 1) and not (isinstance(party, str) and party in parties | {audience}):
        raise UnauthorizedError("The token was issued to another client (azp).")


def _words(value: JsonValue) -> list[str]:
    if isinstance(value, str):
        return value.split()
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _descend(claims: JsonObject, name: str) -> JsonValue:
    """A claim by its name, or else by a path of names."""
    if name in claims:
        return claims[name]
    value: JsonValue = claims
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value
