"""Recovery phrases of wallets: twelve to twenty-four words of BIP 39 in a row. Whoever has them has the money.

The list has no ``the``, ``of`` or ``is``, so that no sentence is twelve of its words long. The checksum of a phrase is
not asked for: a phrase with one wrong word is soon tried with others.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

import re2

from headgate.configuration.resources import resource_path
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match

RECOVERY_PHRASE: Final = "recovery_phrase"
_WORDS_MIN: Final = 12
_DISTINCT_MIN: Final = 9
_FOUND: Final = 0.95
# Words of three to eight letters, perhaps numbered, with a separator of a few bytes between them.
_RUN: Final = re2.compile(rb"(?i)(?:[a-z]{3,8}[^a-z\x00]{1,8}){11,}[a-z]{3,8}")
_WORD: Final = re2.compile(rb"(?i)[a-z]+")


def find_recovery_phrases(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """From the first word to the last."""
    known = _recovery_words()
    for run in _RUN.finditer(buffer):
        if not budget.allows_candidate():
            return
        first, end, words = run.start(), run.start(), list[bytes]()
        for word in _WORD.finditer(run[0]):
            text = word[0].lower()
            if text in known:
                first = first if words else run.start() + word.start()
                end = run.start() + word.end()
                words.append(text)
                continue
            if _is_phrase(words):
                break
            words.clear()
        if _is_phrase(words):
            yield Match(RECOVERY_PHRASE, first, end, _FOUND)


def _is_phrase(words: list[bytes]) -> bool:
    return len(words) >= _WORDS_MIN and len(set(words)) >= _DISTINCT_MIN


@cache
def _recovery_words() -> frozenset[bytes]:
    lines = resource_path("detectors", "recovery_words.txt").read_bytes().splitlines()
    return frozenset(line for line in lines if line.isalpha())
