"""What an organization lets be kept, for how long, and what stops its being forgotten. Pure.

"Body" is what agents sent and got: requests, answers, messages made of them. Events are no bodies: they hold digests,
and stay for ever in the chain (docs/decisions/0022-erase-bodies-keep-the-hash-chain.md).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.kernel.whole_numbers import whole_number

MOST_DAYS: Final = 36_500
DROP_AFTER_DAYS: Final[Mapping[str, int | None]] = MappingProxyType({"reports": 365})
"""Where an organization says nothing. A report can be made again, and may show what the record has since forgotten."""


class BodyState(StrEnum):
    """Where an action's bodies are: in its rows, encrypted apart, dropped by policy, or erased by a person."""

    CLEAR = "clear"
    KEPT = "kept"
    DROPPED = "dropped"
    ERASED = "erased"


class RetentionPolicy(Struct, frozen=True):
    """``encrypt_after_days``: when bodies leave the rows that lists and searches read; None: never.
    ``drop_after_days``: by kind of data (``RetainedKind.name``); kinds that are absent or None stay until someone
    erases them."""

    encrypt_after_days: int | None = 30
    drop_after_days: Mapping[str, int | None] = field(default_factory=lambda: DROP_AFTER_DAYS)


class HoldScope(StrEnum):
    """What a legal hold covers."""

    ORGANIZATION = "organization"
    AGENT = "agent"
    ACTION = "action"


class LegalHold(Struct, frozen=True):
    """Until it is lifted, nothing that it covers is dropped or erased."""

    hold_id: str
    scope: HoldScope
    target: str | None
    reason: str
    placed_by: str
    placed_at: datetime
    lifted_by: str | None = None
    lifted_at: datetime | None = None
    lift_reason: str | None = None


class ErasureDepth(StrEnum):
    """``bodies``: what was sent and got. ``everything``: what the record says of the action as well; of each of its
    events the header stays, so that the chain does."""

    BODIES = "bodies"
    EVERYTHING = "everything"


class ErasureOutcome(StrEnum):
    """Of one action that somebody asked to erase. ``not_at_rest``: it may still be decided or carried out."""

    ERASED = "erased"
    ALREADY_ERASED = "already_erased"
    HELD = "held"
    NOT_AT_REST = "not_at_rest"
    UNKNOWN = "unknown"


def parse_policy(document: JsonValue, kinds: Sequence[str]) -> RetentionPolicy:
    """The document of ``PUT /admin/settings/retention``; what it leaves out is the default. Raises ValidationError."""
    if not isinstance(document, dict):
        raise ValidationError("retention: an object is expected", details={"field": "", "reason": "not an object"})
    for name in document:
        if name not in ("encrypt_after_days", "drop_after_days"):
            raise _invalid(name[:64], "unknown field")
    days = document.get("drop_after_days") or {}
    if not isinstance(days, dict):
        raise _invalid("drop_after_days", "must be an object of days by kind")
    drop = {kind: value for kind, value in DROP_AFTER_DAYS.items() if kind in kinds}
    for kind, value in days.items():
        if kind not in kinds:
            raise _invalid(f"drop_after_days.{kind[:64]}", f"unknown kind; kinds: {', '.join(kinds)}")
        if value is not None:
            drop[kind] = _days(f"drop_after_days.{kind}", value, least=1)
        elif kind in drop:
            drop[kind] = None
    encrypt = document.get("encrypt_after_days", RetentionPolicy().encrypt_after_days)
    return RetentionPolicy(
        None if encrypt is None else _days("encrypt_after_days", encrypt, least=0), MappingProxyType(drop)
    )


def policy_document(policy: RetentionPolicy) -> JsonObject:
    return {"drop_after_days": {**policy.drop_after_days}, "encrypt_after_days": policy.encrypt_after_days}


def _days(name: str, value: JsonValue, *, least: int) -> int:
    days = whole_number(value)
    if days is None or not least <= days <= MOST_DAYS:
        raise _invalid(name, f"must be null or a whole number of days from {least} to {MOST_DAYS}")
    return days


def _invalid(name: str, reason: str) -> ValidationError:
    return ValidationError(f"{name}: {reason}", details={"field": name, "reason": reason})
