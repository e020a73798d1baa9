"""What of a request's body its page does not show: the params have its digest only."""

from collections.abc import Iterator
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue

_WHY: Final = {
    "too_large": "it is too large",
    "content_encoding": "Headgate does not read its encoding",
    "charset": "Headgate does not read its character set",
}


def unshown_of(params: JsonObject, http: JsonObject | None) -> list[str]:
    """A sentence for the body, or for each file in it. Empty: everything is shown."""
    if http is None:
        return []
    if http.get("body_kind") == "opaque":
        found = next(_digests(params), None)
        kind = (found or {}).get("content_type") or "unknown type"
        why = _WHY.get(str((found or {}).get("unread")), "it is not text")
        return [f"The body is not shown here, because {why}: {_bytes(http.get('body_size'))} of {kind}."]
    if http.get("body_kind") == "multipart":
        return [
            f"The content of the file {one['filename']} is not shown here: {_bytes(one['size'])} of"
            f" {one.get('content_type') or 'unknown type'}."
            for one in _digests(params)
            if "filename" in one
        ]
    return []


def _bytes(size: JsonValue) -> str:
    if not isinstance(size, int):
        return "an unknown number of bytes"
    return "1 byte" if size == 1 else f"{size:,} bytes"


def _digests(value: JsonValue) -> Iterator[JsonObject]:
    """What stands in the params where content was."""
    if isinstance(value, dict):
        if "sha256" in value and "size" in value:
            yield value
            return
        for member in value.values():
            yield from _digests(member)
    elif isinstance(value, list):
        for item in value:
            yield from _digests(item)
