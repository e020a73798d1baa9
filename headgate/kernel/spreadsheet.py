"""What a spreadsheet would carry out (OWASP, "CSV Injection"): agents choose their names and what they say."""

import re
from typing import Final

# "=", "+", "-", "@" and their full-width forms, which some programs take as well, "|" and "%" of old ones, behind what
# programs skip; and a cell that begins with a tab or a line end, which some of them take away before they look.
_FORMULA: Final = re.compile("[\\s\\x00-\\x1f\"'\\u200b\\ufeff]*[-=+@|%\\uff1d\\uff0b\\uff0d\\uff20]|[\\t\\r\\n\\x00]")


def is_formula(text: str) -> bool:
    """Whether a cell begins like one: it is written with an apostrophe before it."""
    return _FORMULA.match(text) is not None
