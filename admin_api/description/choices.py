"""Members of a body that depend on each other, as JSON Schema (draft 2020-12) says it.

``ConfigDict(json_schema_extra=exactly_one(action="object", http="object"))``. A member that is null is not given.
"""

from typing import Any

type Schema = dict[str, Any]


def exactly_one(**types: str) -> Schema:
    """One of these members, with its JSON type, and none of the others."""
    return {"oneOf": [_only(one, types) for one in types]}


def at_most_one(**types: str) -> Schema:
    """None of these members, or one."""
    none: Schema = {"properties": {name: {"type": "null"} for name in types}}
    return {"oneOf": [*(_only(one, types) for one in types), none]}


def _only(one: str, types: dict[str, str]) -> Schema:
    others: Schema = {name: {"type": "null"} for name in types if name != one}
    return {"required": [one], "properties": {one: {"type": types[one]}, **others}}
