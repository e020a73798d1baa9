"""Text from others as people may read it: what is invisible, or changes what is around it, is written out.

Unicode Technical Report #36 (bidirectional text spoofing, section 2.5) and CVE-2021-42574: a right-to-left override
makes "delete" read as something else, a zero-width space hides in a name.
"""

import unicodedata
from collections.abc import Collection
from typing import Final

_CATEGORIES: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_FILLERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_VARIATION_SELECTORS: Final = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))


def visible(text: str, kept: Collection[str] = ()) -> str:
    """Each hidden character as ``\\u{202e}``, but those in ``kept``; the same object where there is none."""
    if text.isascii() and text.isprintable():
        return text
    shown = "".join(f"\\u{{{ord(one):x}}}" if one not in kept and is_hidden(one) else one for one in text)
    return text if shown == text else shown


def is_hidden(character: str) -> bool:
    """Whether a reader would not see it, or would see what stands around it differently."""
    code = ord(character)
    return (
        unicodedata.category(character) in _CATEGORIES
        or character in _FILLERS
        or any(code in selectors for selectors in _VARIATION_SELECTORS)
    )
