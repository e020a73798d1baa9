"""A policy's terms for grants: ``approval.grants {allowed, max_uses, max_seconds}`` (docs/guides/grants.md)."""

from math import isfinite
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue

_MOST: Final = {"max_uses": 1_000_000, "max_seconds": 366 * 86_400}


class GrantTerms(Struct, frozen=True):
    """Whether people may grant a policy's calls in advance, and the limits.

    ``allowed`` None: allowed if the quorum is one. The others None: the gateway's own limits.
    """

    allowed: bool | None = None
    max_uses: int | None = None
    max_seconds: int | None = None

    def record(self) -> JsonObject:
        named = {"allowed": self.allowed, "max_uses": self.max_uses, "max_seconds": self.max_seconds}
        return {name: value for name, value in named.items() if value is not None}


DEFAULT_GRANT_TERMS: Final = GrantTerms()


def parse_grant_terms(name: str, value: JsonValue) -> GrantTerms:
    """Raises ValueError, which names the member."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be an object with allowed, max_uses or max_seconds")
    if unknown := sorted(set(value) - {"allowed", *_MOST}):
        raise ValueError(f"{name} has no member {unknown[0][:40]!r}; it has allowed, max_uses, max_seconds")
    allowed = value.get("allowed")
    if allowed is not None and not isinstance(allowed, bool):
        raise ValueError(f"{name}.allowed must be true or false")
    return GrantTerms(
        allowed=allowed,
        max_uses=_whole(name, value, "max_uses"),
        max_seconds=_whole(name, value, "max_seconds"),
    )


def _whole(name: str, value: JsonObject, member: str) -> int | None:
    if member not in value:
        return None
    given = value[member]
    # Rego has one number type: it treats 2.0 as 2, and so does this check.
    if isinstance(given, bool) or not isinstance(given, int | float) or not isfinite(given) or given != int(given):
        raise ValueError(f"{name}.{member} must be a whole number")
    if not 1 <= given <= _MOST[member]:
        raise ValueError(f"{name}.{member} must be from 1 to {_MOST[member]}")
    return int(given)
