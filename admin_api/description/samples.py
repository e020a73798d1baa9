"""An example of a schema: what its author gave, else a value that conforms, with members filled as people would."""

import re
from collections.abc import Mapping
from typing import Any, Final

type Schema = Mapping[str, Any]

_BY_NAME: Final[Mapping[str, object]] = {
    "id": "act_01938a5e-7c00-7000-8000-000000000001",
    "name": "Build robot",
    "description": "Opens pull requests for the build team",
    "reason": "Checked with the owner of the repository",
    "comment": "As agreed",
    "email": "ana@example.com",
    "tool": "github",
    "operation": "create_issue",
    "url": "https://hooks.example.com/headgate",
    "host": "api.example.com",
    "instance": "mastodon.example",
    "identifier": "ana.example.com",
    "redirect_uri": "https://gate.example.com/connected",
    "agent": "agt_01938a5e-7c00-7000-8000-000000000001",
    "assignee": "ana@example.com",
    "stand_in": "ana@example.com",
    "rego_policy": 'package example\n\nallow if input.tool == "github"\n',
    "content": "The meeting is at ten",
}
_BY_FORMAT: Final[Mapping[str, str]] = {
    "date-time": "2026-11-21T08:00:00Z",
    "date": "2026-11-21",
    "uuid": "01938a5e-7c00-7000-8000-000000000001",
    "uri": "https://example.com",
    "email": "ana@example.com",
}
_DEEPEST: Final = 8


def sample(schema: Schema, schemas: Mapping[str, Schema], name: str = "", depth: int = 0) -> Any:
    """A value of this schema; ``name``: of the member that it is."""
    if given := schema.get("examples"):
        return given[0]
    if "$ref" in schema:
        return sample(schemas[schema["$ref"].rpartition("/")[2]], schemas, name, depth)
    for member in ("example", "const", "default"):
        if schema.get(member) is not None:
            return schema[member]
    if options := schema.get("enum"):
        return options[0]
    for several in ("anyOf", "oneOf"):
        if several in schema and "properties" not in schema:
            described = [one for one in schema[several] if one.get("type") != "null"]
            return sample(described[0], schemas, name, depth) if described else None
    if (parts := schema.get("allOf")) and "properties" not in schema:
        return sample(parts[0], schemas, name, depth)
    return _by_type(schema, schemas, name, depth)


def _by_type(schema: Schema, schemas: Mapping[str, Schema], name: str, depth: int) -> Any:
    kind = schema.get("type")
    match next(one for one in kind if one != "null") if isinstance(kind, list) else kind:
        case "object":
            return _object(schema, schemas, depth)
        case "array":
            if depth > _DEEPEST or not schema.get("minItems", 1):
                return []
            return [sample(schema.get("items", {}), schemas, name.removesuffix("s"), depth + 1)]
        case "boolean":
            return True
        case "integer" | "number":
            return _number(schema)
        case "string":
            return _text(schema, name)
    return {}


def _object(schema: Schema, schemas: Mapping[str, Schema], depth: int) -> dict[str, Any]:
    """The members that are required, by the first choice where there are some; the first ones where none is."""
    members: Mapping[str, Schema] = schema.get("properties", {})
    parts = [schema, *schema.get("allOf", [])]
    chosen = [*parts, *(part[several][0] for part in parts for several in ("anyOf", "oneOf") if several in part)]
    some = list(members)[: 1 if len(chosen) > 1 else 2]
    wanted = [name for part in chosen for name in part.get("required", [])] or some
    return {
        one: sample(members[one], schemas, one, depth + 1) for one in wanted if one in members and depth <= _DEEPEST
    }


def _number(schema: Schema) -> int:
    least = schema.get("minimum", schema.get("exclusiveMinimum", 0) + ("exclusiveMinimum" in schema))
    return int(max(least, min(schema.get("maximum", 10), 10)))


def _text(schema: Schema, name: str) -> str:
    if schema.get("format") in _BY_FORMAT:
        return _BY_FORMAT[schema["format"]]
    text = str(_BY_NAME.get(name, "example"))
    if "pattern" in schema and re.search(schema["pattern"], text) is None:
        text = "example"
    return text.ljust(schema.get("minLength", 0), "x")[
        : schema.get("maxLength", len(text) + schema.get("minLength", 0))
    ]
