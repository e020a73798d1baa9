"""Describes an action in one plain sentence for its approver."""

import json
from collections.abc import Mapping
from types import NoneType
from typing import Final

from headgate.approvals.visible_text import shown_text
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.protocols.body import BodyKind
from headgate.protocols.git import GIT_TOOL
from headgate.protocols.names import CALL_TOOLS
from headgate.protocols.shown_call import MESSAGE, shown_authority, shown_method
from headgate.protocols.websocket import CONNECT, WEBSOCKET_TOOL

_NAMED_MAX: Final = 6
_VALUE_MAX_CHARACTERS: Final = 80
_DIGEST_CHARACTERS: Final = 12
_UNLISTED: Final = "unlisted_"
_MCP: Final = "mcp_"


def summary(
    *,
    agent: str,
    tool: str,
    operation: str,
    params: JsonObject,
    http: JsonObject | None,
    descriptions: Mapping[tuple[str, str], str],
) -> str:
    """``Robot wants to delete a repository (github.delete_repo): owner acme, repo site.``"""
    who = f"{_short(agent)} wants to"
    if tool == WEBSOCKET_TOOL and http is not None:
        what = "open a WebSocket at" if operation == CONNECT else "send a message over the WebSocket at"
        return f"{who} {what} {_address(http)}{_with(_named(_object(params, 'message')))}."
    if tool == GIT_TOOL and (updates := _updates(params)):
        where = f"{_short(str(params.get('repository')))} at {_short(str(params.get('host')))}"
        return f"{who} push to {where}: {updates}{_options(params)}."
    if tool in CALL_TOOLS and http is not None:
        return f"{who} send {_call(http)}{_with(_named(_sent(params, http)))}."
    described = descriptions.get((tool, operation))
    if described is not None:
        what = f"{described[0].lower()}{described[1:]} ({tool}.{operation})"
    elif operation.startswith(_UNLISTED) and http is not None:
        sent = _with(_named(_sent(params, http)))
        return f"{who} send {_call(http)}, which the catalogue of {tool} does not list{sent}."
    elif tool.startswith(_MCP):
        what = f"call the tool {operation} of the MCP server {tool.removeprefix(_MCP)}"
    else:
        what = f"do {tool}.{operation}"
    return f"{who} {what}{_with(_named(params))}."


def sent_call(tool: str, operation: str, http: JsonObject | None) -> str:
    """``POST https://api.example.com`` where the address says more than the name, else ``github.delete_repo``."""
    if tool not in CALL_TOOLS or http is None:
        return f"{tool}.{operation}"
    sent = shown_method(tool, operation, None)
    return f"{sent} {_address(http)}" if sent == MESSAGE else _call(http)


def for_a_channel(http: JsonObject | None) -> JsonObject | None:
    """The destination without the content: readers of a channel see neither path, query nor params."""
    return None if http is None else {**http, "path": "", "query": None}


def _updates(params: JsonObject) -> str:
    """``update refs/heads/main (not proven to be a fast-forward)``. Empty: the call updates no ref. What takes away, or
    may, comes first: an agent chooses what stands in front of it."""
    updates = params.get("updates")
    if not isinstance(updates, list):
        return ""
    told = [
        f"{one.get('change')} {_short(str(one.get('ref')))}"
        + (" (not proven to be a fast-forward)" if _is_unproven(one) else "")
        for one in sorted(
            (one for one in updates if isinstance(one, dict)),
            key=lambda one: (one.get("change") != "delete", not _is_unproven(one)),
        )[:_NAMED_MAX]
    ]
    return _first(told, len(updates)) if told else ""


def _is_unproven(update: JsonObject) -> bool:
    return update.get("change") == "update" and not update.get("fast_forward")


def _options(params: JsonObject) -> str:
    options = params.get("options")
    if not isinstance(options, list) or not options:
        return ""
    return f", with the push options {_first([_short(str(one)) for one in options[:_NAMED_MAX]], len(options))}"


def _first(named: list[str], total: int) -> str:
    """What stands first in a list of ``total``, and how much more there is."""
    return ", ".join(named if len(named) == total else [*named, f"and {total - len(named)} more"])


def _call(http: JsonObject) -> str:
    size = http.get("body_size")
    body = f" with a body of {size} bytes" if isinstance(size, int) and size else ""
    return f"{http.get('method')} {_address(http)}{' with a query' if http.get('query') else ''}{body}"


def _address(http: JsonObject) -> str:
    scheme = http.get("scheme")
    return _short(f"{scheme}://{shown_authority(scheme, http.get('host'), http.get('port'))}{http.get('path')}", 200)


def _sent(params: JsonObject, http: JsonObject) -> JsonObject:
    """The query and the members of the body of a call that is known by its address: what tells it from the next one. Of
    a body that is no text, its type and the beginning of its digest."""
    query = {
        name: values[0] if isinstance(values, list) and len(values) == 1 else values
        for name, values in _object(params, "query").items()
    }
    body = _object(params, "body")
    if http.get("body_kind") == BodyKind.OPAQUE:
        digest = str(body.get("sha256")).removeprefix("sha256:")[:_DIGEST_CHARACTERS]
        media_type = body.get("content_type")
        body = {"SHA-256": f"{digest}…"} if media_type is None else {"type": media_type, "SHA-256": f"{digest}…"}
    return {**query, **body}


def _object(params: JsonObject, name: str) -> JsonObject:
    found = params.get(name)
    return found if isinstance(found, dict) else {}


def _with(named: str) -> str:
    return f": {named}" if named else ""


def _named(params: JsonObject) -> str:
    """The first few scalar params, and the number of the other params."""
    plain = [name for name, value in params.items() if not isinstance(value, list | dict | NoneType)]
    named = [f"{_short(name)} {_value(params[name])}" for name in plain[:_NAMED_MAX]]
    if params and not named:
        return f"{len(params)} param{'' if len(params) == 1 else 's'}"
    return _first(named, len(params))


def _value(value: JsonValue) -> str:
    return _short(value) if isinstance(value, str) else json.dumps(value)


def _short(text: str, most: int = _VALUE_MAX_CHARACTERS) -> str:
    shown = shown_text(" ".join(text.split()))
    return shown if len(shown) <= most else shown[: most - 1] + "…"
