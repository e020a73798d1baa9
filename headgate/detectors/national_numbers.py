"""Numbers that states give to people: by form and checksum, the weaker forms only near a word that names them."""

import importlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from msgspec import Struct
from regorus import ByteMatch, BytePattern

from headgate.configuration.yaml_document import Section
from headgate.detectors.boundaries import stands_alone
from headgate.detectors.context_words import ContextWords, personal_data_document
from headgate.detectors.forms import FORMS
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.table_entries import compiled

_NEAR: Final = 0.95
_STRICT: Final = 0.75
_COUNTRY_CODE: Final = BytePattern(rb"\+[1-9][0-9]{0,2}[ -]?$")
_DIGITS_MIN_UNCHECKED: Final = 2
_REACH_BYTES: Final = 48  # from the word to the number
_LONGEST_BYTES: Final = 32


class NationalNumber(Struct, frozen=True):
    """``check``: the checksum, of python-stdnum; None: the number has none."""

    kind: str
    strict: BytePattern | None
    loose: BytePattern | None
    check: Callable[[str], bool] | None

    def is_valid(self, text: str) -> bool:
        if self.check is not None:
            return self.check(text) or (" " in text and self.check(text.replace(" ", "")))
        return sum(one.isdigit() for one in text) >= _DIGITS_MIN_UNCHECKED


def kinds_of_numbers() -> frozenset[str]:
    """What ``national_numbers`` finds. No pattern is compiled for it: every process that starts asks."""
    return frozenset(personal_data_document().section("numbers").members)


class NationalNumbers(Struct, frozen=True):
    """``any_strict``: what one of the strict patterns finds, found in one pass; most texts have none."""

    known: tuple[NationalNumber, ...]
    any_strict: BytePattern


@cache
def national_numbers() -> NationalNumbers:
    """Raises ValidationError."""
    section = personal_data_document().section("numbers")
    known = tuple(_number(kind, section.section(kind)) for kind in section.members)
    return NationalNumbers(known, FORMS.add(b"|".join(one.strict.pattern for one in known if one.strict is not None)))


def _number(kind: str, section: Section) -> NationalNumber:
    section.only("check", "strict", "loose")
    check = None
    if "check" in section.members:
        try:
            check = importlib.import_module(f"stdnum.{section.text('check')}").is_valid
        except ImportError as error:
            raise section.fail("check", "no such module of python-stdnum") from error
    return NationalNumber(kind, _pattern(section, "strict"), _pattern(section, "loose"), check)


def _pattern(section: Section, key: str) -> BytePattern | None:
    if key not in section.members:
        return None
    return compiled(section, rf"\b(?:{section.text(key)})\b")


def find_national_numbers(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    numbers = national_numbers()
    has_strict = numbers.any_strict.search(buffer) is not None
    for number in numbers.known:
        if has_strict and number.strict is not None:
            yield from _find(number, number.strict.finditer(buffer), buffer, words, budget)
        if number.loose is not None and words.has(number.kind):
            yield from _after_words(number, number.loose, buffer, words, budget)


def _find(
    number: NationalNumber, found: Iterator[ByteMatch], buffer: bytes, words: ContextWords, budget: Budget
) -> Iterator[Match]:
    for match in found:
        if not budget.allows_candidate():
            return
        start, end = match.span()
        if _stands_alone(buffer, start, end) and number.is_valid(buffer[start:end].decode()):
            near = words.near(number.kind, start, end, buffer)
            yield Match(number.kind, start, end, _NEAR if near else _STRICT)


def _after_words(
    number: NationalNumber, pattern: BytePattern, buffer: bytes, words: ContextWords, budget: Budget
) -> Iterator[Match]:
    """Weak forms: going from word to word, not from number to number, of which there may be very many."""
    searched = 0
    for word_end in words.ends[number.kind]:
        start_at = max(searched, word_end)
        for match in pattern.finditer(buffer, start_at, min(len(buffer), word_end + _REACH_BYTES + _LONGEST_BYTES)):
            if not budget.allows_candidate():
                return
            start, end = match.span()
            if start > word_end + _REACH_BYTES:
                break
            searched = end
            if not words.before(number.kind, start, buffer, within=_REACH_BYTES):
                continue
            if _stands_alone(buffer, start, end) and number.is_valid(buffer[start:end].decode()):
                yield Match(number.kind, start, end, _NEAR)


def _stands_alone(buffer: bytes, start: int, end: int) -> bool:
    """And is not the rest of a telephone number."""
    return stands_alone(buffer, start, end) and _COUNTRY_CODE.search(buffer[max(0, start - 5) : start]) is None
