"""XML and HTML without their tags: Office files cut a word wherever its formatting changes."""

import html
from typing import Final

import re2

_TAG: Final = re2.compile(r"</?[A-Za-z!?][^<>]*>")
_ENDS_LINE: Final = re2.compile(
    r"(?i)</(?:w:p|a:p|si|row|text:p|text:h|p|div|li|td|th|tr|h[1-6]|title)>|<(?:br|w:br|w:tab|text:line-break)\s*/?>"
)
_BEGINNING: Final = 1024


def is_marked_up(text: str) -> bool:
    start = text[:_BEGINNING].lstrip("\ufeff \t\r\n")
    return start.startswith(("<?xml", "<!", "<html", "<HTML")) or (start.startswith("<") and "</" in text)


def without_markup(text: str) -> str:
    """Text runs joined, a line for each paragraph, cell or entry."""
    return html.unescape(str(_TAG.sub("", str(_ENDS_LINE.sub("\n", text)))))
