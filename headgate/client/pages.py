"""Lists page by page: the call for the next page from the page that came. By cursor where the list has one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headgate.client.call import Call


def next_page(call: Call[Any], page: Mapping[str, Any]) -> Call[Any] | None:
    """None: that was the last one."""
    pagination = page.get("pagination", {})
    if cursor := pagination.get("next_cursor"):
        kept = {name: value for name, value in call.parameters.items() if name != "offset"}
        return replace(call, parameters={**kept, "cursor": cursor})
    if "next_cursor" in pagination or not page.get("data"):
        return None
    reached = pagination.get("offset", 0) + len(page["data"])
    if reached >= pagination.get("total", 0):
        return None
    return replace(call, parameters={**call.parameters, "offset": reached})
