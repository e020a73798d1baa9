"""Boolean formulas over the four call members by which policies are indexed.

A formula is built once when a policy is compiled, and evaluated for each kind of call when it is first seen.
"""

from collections.abc import Iterator
from enum import IntEnum
from itertools import product
from typing import Final, NamedTuple

from msgspec import Struct

_SIZE_MAX: Final = 200
_SAMPLES_MAX: Final = 1_024


class Field(IntEnum):
    """The members of the policy input that conditions are derived from; the order of CallKey."""

    TOOL = 0
    OPERATION = 1
    HOST = 2
    METHOD = 3


class CallKey(NamedTuple):
    """The members of a call that the index reads. None: the input has no such member."""

    tool: str
    operation: str
    host: str | None
    method: str | None


class Always(Struct, frozen=True):
    """True or false for every call."""

    value: bool

    def holds(self, call: CallKey) -> bool:
        return self.value

    @property
    def size(self) -> int:
        return 1


TRUE: Final = Always(True)
FALSE: Final = Always(False)


class OneOf(Struct, frozen=True):
    """The member is there and is one of these values."""

    field: Field
    values: frozenset[str]

    def holds(self, call: CallKey) -> bool:
        return call[self.field] in self.values

    @property
    def size(self) -> int:
        return 1


class Present(Struct, frozen=True):
    """The input has the member."""

    field: Field

    def holds(self, call: CallKey) -> bool:
        return call[self.field] is not None

    @property
    def size(self) -> int:
        return 1


class Not(Struct, frozen=True):
    part: "Formula"

    def holds(self, call: CallKey) -> bool:
        return not self.part.holds(call)

    @property
    def size(self) -> int:
        return 1 + self.part.size


class All(Struct, frozen=True):
    parts: tuple["Formula", ...]
    size: int

    def holds(self, call: CallKey) -> bool:
        return all(part.holds(call) for part in self.parts)


class Either(Struct, frozen=True):
    parts: tuple["Formula", ...]
    size: int

    def holds(self, call: CallKey) -> bool:
        return any(part.holds(call) for part in self.parts)


type Formula = Always | OneOf | Present | Not | All | Either


def negation(part: Formula) -> Formula:
    """Not ``part``."""
    match part:
        case Always(value):
            return FALSE if value else TRUE
        case Not(inner):
            return inner
        case _:
            return Not(part)


def all_of(*parts: Formula) -> Formula:
    """True if all parts are true; true if there are none."""
    flat = (inner for part in parts for inner in (part.parts if isinstance(part, All) else (part,)))
    kept = dict.fromkeys(part for part in flat if part != TRUE)
    if FALSE in kept:
        return FALSE
    # Absorption: a and (a or b) is a.
    left = tuple(part for part in kept if not (isinstance(part, Either) and any(one in kept for one in part.parts)))
    if not left:
        return TRUE
    return left[0] if len(left) == 1 else All(left, 1 + sum(part.size for part in left))


def any_of(*parts: Formula) -> Formula:
    """True if any part is true."""
    flat = (inner for part in parts for inner in (part.parts if isinstance(part, Either) else (part,)))
    kept = dict.fromkeys(part for part in flat if part != FALSE)
    if TRUE in kept:
        return TRUE
    # Absorption: a or (a and b) is a.
    left = tuple(part for part in kept if not (isinstance(part, All) and any(one in kept for one in part.parts)))
    if not left:
        return FALSE
    return left[0] if len(left) == 1 else Either(left, 1 + sum(part.size for part in left))


def at_most(part: Formula) -> Formula:
    """Returns ``part``, or a weaker formula if it is too large to evaluate: never false where ``part`` is true."""
    return part if part.size <= _SIZE_MAX else TRUE


def at_least(part: Formula) -> Formula:
    """Returns ``part``, or a stronger formula if it is too large: never true where ``part`` is false."""
    return part if part.size <= _SIZE_MAX else FALSE


def can_hold_together(*formulas: Formula) -> bool:
    """Whether some call makes all of them true; also True if there are too many kinds of calls to try."""
    values: list[set[str | None]] = [set(), set(), set(), set()]
    for formula in formulas:
        for field, named in _named(formula):
            values[field] |= named
    # One value that no formula names stands for all such values; None for an absent one.
    kinds = [[*sorted(filter(None, named)), "\0", None] for named in values]
    if len(kinds[0]) * len(kinds[1]) * len(kinds[2]) * len(kinds[3]) > _SAMPLES_MAX:
        return True
    return any(
        all(formula.holds(CallKey(tool or "\0", operation or "\0", host, method)) for formula in formulas)
        for tool, operation, host, method in product(*kinds)
    )


def _named(formula: Formula) -> Iterator[tuple[Field, frozenset[str]]]:
    match formula:
        case OneOf(field, values):
            yield field, values
        case Not(part):
            yield from _named(part)
        case All(parts) | Either(parts):
            for part in parts:
                yield from _named(part)
