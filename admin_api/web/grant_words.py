"""Says in words what a grant lets through."""

import json
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject

_RELATIONS: Final = {"equals": "is", "one_of": "is one of", "prefix": "begins with", "matches": "matches"}
_BOUNDS: Final = {"at_least": "is at least", "at_most": "is at most"}


class ConditionWords(Struct, frozen=True):
    """``param`` ``relation`` ``value``: *amount* is at most *100*. Values are JSON, so that texts have quotes."""

    param: str
    relation: str
    value: str


def words_of(conditions: Sequence[JsonObject]) -> list[ConditionWords]:
    """A line for each condition, and one for each end of a range."""
    return [line for one in conditions for line in _lines(one)]


def _lines(condition: JsonObject) -> list[ConditionWords]:
    param = str(condition["param"])
    lines = []
    for name, relation in (_RELATIONS | _BOUNDS).items():
        if name in condition:
            given = condition[name]
            values = given if name == "one_of" and isinstance(given, list) else [given]
            text = ", ".join(json.dumps(one, ensure_ascii=False, sort_keys=True) for one in values)
            lines.append(ConditionWords(param, relation, text))
    return lines
