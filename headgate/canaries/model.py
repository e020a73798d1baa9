"""Canary tokens, and where a call holds one. Pure.

The value is not kept: a keyed hash of it is, with its length and its first characters, by which a place that may hold
it is found. Letters count in either case, as a host name is written in lower case.
"""

import hashlib
import hmac
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret

CANARIES_MAX: Final = 1_000
"""Of an organization, in force."""
VALUE_MIN: Final = 16
VALUE_MAX: Final = 256
LEAD_CHARACTERS: Final = 4
PLACES_MAX: Final = 20_000
"""In one call that begin as a canary does. Where there are more, the call is refused, as not all are looked at."""
VALUE_PATTERN: Final = rf"^[A-Za-z0-9._@+/=:-]{{{VALUE_MIN},{VALUE_MAX}}}$"
_VALUE: Final = re.compile(VALUE_PATTERN)
_DIFFERENT_MIN: Final = 8


class Canary(Struct, frozen=True):
    """``lead``: the first characters of the value, as given. ``revoked_at``: set once it may be sent."""

    org_id: str
    canary_id: str
    name: str
    lead: str
    length: int
    mac: bytes
    created_at: datetime
    created_by: str | None
    revoked_at: datetime | None = None


class FoundCanary(Struct, frozen=True):
    """``place``: in what it was found, as ``$.body.note`` and the encodings around it; for people."""

    canary_id: str
    name: str
    place: str

    def record(self) -> JsonObject:
        return {"canary_id": self.canary_id, "name": self.name, "place": self.place}


def check_value(value: str) -> str:
    """Raises ValidationError."""
    if _VALUE.fullmatch(value) is None:
        raise _refused(f"{VALUE_MIN} to {VALUE_MAX} letters, digits and . _ @ + / = : - without spaces")
    if len(set(value.lower())) < _DIFFERENT_MIN:
        raise _refused(f"at least {_DIFFERENT_MIN} different characters: a value that occurs by chance refuses calls")
    return value


def _refused(expected: str) -> ValidationError:
    return ValidationError(f"value: {expected}", details={"field": "value", "reason": expected})


def mac_of(key: Secret, value: bytes) -> bytes:
    """``value`` in lower case."""
    return hashlib.blake2b(value, key=bytes.fromhex(key.reveal()), digest_size=32).digest()


class TooManyPlacesError(Exception):
    """More places begin as a canary does than are looked at."""


@dataclass(frozen=True)
class CanarySet:
    """An organization's canaries in force."""

    key: Secret | None = None
    _by_lead: dict[bytes, dict[int, list[Canary]]] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self._by_lead)

    def in_text(self, text: bytes, places_max: int = PLACES_MAX) -> list[tuple[int, Canary]]:
        """Where each begins that ``text`` holds, the first place of each. Raises TooManyPlacesError."""
        found: dict[str, tuple[int, Canary]] = {}
        for at, canary in self.all_in(text, places_max):
            found.setdefault(canary.canary_id, (at, canary))
        return sorted(found.values(), key=lambda one: one[0])

    def all_in(self, text: bytes, places_max: int = PLACES_MAX) -> Iterator[tuple[int, Canary]]:
        """Every place, those of one first characters after those of others. Raises TooManyPlacesError."""
        if self.key is None:
            return
        lowered = text.lower()
        left = places_max
        for lead, by_length in self._by_lead.items():
            at = lowered.find(lead)
            while at >= 0:
                left -= 1
                if left < 0:
                    raise TooManyPlacesError
                for length, canaries in by_length.items():
                    mac = mac_of(self.key, lowered[at : at + length])
                    for canary in canaries:
                        if hmac.compare_digest(mac, canary.mac):
                            yield at, canary
                at = lowered.find(lead, at + 1)


NO_CANARIES: Final = CanarySet()


def canary_set(key: Secret, canaries: Iterable[Canary]) -> CanarySet:
    by_lead: defaultdict[bytes, defaultdict[int, list[Canary]]] = defaultdict(lambda: defaultdict(list))
    for canary in canaries:
        by_lead[canary.lead.lower().encode()][canary.length].append(canary)
    return CanarySet(key, {lead: dict(by_length) for lead, by_length in by_lead.items()})
