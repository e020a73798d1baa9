"""Reading an OpenAPI document: what its operations are, with local references followed."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError

_VERSION: Final = re.compile(r"3\.[01](?:\.|$)")
_DEPTH_MAX: Final = 20
_VARIABLE: Final = re.compile(r"\{([^{}]+)\}")


class Parameter(Struct, frozen=True):
    """``place``: query, header, path or cookie. ``is_list``: it may be there more than once."""

    name: str
    place: str
    is_list: bool


class OpenApiDocument:
    """Raises ValidationError for what is none."""

    def __init__(self, document: JsonValue) -> None:
        if not isinstance(document, dict) or _VERSION.match(str(document.get("openapi", ""))) is None:
            raise ValidationError("an OpenAPI document of version 3.0 or 3.1 is expected")
        self._document = document

    @property
    def title(self) -> str:
        title = _object(self._document.get("info")).get("title")
        return title.strip()[:200] if isinstance(title, str) and title.strip() else "An API"

    @property
    def server_url(self) -> str:
        """The first server's, its variables at their defaults; empty where there is none."""
        servers = self._document.get("servers")
        server = _object(servers[0]) if isinstance(servers, list) and servers else {}
        variables = _object(server.get("variables"))
        url = server.get("url")
        if not isinstance(url, str):
            return ""
        return _VARIABLE.sub(lambda match: str(_object(variables.get(match[1])).get("default", "")), url)

    def operations(self, methods: Sequence[str]) -> Iterator[tuple[str, str, JsonObject, JsonValue]]:
        """Path, method, operation, and the parameters that the path's operations share."""
        for path, item in _object(self._document.get("paths")).items():
            members = self._resolved(item)
            for method in methods:
                if isinstance(members.get(method), dict):
                    yield path, method, _object(members[method]), members.get("parameters")

    def parameters(self, *lists: JsonValue) -> Iterable[Parameter]:
        """Later ones take the place of earlier ones (OpenAPI, "Operation Object")."""
        found: dict[tuple[str, str], Parameter] = {}
        for given in lists:
            for one in given if isinstance(given, list) else []:
                members = self._resolved(one)
                name, place = members.get("name"), members.get("in")
                if isinstance(name, str) and isinstance(place, str):
                    schema = self._resolved(members.get("schema"))
                    is_list = schema.get("type") == "array" and members.get("explode", True) is True
                    found[name, place] = Parameter(name, place, is_list)
        return found.values()

    def body(self, operation: JsonObject) -> tuple[Sequence[str], str | None]:
        """The body's members, and what it is: json, form, raw, or None where there is none."""
        content = _object(self._resolved(operation.get("requestBody")).get("content"))
        for media_type, described in content.items():
            if media_type.partition(";")[0].strip().lower() == "application/json" or media_type.endswith("+json"):
                return self._properties(_object(described).get("schema"), 0), "json"
        if "application/x-www-form-urlencoded" in content:
            schema = _object(content["application/x-www-form-urlencoded"]).get("schema")
            return self._properties(schema, 0), "form"
        return (), "raw" if content else None

    def expected(self, operation: JsonObject) -> Sequence[int]:
        """The statuses of success that are declared by number."""
        return sorted(
            int(status)
            for status in _object(operation.get("responses"))
            if status.isdigit() and len(status) == 3 and status[0] == "2"
        )

    def security_schemes(self) -> Iterator[JsonObject]:
        components = _object(self._document.get("components"))
        for scheme in _object(components.get("securitySchemes")).values():
            yield self._resolved(scheme)

    def _properties(self, schema: JsonValue, depth: int) -> list[str]:
        members = self._resolved(schema)
        names = list(_object(members.get("properties")))
        for key in ("allOf", "anyOf", "oneOf"):
            parts = members.get(key)
            for part in parts if isinstance(parts, list) and depth < _DEPTH_MAX else []:
                names += self._properties(part, depth + 1)
        return list(dict.fromkeys(names))

    def _resolved(self, value: JsonValue) -> JsonObject:
        """``{"$ref": "#/…"}`` followed inside the document; nothing is fetched."""
        for _ in range(_DEPTH_MAX):
            reference = _object(value).get("$ref")
            if not isinstance(reference, str):
                return _object(value)
            if not reference.startswith("#/"):
                raise ValidationError(f"{reference[:200]} points outside the document")
            value = self._document
            for piece in reference[2:].split("/"):
                value = _object(value).get(piece.replace("~1", "/").replace("~0", "~"))
        raise ValidationError("references are circular")


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
