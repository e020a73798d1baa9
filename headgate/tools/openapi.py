"""A catalogue from an OpenAPI document (3.0 and 3.1; https://spec.openapis.org/oas/v3.1.1.html). Pure.

What the document does not say is chosen carefully: nothing but GET only reads, nothing is repeatable, DELETE destroys.
What a catalogue cannot express is left out, and named: such a call is then ``unlisted_<method>`` of the tool.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from headgate.kernel.call_name import NAME_LENGTH_MAX, fits
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.tools.openapi_document import OpenApiDocument, Parameter

_METHODS: Final = ("get", "post", "put", "patch", "delete", "options")
_EFFECTS: Final = {"get": "read", "options": "read", "delete": "destructive"}
_VARIABLE: Final = re.compile(r"\{([^{}]+)\}")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNFIT: Final = re.compile(r"[^a-z0-9]+")
# Set by Headgate, or by the credential.
_OWN_HEADERS: Final = frozenset({"accept", "content-type", "authorization", "user-agent", "host", "content-length"})
_IDEMPOTENCY: Final = re.compile(r"(?:x-)?idempotency-key", re.IGNORECASE)
_DESCRIPTION_MAX: Final = 200


class Imported(Struct, frozen=True):
    """``catalogue``: what a catalogue's file holds; ``left_out``: what it could not express, with the reason."""

    catalogue: JsonObject
    left_out: list[str]


def import_openapi(document: JsonValue, *, tool: str, origin: str | None = None) -> Imported:
    """``origin``: where the API is, where the document does not say. Raises ValidationError."""
    if not fits(tool):
        raise ValidationError(f"{tool[:64]!r} is not a tool name (^[a-z][a-z0-9_]*$, 1 to 64 characters)")
    api = OpenApiDocument(document)
    scheme, host, port, base = _server(api, origin)
    entries: list[JsonValue] = []
    left_out: list[str] = []
    taken: set[str] = set()
    for path, method, operation, shared in api.operations(_METHODS):
        try:
            entries.append(_entry(api, base + path, method, operation, shared, taken))
        except ValidationError as error:
            left_out.append(f"{method.upper()} {path}: {error.message}")
    if not entries:
        raise ValidationError(
            "no operation of the document can be a catalogue's: " + "; ".join(left_out[:3] or ["none"])
        )
    send: JsonObject = {"origin": f"{scheme}://{host}" + ("" if port is None else f":{port}")}
    if (credential := _credential(api, tool)) is not None:
        send["credential"] = credential
    catalogue: JsonObject = {
        "tool": tool,
        "description": api.title,
        "hosts": [host],
        "send": send,
        "entries": entries,
    }
    return Imported(catalogue, left_out)


def _server(api: OpenApiDocument, origin: str | None) -> tuple[str, str, int | None, str]:
    url = api.server_url
    if origin is not None:
        url = origin.rstrip("/") + urlsplit(url).path
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValidationError(f"the server's address {url[:200]} is no URL") from error
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise ValidationError(
            f"the document does not say where the API is ({url[:200] or 'no server'}): name its origin"
        )
    return parts.scheme, parts.hostname, port, parts.path.rstrip("/")


def _entry(
    api: OpenApiDocument, path: str, method: str, operation: JsonObject, shared: JsonValue, taken: set[str]
) -> JsonObject:
    template, variables = _template(path)
    properties, content = api.body(operation)
    names = set(variables.values())
    has_body = method not in ("get", "delete", "options")
    params = _Params(names, has_body)
    for parameter in api.parameters(shared, operation.get("parameters")):
        params.add(parameter)
    body: dict[str, JsonValue] = {name: _free(f"body_{_snake(name)}", names) for name in properties if name in names}
    send = params.send
    if content == "form" or (content == "json" and not has_body):
        send["content"] = content
    entry: JsonObject = {
        "operation": _operation_name(operation, method, path, taken),
        "method": method.upper(),
        "path": template,
        "effect": _EFFECTS.get(method, "write"),
        "description": _description(operation, method, path),
    }
    if content == "raw":
        entry["body"] = "raw"
    if expected := api.expected(operation):
        entry["expected_status"] = list[JsonValue](expected)
    if renamed := {
        key: one for key, one in (("query", params.query), ("body", body), ("header", params.headers)) if one
    }:
        entry["params"] = dict[str, JsonValue](renamed)
    if params.repeated:
        entry["repeated"] = params.repeated
    if send:
        entry["send"] = send
    return entry


class _Params:
    """Where the parameters of one operation travel; ``names`` are the params that are taken already."""

    def __init__(self, names: set[str], has_body: bool) -> None:
        self._names = names
        self._has_body = has_body
        self.query: dict[str, JsonValue] = {}
        self.headers: dict[str, JsonValue] = {}
        self.repeated: list[JsonValue] = []
        self.send: JsonObject = {}

    def add(self, parameter: Parameter) -> None:
        if parameter.place == "query":
            self._add_to_query(parameter)
        elif parameter.place == "header" and _IDEMPOTENCY.fullmatch(parameter.name):
            self.send["idempotency_header"] = parameter.name
        elif parameter.place == "header" and parameter.name.lower() not in _OWN_HEADERS:
            self.headers[parameter.name] = self._take(_free(_snake(parameter.name), self._names))

    def _add_to_query(self, parameter: Parameter) -> None:
        name = parameter.name
        if name in self._names:
            self.query[name] = self._take(_free(f"query_{_snake(name)}", self._names))
        else:
            self._take(name)
            if self._has_body:
                self.send["query"] = [*self._in_query(), name]
        if parameter.is_list and not name.endswith("[]"):
            self.repeated.append(name)

    def _in_query(self) -> list[JsonValue]:
        found = self.send.get("query")
        return found if isinstance(found, list) else []

    def _take(self, name: str) -> str:
        self._names.add(name)
        return name


def _template(path: str) -> tuple[str, Mapping[str, str]]:
    """A catalogue's path, and its variables' names by those of the document."""
    variables: dict[str, str] = {}
    segments: list[str] = []
    for segment in path.split("/"):
        if (match := _VARIABLE.fullmatch(segment)) is not None:
            variables[match[1]] = _free(_snake(match[1]), set(variables.values()))
            segments.append("{" + variables[match[1]] + "}")
        elif "{" in segment or "}" in segment:
            raise ValidationError(f"{segment} is only partly a variable")
        elif segment or not segments:
            segments.append(segment)
    return "/".join(segments) or "/", variables


def _operation_name(operation: JsonObject, method: str, path: str, taken: set[str]) -> str:
    given = operation.get("operationId")
    name = _snake(given if isinstance(given, str) and given else f"{method}_{_VARIABLE.sub('', path)}")
    if name.startswith(("unlisted_", "mcp_")):
        name = f"op_{name}"
    name = _free(name[:NAME_LENGTH_MAX].rstrip("_"), taken)
    taken.add(name)
    return name


def _description(operation: JsonObject, method: str, path: str) -> str:
    for key in ("summary", "description"):
        text = operation.get(key)
        if isinstance(text, str) and text.strip():
            return " ".join(text.split())[:_DESCRIPTION_MAX]
    return f"{method.upper()} {path}"


def _credential(api: OpenApiDocument, tool: str) -> JsonObject | None:
    for scheme in api.security_schemes():
        kind, place, name = scheme.get("type"), scheme.get("in"), scheme.get("name")
        if kind == "http" and str(scheme.get("scheme", "")).lower() == "bearer":
            return {"name": tool}
        if kind == "http" and str(scheme.get("scheme", "")).lower() == "basic":
            return {"name": tool, "prefix": "Basic "}
        if kind == "apiKey" and place == "header" and isinstance(name, str):
            return {"name": tool, "header": name, "prefix": ""}
        if kind in ("oauth2", "openIdConnect"):
            return {"name": tool}
    return None


def _snake(name: str) -> str:
    text = _UNFIT.sub("_", _HUMP.sub("_", name).lower()).strip("_")
    return text if text and text[0].isalpha() else f"n_{text}".rstrip("_")


def _free(name: str, taken: set[str]) -> str:
    return next(one for one in _numbered(name) if one not in taken)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        suffix = f"_{number}"
        yield name[: NAME_LENGTH_MAX - len(suffix)] + suffix
        number += 1
