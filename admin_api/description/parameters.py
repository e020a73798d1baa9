"""Parameters of routes that read the request themselves: the framework cannot see them, so the routes declare them.

``openapi_extra={"parameters": [in_path("token"), in_query("state", "…")]}``. What is declared for the query is also
what may stand there (``admin_api.guarded_route``).
"""

from typing import Any, Final

from headgate.kernel.ids import IdPrefix, id_pattern

type Parameter = dict[str, Any]

_MOST_CHARACTERS: Final = 2048
_WITHOUT_NUL: Final = "^[^\\u0000]*$"


def in_path(name: str, **schema: object) -> Parameter:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1, **schema}}


def id_in_path(name: str, prefix: IdPrefix) -> Parameter:
    return in_path(name, pattern=id_pattern(prefix))


def in_query(name: str, description: str) -> Parameter:
    schema = {"type": "string", "maxLength": _MOST_CHARACTERS}
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


FURTHER: Final[Parameter] = {
    "name": "further",
    "in": "query",
    "required": False,
    "description": "Further parameters of the sender; the service ignores them.",
    "schema": {
        "type": "object",
        "propertyNames": {"pattern": _WITHOUT_NUL},
        "additionalProperties": {"type": "string", "pattern": _WITHOUT_NUL},
    },
}
"""Of answers that others write: an authorization server, a tracker (RFC 6749, section 4.1.2)."""
