"""Text from others as people may read it: what is invisible, or changes what is around it, is written out.

Unicode Technical Report #36 (bidirectional text spoofing, section 2.5) and CVE-2021-42574: a right-to-left override
makes "delete" read as something else, a zero-width space hides in a name.
"""

import unicodedata
from collections.abc import Collection
from typing import Final

_CATEGORIES: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_BLANK: Final = 0x2800  # the Braille pattern without dots
# Default_Ignorable_Code_Point (Unicode 16, DerivedCoreProperties.txt) as far as the categories do not have it: fillers,
# joiners, variation selectors, and reserved code points, which are drawn as nothing too.
_IGNORABLE: Final = (
    range(0x034F, 0x0350),
    range(0x115F, 0x1161),
    range(0x17B4, 0x17B6),
    range(0x180B, 0x1810),
    range(0x2060, 0x2070),
    range(0x3164, 0x3165),
    range(0xFE00, 0xFE10),
    range(0xFFA0, 0xFFA1),
    range(0xFFF0, 0xFFF9),
    range(0xE0000, 0xE1000),
)


def visible(text: str, kept: Collection[str] = ()) -> str:
    """Each hidden character as ``\\u{202e}``, but those in ``kept``; the same object where there is none."""
    hidden = hidden_in(text, kept)
    return text.translate({ord(one): f"\\u{{{ord(one):x}}}" for one in hidden}) if hidden else text


def hidden_in(text: str, kept: Collection[str] = ()) -> list[str]:
    """The hidden characters of a text, each once, but those in ``kept``. Each character is asked for once, however long
    the text is: one of ten megabytes is shown in full too."""
    if text.isascii() and text.isprintable():
        return []
    return [one for one in set(text) if one not in kept and is_hidden(one)]


def is_hidden(character: str) -> bool:
    """Whether a reader would not see it, or would see what stands around it differently."""
    code = ord(character)
    return (
        unicodedata.category(character) in _CATEGORIES
        or code == _BLANK
        or any(code in ignorable for ignorable in _IGNORABLE)
    )
