"""The name of every operation, by its verb and what it is about; clients call their functions so."""

import re
from collections.abc import Mapping
from typing import Any, Final

type Json = Mapping[str, Any]

_VERBS: Final = {"get": "get", "put": "put", "patch": "update", "delete": "delete", "options": "ask", "post": "create"}
_ACTS: Final = frozenset({"process", "process-all"})
"""What ends in s and is no collection."""
_NAMED: Final[Mapping[str, str]] = {
    "POST /admin/agents/{id}/rotate-key": "rotate_agent_key",
    "POST /admin/webhooks/{webhook_id}/rotate-secret": "rotate_webhook_secret",
    "POST /admin/approvals/{approval_id}/decision": "decide_approval",
    "POST /v1/approvals/bulk-decision": "decide_approvals",
    "GET /v1/approvals/events": "stream_approval_events",
    "GET /v1/actions/events": "stream_action_events",
    "GET /admin/progress/events": "stream_progress_events",
    "GET /admin/audit": "list_audit_events",
    "GET /admin/audit/{id}": "get_audit_event",
    "POST /admin/policies/changes": "change_policies",
    "GET /admin/traffic": "list_exchanges",
    "GET /admin/traffic/{id}": "get_exchange",
    "DELETE /admin/traffic/{id}": "erase_exchange",
    "GET /admin/traffic/diff": "compare_exchanges",
    "GET /admin/traffic/export": "export_exchanges",
    "POST /v1/actions/{id}/outcome": "report_action_outcome",
    "POST /v1/actions/{id}/take": "take_action",
    "POST /v1/dry-run": "dry_run",
    "POST /v1/connections/bluesky": "connect_bluesky",
    "POST /v1/connections/mastodon": "connect_mastodon",
    "GET /SKILL.md": "get_skill_md_in_capitals",
    "GET /auth/login": "sign_in",
    "POST /auth/local/{ticket}": "redeem_sign_in_link",
    "POST /auth/logout": "sign_out",
    "POST /links/{token}": "decide_by_link",
    "POST /webhooks/slack/{connection_id}": "receive_slack",
    "POST /webhooks/{integration}/{connection_id}": "receive_from_integration",
}
"""Where the address alone reads wrong."""


def operation_name(method: str, path: str, operation: Json, document: Json) -> str:
    """``GET /admin/agents`` is list_agents, ``GET …/{id}`` get_agent, ``POST …/{id}/suspend`` suspend_agent."""
    if (named := _NAMED.get(f"{method.upper()} {path}")) is not None:
        return named
    parts = [part for part in path.split("/") if part not in ("", "v1", "admin")]
    words = [
        _words(_singular(part) if at + 1 < len(parts) and parts[at + 1].startswith("{") else part)
        for at, part in enumerate(parts)
        if not part.startswith("{")
    ]
    if not words:
        return f"{_VERBS[method]}_root"
    last = parts[-1]
    if method == "post" and not last.startswith("{") and len(words) > 1 and (not last.endswith("s") or last in _ACTS):
        return "_".join([words[-1], *words[:-1]])
    if method == "post":
        return "_".join(["create", *words[:-1], _words(_singular(last))])
    verb = "list" if method == "get" and _is_list(operation, document) else _VERBS[method]
    return "_".join([verb, *words])


def _is_list(operation: Json, document: Json) -> bool:
    return _has_pages(_answer_schema(operation) or {}, document)


def _has_pages(schema: Json, document: Json) -> bool:
    """Also where it is one of several shapes of a page."""
    named = schema.get("$ref", "").rpartition("/")[2]
    schema = document["components"]["schemas"].get(named, schema)
    return "pagination" in schema.get("properties", {}) or any(
        _has_pages(one, document) for one in schema.get("anyOf", [])
    )


def _answer_schema(operation: Json) -> Json | None:
    status = min((one for one in operation["responses"] if one < "300"), default=None)
    content = {} if status is None else operation["responses"][status].get("content", {})
    schema: Json | None = content.get("application/json", {}).get("schema")
    return schema


def _words(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_")


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
