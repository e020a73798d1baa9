"""Sentences in the address of a call: as they are, backwards, or with rotated letters. ``config/detectors/prose.yaml``.

Letters are rotated where the frequencies of another alphabet position fit much better (the classic attack on Caesar's
cipher), and where function words appear then. A text is written backwards if function words appear when it is reversed.
Sentences as they are count where no sentence belongs: in an address of a picture or a beacon, in a parameter that holds
identifiers, with a marking as confidential, or as a conversation.
"""

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

import re2
from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_document
from headgate.kernel.errors import ValidationError

_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz"
_PERCENT: Final = (
    8.2, 1.5, 2.8, 4.3, 12.7, 2.2, 2.0, 6.1, 7.0, 0.15, 0.77, 4.0, 2.4,
    6.7, 7.5, 1.9, 0.095, 6.0, 6.3, 9.1, 2.8, 0.98, 2.4, 0.15, 2.0, 0.074,
)  # fmt: skip
"""Of the letters of English (R. Lewand, "Cryptological Mathematics", 2000); near enough for other Latin languages."""
_LIKELIHOODS: Final = tuple(math.log(one / 100) for one in _PERCENT)
_LETTERS_MIN: Final = 40
_KINDS_MIN: Final = 12
_GAIN_MIN: Final = 0.5
_FIT_MIN: Final = -3.1
_WORDS_MIN: Final = 6
_FUNCTION_WORDS_MIN: Final = 2
_REVERSED_MIN: Final = 3
_REVERSED_LETTERS_MIN: Final = 3
_SENTENCE_WORDS: Final = 16
_MARKED_WORDS: Final = 12
_QUOTED_WORDS: Final = 7
_SENTENCE_FUNCTION_WORDS: Final = 3
_ENVIRONMENT_MIN: Final = 3
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_SLUG_WORDS: Final = 18
_SLUG_FUNCTION_WORDS: Final = 4
_SLUG_NUMBERS: Final = 2
_UNSPACED: Final = re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
"""Letters of Japanese, Chinese, Korean and Thai."""
_UNSPACED_MIN: Final = 20
_UNSPACED_NUMBERS_MIN: Final = 2
_NUMBER: Final = re.compile(r"[0-9]+")
_IDENTIFIER: Final = re.compile(r"(?:utm_\w+|\w*_id|[a-z]\d)")


class Prose(Struct, frozen=True):
    """``reversed_words``: function words backwards that are no words themselves."""

    function_words: frozenset[str]
    reversed_words: frozenset[str]
    markings: re2._Regexp
    orders: re2._Regexp
    questions: frozenset[str]
    speakers: re2._Regexp
    identifiers: frozenset[str]
    payloads: frozenset[str]
    drawn: frozenset[str]
    environment: re.Pattern[str]
    unspaced: re.Pattern[str]
    unspaced_questions: re.Pattern[str]


@cache
def prose() -> Prose:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "prose.yaml"))
    document.only(
        "function_words",
        "markings",
        "orders",
        "questions",
        "speakers",
        "identifiers",
        "payloads",
        "drawn",
        "environment",
        "unspaced_markings",
        "unspaced_questions",
    )
    words = frozenset(document.strings("function_words"))
    backwards = {one[::-1] for one in words if len(one) >= _REVERSED_LETTERS_MIN}
    try:
        return Prose(
            words,
            frozenset(backwards - words),
            _any_of(document.strings("markings")),
            _any_of(document.strings("orders")),
            frozenset(document.strings("questions")),
            re2.compile(f"(?is){document.text('speakers')}"),
            frozenset(document.strings("identifiers")),
            frozenset(document.strings("payloads")),
            frozenset(document.strings("drawn")),
            re.compile("|".join(f"(?:{one})" for one in document.strings("environment"))),
            *(re.compile("|".join(document.strings(f"unspaced_{one}"))) for one in ("markings", "questions")),
        )
    except (re2.error, re.error) as error:
        raise ValidationError(f"prose.yaml: a pattern cannot be used: {error}") from error


def _any_of(patterns: Iterable[str]) -> re2._Regexp:
    return re2.compile(f"(?i){'|'.join(f'(?:{one})' for one in patterns)}")


def is_disguised(text: str) -> bool:
    """Whether it is sentences backwards or with rotated letters."""
    words = _words(text)
    if len(words) < _WORDS_MIN:
        return False
    known, found = prose(), set(words)
    backwards = found & known.reversed_words
    if len(backwards) >= _REVERSED_MIN and len(backwards) > sum(len(one) > 2 for one in found & known.function_words):
        return True
    by = _rotated_by("".join(words))
    if not by:
        return False
    turned = str.maketrans(_ALPHABET, _ALPHABET[by:] + _ALPHABET[:by])
    return len({one.translate(turned) for one in found} & known.function_words) >= _FUNCTION_WORDS_MIN


def is_out_of_place(text: str, parameter: str | None, *, is_picture: bool) -> bool:
    """Whether it is sentences where none belong. ``parameter``: its name in lower case, None in the path."""
    words = _words(text)
    if len(words) < _MARKED_WORDS:
        return False
    known = prose()
    if parameter in known.drawn or len(known.function_words.intersection(words)) < _SENTENCE_FUNCTION_WORDS:
        return False
    if _is_marked(text, words, known) or known.speakers.search(text) is not None:
        return True
    if len(words) < _SENTENCE_WORDS:
        return False
    return is_picture or (
        parameter is not None
        and (parameter in known.identifiers | known.payloads or _IDENTIFIER.fullmatch(parameter) is not None)
    )


def _is_marked(text: str, words: Sequence[str], known: Prose) -> bool:
    if known.markings.search(text) is not None:
        return True
    return words[0] not in known.questions and "?" not in text and known.orders.search(text) is not None


def is_marked_without_spaces(text: str) -> bool:
    """Whether it is a text in a script without spaces, with numbers and a marking as confidential, and no question."""
    if len(_UNSPACED.findall(text)) < _UNSPACED_MIN or len(_NUMBER.findall(text)) < _UNSPACED_NUMBERS_MIN:
        return False
    known = prose()
    return known.unspaced.search(text) is not None and known.unspaced_questions.search(text) is None


def is_told_in_slug(text: str) -> bool:
    """Whether a segment of a path tells more than the title of a page, with numbers, or has a marking."""
    words = _words(text)
    if len(words) < _MARKED_WORDS:
        return False
    known = prose()
    told = len(known.function_words.intersection(words))
    if told >= _SENTENCE_FUNCTION_WORDS and _is_marked(re.sub("[-_+.]+", " ", text), words, known):
        return True
    return len(words) >= _SLUG_WORDS and told >= _SLUG_FUNCTION_WORDS and len(_NUMBER.findall(text)) >= _SLUG_NUMBERS


def is_sentence(text: str) -> bool:
    words = _words(text)
    return (
        len(words) >= _QUOTED_WORDS and len(prose().function_words.intersection(words)) >= _SENTENCE_FUNCTION_WORDS - 1
    )


def is_drawn(parameter: str | None) -> bool:
    """Whether a picture shows the text of this parameter, or is made from it."""
    return parameter in prose().drawn


def is_environment(names: Iterable[str]) -> bool:
    """Whether these are names of variables of a process."""
    known = prose().environment  # names are short, and the module re is faster for many of them
    return sum(known.fullmatch(one) is not None for one in set(names) if one.isupper()) >= _ENVIRONMENT_MIN


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _rotated_by(letters: str) -> int:
    """How far the letters have to be rotated to fit a language; 0: they do as they are, or nowhere."""
    counts = [letters.count(one) for one in _ALPHABET]
    total = sum(counts)
    if total < _LETTERS_MIN or sum(one > 0 for one in counts) < _KINDS_MIN:
        return 0
    fit = _fit(counts, 0) / total
    if fit > _FIT_MIN + _GAIN_MIN / 2:
        return 0
    best, by = max((_fit(counts, by) / total, by) for by in range(1, len(_ALPHABET)))
    return by if best >= _FIT_MIN and best - fit >= _GAIN_MIN else 0


def _fit(counts: list[int], by: int) -> float:
    return sum(count * _LIKELIHOODS[(number + by) % len(_ALPHABET)] for number, count in enumerate(counts) if count)
