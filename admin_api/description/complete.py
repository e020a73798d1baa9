"""Every operation with a summary, its credentials, its error answers and an example of its body.

Errors follow from the table of who may call what (``admin_api.access``) and from the shape of the operation, as the
answers themselves do; so a route does not list them, and none can be forgotten.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from admin_api.access import Access, Audience, access_of
from admin_api.description.documents import DOCUMENTS
from admin_api.description.operations import operation_name
from admin_api.description.samples import sample
from admin_api.description.tags import TAGS
from headgate.ratelimits.classes import RateClass
from headgate.webhooks.model import WebhookEvent

type Json = dict[str, Any]

_METHODS: Final = frozenset({"get", "put", "post", "patch", "delete", "options", "head"})
_BODIES: Final = frozenset({"put", "post", "patch", "delete"})
_MEANING: Final[Mapping[int, str]] = {
    400: "VALIDATION_ERROR: a parameter or the body is malformed; `details` name the field and the reason",
    401: "UNAUTHORIZED: the credential is missing, malformed, unknown, expired or revoked",
    403: "FORBIDDEN: the credential does not carry this right; the message names the scope",
    404: "NOT_FOUND: the resource does not exist, or this caller may not see it",
    409: "CONFLICT: the state of the resource, or another use of the same key, does not allow the request",
    412: "PRECONDITION_FAILED: the resource is not at the version that If-Match names",
    413: "PAYLOAD_TOO_LARGE: the body exceeds its limit",
    429: "RATE_LIMITED: the quota is used up; Retry-After states when to retry",
    500: "INTERNAL_ERROR: a defect; the log has its cause under `requestId`",
    503: "SERVICE_UNAVAILABLE: a required service is unreachable; nothing was changed",
}
_HEADERS_OF: Final[Mapping[int, tuple[str, str]]] = {
    401: ("WWW-Authenticate", "A way to authenticate (RFC 9110, section 11.6.1)"),
    429: ("Retry-After", "Seconds (RFC 9110, section 10.2.3)"),
}
_ERROR: Final[Json] = {
    "type": "object",
    "title": "ErrorAnswer",
    "description": "Every refusal (docs/reference/errors.md).",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "timestamp"],
            "properties": {
                "code": {"type": "string", "examples": ["VALIDATION_ERROR"]},
                "message": {"type": "string", "description": "For people; never contains a secret"},
                "details": {"type": "object", "additionalProperties": True},
                "timestamp": {"type": "string", "format": "date-time"},
                "requestId": {"type": "string", "description": "The same as the header X-Request-Id"},
            },
        }
    },
}
_SECURITY: Final[Json] = {
    "agentKey": {"type": "apiKey", "in": "header", "name": "X-Agent-Key", "description": "An API key"},
    "bearer": {"type": "http", "scheme": "bearer", "description": "A person's token (JWT), or an API key"},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-headgate_session",
        "description": "A browser's session, after /auth/login",
    },
}
_SENTENCE: Final = re.compile(r"^(.+?)(?:[.;:](?=\s|$)|$)", re.DOTALL)
_LONGEST_SUMMARY: Final = 90


def complete(document: Json) -> Json:
    """The framework's document, completed in place. Raises LookupError for a route that is not in the table."""
    components = document.setdefault("components", {})
    components["securitySchemes"] = _SECURITY
    schemas = components.setdefault("schemas", {})
    schemas["ErrorAnswer"] = _ERROR
    components["responses"] = {f"Refused{status}": _refusal(status) for status in _MEANING}
    _standard_bounds(schemas)
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if method in _METHODS:
                _complete_operation(operation, method, path, schemas)
                operation["operationId"] = operation_name(method, path, operation, document)
    _tell_apart([one for operations in document["paths"].values() for one in operations.values()])
    document["servers"] = [{"url": "/", "description": "Where this document was read."}]
    document["info"]["license"] = {"name": "Apache-2.0", "identifier": "Apache-2.0"}
    document["tags"] = [{"name": name, "description": meaning} for name, meaning in TAGS.items()]
    document["webhooks"] = {one.value: _webhook(one) for one in WebhookEvent}
    return document


def _standard_bounds(schema: object) -> None:
    """Pydantic writes the bounds of a member with a validator of its own under its own names: in place, as JSON Schema
    names them."""
    if isinstance(schema, list):
        for one in schema:
            _standard_bounds(one)
    elif isinstance(schema, dict):
        for own, name in (("ge", "minimum"), ("le", "maximum")):
            if isinstance(schema.get(own), int | float):
                schema[name] = schema.pop(own)
        for one in schema.values():
            _standard_bounds(one)


def _tell_apart(operations: list[Json]) -> None:
    """A summary that several have, as "Newest first", is what the operation is called instead."""
    times = Counter(one["summary"] for one in operations)
    for one in operations:
        if times[one["summary"]] > 1:
            one["summary"] = one["operationId"].replace("_", " ").capitalize()


def _webhook(event: WebhookEvent) -> Json:
    schema: Json = {
        "type": "object",
        "required": ["event", "timestamp", "data"],
        "properties": {
            "event": {"const": event.value},
            "timestamp": {"type": "string", "format": "date-time"},
            "data": {"type": "object", "additionalProperties": True},
        },
    }
    return {
        "post": {
            "operationId": f"on_{event.value.replace('.', '_')}",
            "summary": f"Sent to endpoints that subscribe to {event.value}",
            "description": "Signed according to Standard Webhooks. docs/guides/webhooks.md lists the members of data.",
            "tags": ["webhooks"],
            "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
            "responses": {"2XX": {"description": "Accepted. Headgate retries after any other status."}},
        }
    }


def _complete_operation(operation: Json, method: str, path: str, schemas: Json) -> None:
    access = access_of(method.upper(), path)
    operation["summary"] = _summary(operation)
    operation["security"] = {
        Audience.PUBLIC: [],
        Audience.AGENTS: [{"agentKey": []}, {"bearer": []}],
        Audience.ADMINISTRATORS: [{"bearer": []}, {"session": []}],
        Audience.PEOPLE: [{"bearer": []}, {"session": []}],
        Audience.PAGES: [{"session": []}],
    }[access.audience]
    if method == "put":
        # Read by the route itself: a document that the organization keeps. What policies read may be any JSON.
        schema, example = DOCUMENTS.get(path, ({}, {}))
        content = {"application/json": {"schema": schema, "example": example}}
        operation.setdefault("requestBody", {"required": True, "content": content})
    answers = operation["responses"]
    if path in DOCUMENTS:
        # The route answers with the bytes of the document, which has no model.
        answers["200"].setdefault("content", {"application/json": {"schema": {"type": "object"}}})
    answers.pop("422", None)  # a malformed request is 400 here (``admin_api.errors``)
    for status in _errors(access, method, path, operation):
        answers.setdefault(str(status), {"$ref": f"#/components/responses/Refused{status}"})
    for status, described in answers.items():
        if int(status) in _MEANING and not described.keys() & {"$ref", "content"}:
            answers[status] = {"$ref": f"#/components/responses/Refused{status}"}
    if "text/html" in answers.get("400", {}).get("content", {}):
        # The guard refuses parameters before the page is made (``admin_api.guarded_route``).
        answers["400"]["content"]["application/json"] = {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        if "schema" in content and "example" not in content and "examples" not in content:
            content["example"] = sample(content["schema"], schemas)


def _refusal(status: int) -> Json:
    described: Json = {
        "description": _MEANING[status],
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}},
    }
    if status in _HEADERS_OF:
        name, meaning = _HEADERS_OF[status]
        described["headers"] = {name: {"description": meaning, "schema": {"type": "string"}}}
    return described


def _errors(access: Access, method: str, path: str, operation: Json) -> list[int]:
    found = [500, 503]
    may_have_body = method in _BODIES  # where the route has none, one that says something is refused
    if may_have_body or operation.get("parameters"):
        found.append(400)
    if access.audience is not Audience.PUBLIC or access.rate_class is RateClass.PUBLIC:
        # A body or a parameter may name what is not there, as a path does; signing in has credentials of its own.
        found += [401, 403, 404]
    if "{" in path:
        found += [404]
    if method not in ("get", "options", "head"):
        found += [409]
    if any(one.get("name", "").lower() == "if-match" for one in operation.get("parameters", [])):
        found += [412]
    if may_have_body:
        found += [413]
    if access.rate_class is not None:
        found += [429]
    return sorted(set(found))


def _summary(operation: Json) -> str:
    """The first sentence of what the route says of itself, where it is short enough to be one."""
    match = _SENTENCE.match(" ".join(str(operation.get("description", "")).split()))
    if match is None or not match[1] or len(match[1]) > _LONGEST_SUMMARY:
        return str(operation.get("summary", ""))
    return match[1]
