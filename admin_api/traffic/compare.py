"""What differs between two captured exchanges. Pure; difflib is not linear, so that it runs in the review child."""

import difflib
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

_LINES_MAX: Final = 5_000
_CONTEXT: Final = 3


def compare(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """Of two documents: for each message its head, headers and body, where they are not the same."""
    return {
        "request": _messages(left["request"], right["request"], _request_head),
        "response": _messages(left["response"], right["response"], _response_head),
    }


def _messages(left: Any, right: Any, head: Any) -> dict[str, Any]:
    if left is None or right is None:
        heads = [None if one is None else head(one) for one in (left, right)]
        return {"head": None if left is right else heads, "headers": [], "body": None}
    heads = [head(left), head(right)]
    return {
        "head": heads if heads[0] != heads[1] else None,
        "headers": _headers(left["headers"], right["headers"]),
        "body": _bodies(left, right),
    }


def _request_head(message: dict[str, Any]) -> str:
    query = f"?{message['query']}" if message["query"] else ""
    return f"{message['method']} {message['scheme']}://{message['host']}:{message['port']}{message['path']}{query}"


def _response_head(message: dict[str, Any]) -> str:
    return f"{message['status']} {message['reason']}".strip()


def _headers(left: Sequence[Sequence[str]], right: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """By name, in any letter case; values of one that occurs more often together, in order."""
    values: dict[str, tuple[list[str], list[str]]] = {}
    for side, fields in enumerate((left, right)):
        for name, value in fields:
            values.setdefault(name.lower(), ([], []))[side].append(value)
    return [{"name": name, "left": old, "right": new} for name, (old, new) in sorted(values.items()) if old != new]


def _bodies(left: dict[str, Any], right: dict[str, Any]) -> str | None:
    """A unified diff; None: the same. What was not captured stands as a sentence."""
    old, new = _lines(left), _lines(right)
    if old == new:
        return None
    return "\n".join(difflib.unified_diff(old, new, "left", "right", lineterm="", n=_CONTEXT))


def _lines(message: dict[str, Any]) -> list[str]:
    text = message["body"]
    if text is None:
        return [f"({message['size_bytes']} bytes, not captured)"]
    with suppress(ValueError, RecursionError):
        text = json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False)
    lines: list[str] = text.splitlines()
    if len(lines) > _LINES_MAX:
        return [*lines[:_LINES_MAX], f"({len(lines) - _LINES_MAX} more lines)"]
    return lines
