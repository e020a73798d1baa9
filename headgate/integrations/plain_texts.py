"""Reduces a ticket's text to a form independent of the platform's notation, to compare the read text with the written
one.

Any amount of white space counts as one space. Two of Markdown's escapes (CommonMark 0.31, section 2.4) may change: one
before an underscore within a word, which has no effect there, and a backslash at a line's end, which equals two spaces.
Any other missing escape could show the letters struck out or as a link. Of a document (Atlassian Document Format) the
text of its nodes and the targets of its links count. Anything that Headgate never writes, such as a strike-through
mark, makes the text unequal to every other.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from headgate.integrations.platform_api import text_at
from headgate.kernel.canonical_json import JsonObject, JsonValue

_ESCAPED_WITHIN_A_WORD: Final = re.compile(r"(?<=[^\W_])\\_(?=[^\W_])")
_BREAK: Final = re.compile(r"(?<!\\)\\\n")
_OUR_NODES: Final = frozenset({"doc", "paragraph", "codeBlock", "text", "hardBreak"})
_BREAKS: Final = frozenset({"paragraph", "codeBlock", "hardBreak"})


def same_texts(found: Sequence[JsonValue], meant: Sequence[JsonValue], *, markdown: bool) -> bool:
    read = [_plain(one, markdown=markdown) for one in found]
    return None not in read and read == [_plain(one, markdown=markdown) for one in meant]


def _plain(value: JsonValue, *, markdown: bool) -> str | None:
    """None: Headgate cannot have written this text."""
    if isinstance(value, dict):
        parts = list(_of_node(value))
        if None in parts:
            return None
        value = "".join(part or "" for part in parts)
    if not isinstance(value, str):
        return None
    if markdown:
        value = _BREAK.sub("\n", _ESCAPED_WITHIN_A_WORD.sub("_", value))
    return " ".join(value.split())


def _of_node(node: JsonObject) -> Iterator[str | None]:
    kind, content, marks = node.get("type"), node.get("content", []), node.get("marks") or []
    if kind not in _OUR_NODES or not isinstance(content, list) or not isinstance(marks, list):
        yield None
        return
    if kind == "text":
        text = node.get("text")
        yield text if isinstance(text, str) else None
    for mark in marks:
        yield _link_of(mark)
    for one in content:
        if isinstance(one, dict):
            yield from _of_node(one)
        else:
            yield None
    if kind in _BREAKS:
        yield "\n"


def _link_of(mark: JsonValue) -> str | None:
    """The link's target; None for another mark."""
    leads_to = text_at(mark, "attrs", "href")
    return f" <{leads_to}>" if text_at(mark, "type") == "link" and leads_to is not None else None
