"""The shape of the policies' ``input`` (``headgate.actions.rego_input``), to find paths that never exist."""

from difflib import get_close_matches
from typing import Final

from msgspec import Struct


class Members(Struct, frozen=True):
    """An object with these members and no others; None below a name: any members."""

    names: "dict[str, Members | None]"


_TEXT: Final = Members({})
_CALL: Final = Members(
    {
        "method": _TEXT,
        "scheme": _TEXT,
        "host": _TEXT,
        "port": _TEXT,
        "path": _TEXT,
        "query": None,
        "headers": None,
        "body_sha256": _TEXT,
        "body_size": _TEXT,
        "body_kind": _TEXT,
        "body_type_mismatch": _TEXT,
        "url_bytes": _TEXT,
    }
)
_A2A: Final = Members({"method": _TEXT, "task_id": _TEXT, "context_id": _TEXT, "parts": None, "urls": None})
_JSON_RPC: Final = Members({"methods": None, "notifications": _TEXT, "batch": _TEXT})
_PACKAGE: Final = Members({"ecosystem": _TEXT, "action": _TEXT, "name": _TEXT, "version": _TEXT})
_SOAP: Final = Members({"version": _TEXT, "action": _TEXT, "operation": _TEXT, "namespace": _TEXT})
_AWS: Final = Members(
    {
        "service": _TEXT,
        "operation": _TEXT,
        "region": _TEXT,
        "bucket": _TEXT,
        "key": _TEXT,
        "copy_source": Members({"bucket": _TEXT, "key": _TEXT, "version_id": _TEXT}),
        "presigned": _TEXT,
    }
)
_DNS: Final = Members({"form": _TEXT, "name": _TEXT, "type": _TEXT, "trailing_bytes": _TEXT})
_GIT: Final = Members(
    {
        "repository": _TEXT,
        "service": _TEXT,
        "command": _TEXT,
        "wants": _TEXT,
        "updates": None,
        "options": None,
        "objects": _TEXT,
        "bytes": _TEXT,
    }
)
_GRPC: Final = Members(
    {
        "form": _TEXT,
        "service": _TEXT,
        "method": _TEXT,
        "fields": _TEXT,
        "messages": _TEXT,
        "unread": _TEXT,
        "misfit": _TEXT,
        "unknown_fields": _TEXT,
    }
)
_LLM: Final = Members(
    {
        "provider": _TEXT,
        "api": _TEXT,
        "model": _TEXT,
        "models": None,
        "stream": _TEXT,
        "messages": _TEXT,
        "system": _TEXT,
        "max_tokens": _TEXT,
        "tools": None,
        "tool_results": None,
        "event": _TEXT,
    }
)
_USED: Final = Members(
    {
        "calls": _TEXT,
        "estimated_calls": _TEXT,
        "tokens": _TEXT,
        "tokens_in": _TEXT,
        "tokens_cached": _TEXT,
        "tokens_cache_written": _TEXT,
        "tokens_out": _TEXT,
        "cost_usd": _TEXT,
    }
)
_USAGE: Final = Members(
    {"day": _TEXT, "view": _TEXT, "price_known": _TEXT, "agent": _USED, "model": _USED, "organization": _USED}
)
_MCP: Final = Members({"method": _TEXT, "name": _TEXT, "params": None, "tool_changed": _TEXT})
_ACTION: Final[dict[str, Members | None]] = {
    "tool": _TEXT,
    "operation": _TEXT,
    "effect": _TEXT,
    "source": _TEXT,
    "agent": Members({"id": _TEXT, "name": _TEXT}),
    "params": None,
    "context": None,
    "delegation": Members(
        {
            "orchestratorId": _TEXT,
            "workflowId": _TEXT,
            "stepName": _TEXT,
            "parentActionId": _TEXT,
            "depth": _TEXT,
            "chain": None,
        }
    ),
    "http": _CALL,
    "a2a": _A2A,
    "aws": _AWS,
    "dns": _DNS,
    "git": _GIT,
    "grpc": _GRPC,
    "jsonrpc": _JSON_RPC,
    "llm": _LLM,
    "mcp": _MCP,
    "package": _PACKAGE,
    "soap": _SOAP,
    "provenance": None,
    "session": None,
    "usage": _USAGE,
    "connection": Members({"id": _TEXT, "name": _TEXT, "platform": _TEXT}),
}
INPUT: Final = Members({**_ACTION, "action": Members(_ACTION)})


def input_paths() -> list[str]:
    """Every path that the shape names, as a policy writes it: ``input.http.host``."""
    return sorted(_below("input", Members(_ACTION)))


def _below(path: str, members: Members) -> list[str]:
    found = []
    for name, inner in members.names.items():
        found.append(f"{path}.{name}")
        found += [] if inner is None else _below(f"{path}.{name}", inner)
    return found


class UnknownPart(Struct, frozen=True):
    """The first part of a path that never exists, as written so far (``input.htp``), the members that do exist there,
    and the path that is probably meant. ``nearest`` None: no member has a similar name."""

    written: str
    there: tuple[str, ...]
    nearest: str | None


def unknown_part(path: tuple[str, ...]) -> UnknownPart | None:
    """Of ``input.path``. None: every part may exist."""
    depth, here = _known_until(path)
    if here is None or depth == len(path):
        return None
    there = tuple(here.names)
    meant = get_close_matches(path[depth], there, n=1)
    nearest = None if not meant else _as_far_as_known((*path[:depth], *meant, *path[depth + 1 :]))
    return UnknownPart(_written(path[: depth + 1]), there, nearest)


def _as_far_as_known(path: tuple[str, ...]) -> str:
    depth, here = _known_until(path)
    return _written(path if here is None else path[:depth])


def _known_until(path: tuple[str, ...]) -> tuple[int, Members | None]:
    """How many parts exist, and what the last of them holds; None: any members."""
    here: Members | None = INPUT
    for depth, part in enumerate(path):
        if here is None or part not in here.names:
            return depth, here
        here = here.names[part]
    return len(path), here


def _written(path: tuple[str, ...]) -> str:
    return ".".join(("input", *path))
