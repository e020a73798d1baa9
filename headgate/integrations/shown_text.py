"""Others' text for tickets and messages: cut to the platform's limit, and in blocks of code."""

import re
from typing import Final

CUT_MARK: Final = "… (cut: Headgate shows all)"


def cut(text: str, most: int) -> str:
    """Cuts the text to this many characters and says so."""
    return text if len(text) <= most else f"{text[: most - len(CUT_MARK) - 1]}\n{CUT_MARK}"


def code(text: str, language: str = "") -> str:
    """Formats text as a block of code, so that agents' text cannot form mark-up (GitHub Flavored Markdown, section
    4.5)."""
    longest = max((len(one) for one in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
