"""Text as a reader sees it: compatibility forms composed, what is invisible removed, digits in ASCII.

Unicode Standard Annex #15 (NFKC), Technical Report #36 (what hides in text): zero-width characters split a word
for a program and not for a reader, bidirectional controls reorder it, tag characters (U+E0000…) spell what nobody
sees and a language model reads.
"""

import re
import unicodedata
from functools import cache
from itertools import chain, islice
from typing import Final

import re2

from headgate.detectors.unicode_categories import TAGS, characters_of

_MARKS_MAX: Final = 30
"""Unicode's Stream-Safe Text Format; composing longer runs of marks takes the square of their length."""

_EXCESS_MARKS: Final = re2.compile(rf"\p{{M}}{{{_MARKS_MAX + 1}}}")
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_INVISIBLE: Final = "\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff"
_SPREAD: Final = re.compile(rf"[!-~](?:[{_INVISIBLE}] ?[{_INVISIBLE}]{{0,4}}[!-~]){{5,}}")
"""Characters with an invisible one between any two. A soft hyphen between syllables is ordinary."""
_UNSEEN: Final = re.compile("[^!-~ ]+")
_MAIL: Final = re.compile(r"\S+@[\w-]+\.[\w.-]+")
_SPREAD_MAX: Final = 64
_FILLERS: Final = (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0)
_VARIATION_SELECTORS: Final = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))


def visible(text: str) -> tuple[str, bool]:
    """The text as it is seen, and whether all of it is there; the same object where nothing changes."""
    if text.isascii():
        return text, True
    table = _table()
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate is no character
    seen = _NOT_ASCII.sub(lambda run: run[0].translate(table), text)
    if seen.isascii():
        return seen, True
    if _EXCESS_MARKS.search(seen) is not None:
        return unicodedata.normalize("NFKC", _without_excess_marks(seen)), False
    return unicodedata.normalize("NFKC", seen), True


def spread_words(text: str) -> list[str]:
    """Words whose letters invisible characters set apart, without these. Mail addresses are left out: they have a form
    that detectors know."""
    if text.isascii():
        return []
    runs = islice(_SPREAD.finditer(text), _SPREAD_MAX)
    words = (word for run in runs for word in _UNSEEN.sub("", run[0]).split())
    return [word for word in words if _MAIL.fullmatch(word) is None]


@cache
def _table() -> dict[int, str | None]:
    table: dict[int, str | None] = dict.fromkeys(characters_of("Cf"))
    table |= {code: str(unicodedata.decimal(chr(code))) for code in characters_of("Nd")}
    table |= dict.fromkeys(characters_of("Zs"), " ")
    table |= dict.fromkeys(chain(_FILLERS, *_VARIATION_SELECTORS))
    return table | {TAGS[code]: chr(code) for code in range(0x20, 0x7F)}


def _without_excess_marks(text: str) -> str:
    kept: list[str] = []
    run = 0
    for one in text:
        run = run + 1 if unicodedata.category(one).startswith("M") else 0
        if run <= _MARKS_MAX:
            kept.append(one)
    return "".join(kept)
