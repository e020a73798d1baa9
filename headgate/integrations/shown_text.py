"""What others wrote, as it is put into tickets and messages: cut to what a platform takes, and in blocks of code."""

import re
from typing import Final

CUT_MARK: Final = "… (cut: Headgate shows all)"


def cut(text: str, most: int) -> str:
    """At most so many characters; what is left out is said."""
    return text if len(text) <= most else f"{text[: most - len(CUT_MARK) - 1]}\n{CUT_MARK}"


def code(text: str, language: str = "") -> str:
    """As a block of code: what agents wrote forms no mark-up (GitHub Flavored Markdown, section 4.5)."""
    longest = max((len(one) for one in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
