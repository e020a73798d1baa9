"""The fonts of a PDF: one for Latin, Greek and Cyrillic, and those that the installation names; no others."""

import unicodedata
from collections.abc import Iterator, Set
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final

import font_source_sans_pro

from headgate.kernel.visible_text import visible
from headgate.reports.glyphs import characters_of

LATIN: Final = "Source Sans Pro"
LATIN_FOLDER: Final = Path(font_source_sans_pro.__file__).parent / "files"
# Set together with the character before them without being marks: Thai and Lao "am", Hangul's vowels and final
# consonants, half-width voicing marks, colours of emoji.
_JOINING: Final = (
    range(0xE33, 0xE34),
    range(0xEB3, 0xEB4),
    range(0x1160, 0x1200),
    range(0xFF9E, 0xFFA0),
    range(0x1F3FB, 0x1F400),
)


@cache
def latin() -> frozenset[int]:
    """The characters that need no other font."""
    return characters_of((LATIN_FOLDER / "SourceSansPro-Regular.ttf").read_bytes())


def runs(text: str, fonts: tuple[Set[int], ...], *, are_marks_kept: bool = True) -> Iterator[tuple[int, str]]:
    """The text cut where its font changes, each piece with the first of the fonts that has it (by its characters).
    Hidden characters are written out, and those that no font has; in the first font, as all of ASCII.

    What combines with the character before it has to be in that one's font: a typesetter looks for one font of both.
    ``are_marks_kept`` False: it is written out in any case.
    """
    for number, pieces in groupby(_set(text, fonts, are_marks_kept), lambda one: one[0]):
        yield number, "".join(piece for _, piece in pieces)


def _set(text: str, fonts: tuple[Set[int], ...], are_marks_kept: bool) -> Iterator[tuple[int, str]]:
    before = 0
    for one in visible(text, kept="\n"):
        code = ord(one)
        if _combines(one):
            number = before if are_marks_kept and code in fonts[before] else None
        else:
            number = next((index for index, font in enumerate(fonts) if code in font), None)
        if one == "\n":
            number = 0
        before = 0 if number is None else number
        yield before, f"\\u{{{code:x}}}" if number is None else one


def _combines(character: str) -> bool:
    code = ord(character)
    return unicodedata.category(character).startswith("M") or any(code in one for one in _JOINING)
