"""What a grant asks of a call's params: few kinds of conditions, each readable in one line.

A param is named by itself, or, further down, by a JSON Pointer (RFC 6901: ``/query/page/0``). A condition on what
is not there is not met. Texts are compared exactly; patterns are RE2's (linear in time, whatever is matched) and must
match the whole text.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Final

import re2
from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.errors import ValidationError

CONDITIONS_MAX: Final = 20
_ONE_OF_MAX: Final = 100
PARAM_MAX_CHARACTERS: Final = 200
_VALUE_MAX_BYTES: Final = 2_000
_PATTERN_MAX_CHARACTERS: Final = 200
AMOUNT_MAX: Final = 10**15
_HOSTS: Final = frozenset({"host", "/host"})
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)


class ConditionKind(StrEnum):
    EQUALS = "equals"
    PREFIX = "prefix"
    ONE_OF = "one_of"
    MATCHES = "matches"
    RANGE = "range"


class Condition(Struct, frozen=True):
    """``values`` are canonical JSON for ``equals`` and ``one_of``; ``text`` is the prefix or the pattern."""

    param: str
    kind: ConditionKind
    values: tuple[bytes, ...] = ()
    text: str = ""
    at_least: Decimal | None = None
    at_most: Decimal | None = None
    shown: str = ""
    """The condition as it was given, in canonical JSON."""

    def holds(self, params: Mapping[str, JsonValue]) -> bool:
        found, value = param_of(params, self.param)
        if not found:
            return False
        match self.kind:
            case ConditionKind.EQUALS | ConditionKind.ONE_OF:
                return canonical_bytes(value) in self.values
            case ConditionKind.PREFIX:
                return isinstance(value, str) and value.startswith(self.text)
            case ConditionKind.MATCHES:
                return isinstance(value, str) and _compiled(self.text).fullmatch(value) is not None
            case ConditionKind.RANGE:
                number = amount_of(value)
                return (
                    number is not None
                    and (self.at_least is None or number >= self.at_least)
                    and (self.at_most is None or number <= self.at_most)
                )


def param_of(params: Mapping[str, JsonValue], name: str) -> tuple[bool, JsonValue]:
    """Whether the param is there, and its value."""
    if not name.startswith("/"):
        return name in params, params.get(name)
    value: JsonValue = dict(params)
    for token in name[1:].split("/"):
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and _INDEX.fullmatch(key) is not None and int(key) < len(value):
            value = value[int(key)]
        else:
            return False, None
    return True, value


def amount_of(value: JsonValue) -> Decimal | None:
    """A JSON number, exactly; None for anything else, and for what no one counts with."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = Decimal(value) if isinstance(value, int) else Decimal(repr(value))
    return number if number.is_finite() and abs(number) <= AMOUNT_MAX else None


def parse_conditions(given: Sequence[JsonObject]) -> tuple[Condition, ...]:
    """Raises ValidationError, which names the condition."""
    if len(given) > CONDITIONS_MAX:
        raise ValidationError(f"at most {CONDITIONS_MAX} conditions", details={"field": "conditions"})
    return tuple(_parse(one, f"conditions[{number}]") for number, one in enumerate(given))


def parse_param(name: object, field: str) -> str:
    """Raises ValidationError."""
    if not isinstance(name, str) or not 0 < len(name) <= PARAM_MAX_CHARACTERS or "\0" in name:
        raise _invalid(field, f"must name a param in at most {PARAM_MAX_CHARACTERS} characters")
    if name.startswith("/") and re.search(r"~(?![01])", name) is not None:
        raise _invalid(field, "in a JSON Pointer ~ is written ~0, and / within a name ~1")
    return name


def _parse(given: JsonObject, field: str) -> Condition:
    param = parse_param(given.get("param"), f"{field}.param")
    kinds = sorted(set(given) - {"param"})
    shown = canonical_bytes(given)
    if len(shown) > _VALUE_MAX_BYTES:
        raise _invalid(field, f"is longer than {_VALUE_MAX_BYTES} bytes")
    text = shown.decode()
    match kinds:
        case ["equals"]:
            return Condition(param, ConditionKind.EQUALS, (canonical_bytes(given["equals"]),), shown=text)
        case ["one_of"]:
            return Condition(param, ConditionKind.ONE_OF, _values(given["one_of"], f"{field}.one_of"), shown=text)
        case ["prefix"]:
            prefix = _text(given["prefix"], f"{field}.prefix")
            if param in _HOSTS:
                # api.example.com is a prefix of api.example.com.evil.example.
                raise _invalid(f"{field}.prefix", "a host must be complete: use equals or one_of")
            return Condition(param, ConditionKind.PREFIX, text=prefix, shown=text)
        case ["matches"]:
            pattern = _text(given["matches"], f"{field}.matches")
            _check_pattern(pattern, f"{field}.matches")
            return Condition(param, ConditionKind.MATCHES, text=pattern, shown=text)
        case ["at_least"] | ["at_most"] | ["at_least", "at_most"]:
            least, most = (
                _bound(given[name], f"{field}.{name}") if name in given else None for name in ("at_least", "at_most")
            )
            if least is not None and most is not None and least > most:
                raise _invalid(field, "at_least is more than at_most")
            return Condition(param, ConditionKind.RANGE, at_least=least, at_most=most, shown=text)
    raise _invalid(field, "needs exactly one of equals, one_of, prefix, matches, or at_least and at_most")


def _values(value: JsonValue, field: str) -> tuple[bytes, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= _ONE_OF_MAX:
        raise _invalid(field, f"must be a list of 1 to {_ONE_OF_MAX} values")
    return tuple(canonical_bytes(one) for one in value)


def _text(value: JsonValue, field: str) -> str:
    if not isinstance(value, str) or not value:
        raise _invalid(field, "must be a non-empty text")
    return value


def _bound(value: JsonValue, field: str) -> Decimal:
    number = amount_of(value)
    if number is None:
        raise _invalid(field, "must be a number")
    return number


def _check_pattern(pattern: str, field: str) -> None:
    if len(pattern) > _PATTERN_MAX_CHARACTERS:
        raise _invalid(field, f"is longer than {_PATTERN_MAX_CHARACTERS} characters")
    try:
        _compiled(pattern)
    except re2.error as error:
        raise _invalid(field, f"is not an RE2 pattern: {_said(error)}") from error


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re2._Regexp:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def _said(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)


def _invalid(field: str, reason: str) -> ValidationError:
    return ValidationError(f"{field} {reason}", details={"field": field, "reason": reason})
