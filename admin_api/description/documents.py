"""Bodies of PUT that routes read themselves: documents that the organization keeps, with an example of each.

What is checked is in the slice that reads them; tests/contract holds the two against each other.
"""

from collections.abc import Mapping
from typing import Any, Final

from headgate.executions.model import DEFAULT_CONCURRENCY_MAX, limits_most
from headgate.kernel.call_name import NAME_LENGTH_MAX
from headgate.nlp_policies.model import MODEL_MAX_CHARACTERS
from headgate.notifications.members import MOST
from headgate.notifications.model import ChannelKind
from headgate.retention.model import MOST_DAYS
from headgate.siem.model import FROM, MOST_DESTINATIONS
from headgate.traffic.model import CaptureLevel
from headgate.traffic.rules import BODY_LIMIT_MOST_BYTES
from headgate.workflows.retained_kinds import KINDS

type _Schema = dict[str, Any]


def _members(required: tuple[str, ...] = (), /, **properties: _Schema) -> _Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": {name.rstrip("_"): schema for name, schema in properties.items()},
    }


def _by_name(pattern: str, entry: _Schema, most: int | None = None) -> _Schema:
    bound = {} if most is None else {"maxProperties": most}
    return {"type": "object", "additionalProperties": False, "patternProperties": {pattern: entry}, **bound}


def _list(items: _Schema, most: int) -> _Schema:
    return {"type": "array", "items": items, "maxItems": most}


def _text(most: int, **more: Any) -> _Schema:
    return {"type": "string", "minLength": 1, "maxLength": most, **more}


def _or_null(schema: _Schema) -> _Schema:
    return {**schema, "type": [schema["type"], "null"]}


_FLAG: Final[_Schema] = {"type": "boolean"}
_DAYS: Final[_Schema] = {"type": ["integer", "null"], "minimum": 1, "maximum": MOST_DAYS}
_PRICE: Final[_Schema] = {"type": ["number", "null"], "minimum": 0, "maximum": 1_000_000}
_NAMES: Final = _list(_text(253), 200)
_CALL_NAME: Final[_Schema] = {"type": "string", "pattern": f"^[a-z][a-z0-9_]{{0,{NAME_LENGTH_MAX - 1}}}$"}
_CALL_NAMES: Final = _list(_CALL_NAME, 200)
_DESTINATION: Final = _members(
    ("host",),
    host=_text(253, description="A name, *.name, an address, or a network as in 10.0.0.0/8."),
    ports=_list({"type": "integer", "minimum": 1, "maximum": 65535}, 65535),
    private=_FLAG,
    note={"type": "string", "maxLength": 500},
)
_CAPTURE: Final = _members(
    ("capture",),
    agents=_list({"type": "string", "pattern": "^agt_", "maxLength": 253}, 200),
    tools=_CALL_NAMES,
    operations=_CALL_NAMES,
    hosts=_NAMES,
    capture={"enum": [one.value for one in CaptureLevel]},
)
_STREAM: Final = _members(
    ("address",),
    address=_text(2048, description="syslog+tls://, syslog+tcp://, https://, http://, or file:"),
    enabled=_FLAG,
    authorization={"type": ["string", "null"], "pattern": "^[ -~]{1,4096}$", "writeOnly": True},
    from_={"enum": list(FROM)},
)
_PROVIDER: Final = _members(
    kind={"enum": ["openai_compatible", "anthropic", "gemini"], "description": "Default: the name."},
    base_url=_text(2000, format="uri"),
    api_key={"type": ["string", "null"], "pattern": "^[!-~]{1,4096}$", "writeOnly": True},
    models=_or_null(_list(_text(MODEL_MAX_CHARACTERS), 100)),
    input_price=_PRICE,
    output_price=_PRICE,
)
_CHANNEL: Final[_Schema] = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"enum": [one.value for one in ChannelKind]}, "enabled": _FLAG},
    "description": "apprise: url, recipient. slack: channel, api_url, token, signing_secret. Secrets are write-only.",
}

DOCUMENTS: Final[Mapping[str, tuple[_Schema, object]]] = {
    "/admin/settings/allowlist": (
        _members(destinations=_list(_DESTINATION, 1000), tools={"type": "array", "items": _CALL_NAME}),
        {"destinations": [{"host": "api.example.com", "ports": [443], "note": "Orders"}]},
    ),
    "/admin/settings/captures": (
        _members(
            rules=_list(_CAPTURE, 100),
            body_limit_bytes={"type": "integer", "minimum": 1, "maximum": BODY_LIMIT_MOST_BYTES},
        ),
        {"rules": [{"tools": ["github"], "capture": "bodies"}]},
    ),
    "/admin/settings/credentials": (
        _members(
            ("credentials",),
            credentials=_by_name(
                "^[a-z][a-z0-9_]{0,63}(@[a-z0-9._:-]{1,120})?$",
                {"type": ["string", "null"], "pattern": "^[ -~]{1,8192}$", "writeOnly": True},
            ),
        ),
        {"credentials": {"github_token": "ghp_example"}},
    ),
    "/admin/settings/executions": (
        _members(
            (),
            **{
                # An operator may set another ceiling of concurrency: these are an instance's without one.
                name: {"type": "integer", "minimum": 1, "maximum": most}
                for name, most in limits_most(DEFAULT_CONCURRENCY_MAX).items()
            },
        ),
        {"most_attempts": 3, "timeout_seconds": 30},
    ),
    "/admin/settings/nlp-providers": (
        _by_name("^[a-z][a-z0-9_-]{0,63}$", _PROVIDER, 20),
        {"anthropic": {"models": ["claude-haiku-4-5"]}},
    ),
    "/admin/settings/notifications": (
        _members(
            channels=_by_name("^[a-z0-9][a-z0-9_-]{0,63}$", _CHANNEL, MOST),
            routes=_list({"type": "object", "required": ["channels"]}, MOST),
            digest=_members(
                window_seconds={"type": "integer", "minimum": 10, "maximum": 86_400},
                most_single={"type": "integer", "minimum": 1, "maximum": 1000},
            ),
            link_seconds={"type": "integer", "minimum": 60, "maximum": 86_400},
            people=_by_name("^slack:[A-Z0-9]{2,32}$", {"type": "string", "pattern": "^usr_"}),
        ),
        {"channels": {}, "routes": [], "link_seconds": 3600},
    ),
    "/admin/settings/retention": (
        _members(
            encrypt_after_days={"type": ["integer", "null"], "minimum": 0, "maximum": MOST_DAYS},
            drop_after_days=_or_null(_members(**dict.fromkeys(KINDS, _DAYS))),
        ),
        {"encrypt_after_days": 30},
    ),
    "/admin/settings/siem": (
        _members(("destinations",), destinations=_by_name("^[a-z0-9][a-z0-9_-]{0,63}$", _STREAM, MOST_DESTINATIONS)),
        {"destinations": {"splunk": {"address": "https://siem.example.com/ingest"}}},
    ),
}
