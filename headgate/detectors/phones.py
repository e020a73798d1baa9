"""Telephone numbers: international ones by themselves, national ones near a word or in an unmistakable form."""

from collections.abc import Iterator
from typing import Final

import phonenumbers
import re2

from headgate.detectors.boundaries import stands_alone
from headgate.detectors.context_words import ContextWords
from headgate.detectors.dialling import is_dialled_from_abroad, is_dialled_in
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match

_INTERNATIONAL: Final = re2.compile(rb"(?:\+|\b00)[1-9][0-9]{0,2}(?:[ ()./-]{0,3}[0-9]){6,13}")
_NATIONAL: Final = re2.compile(rb"\(?[0-9]{1,5}(?:[ ()./-]{0,2}[0-9]){5,11}")
_NORTH_AMERICAN: Final = re2.compile(rb"(?:\([2-9][0-9]{2}\) ?|\b[2-9][0-9]{2}[.-])[2-9][0-9]{2}[.-][0-9]{4}\b")
_WITH_TRUNK_ZERO: Final = ("DE", "GB", "FR", "NL", "BE", "CH", "AT", "SE", "AU", "IE", "IN", "BR", "FI")
_WITHOUT_TRUNK_ZERO: Final = ("US", "ES", "PT", "PL", "BR", "MX", "IN", "DK", "NO", "IT")
_NORTH_AMERICAN_LENGTH: Final = 11  # with the leading 1
_NO_DIGITS: Final = bytes(set(range(256)) - set(b"0123456789"))
_DATE_LIKE: Final = re2.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}.*|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}")


def find_phones(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    for match in _INTERNATIONAL.finditer(buffer):
        if not budget.allows_candidate():
            return
        start, end = match.span()
        if stands_alone(buffer, start, end) and _is_valid_abroad(buffer[start:end]):
            yield Match("phone", start, end, 0.9)
    for match in _NORTH_AMERICAN.finditer(buffer):
        if not budget.allows_candidate():
            return
        start, end = match.span()
        if stands_alone(buffer, start, end) and is_dialled_from_abroad("1" + _digits(buffer[start:end])):
            yield Match("phone", start, end, 0.9 if words.near("phone", start, end, buffer) else 0.6)
    if words.has("phone"):
        yield from _national(buffer, words, budget)


def _national(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    """Only what follows such a word: going from word to word, not from number to number."""
    searched = 0
    for word_end in words.ends["phone"]:
        start_at = max(searched, word_end)
        for match in _NATIONAL.finditer(buffer, start_at, min(len(buffer), word_end + 72)):
            if not budget.allows_candidate():
                return
            start, end = match.span()
            searched = end
            if not words.before("phone", start, buffer, within=56) or not stands_alone(buffer, start, end):
                continue
            found = buffer[start:end]
            if _DATE_LIKE.fullmatch(found) is None and _is_valid_somewhere(_digits(found)):
                yield Match("phone", start, end, 0.85)
                break


def _is_valid_abroad(found: bytes) -> bool:
    digits = _digits(found)
    if is_dialled_from_abroad(digits[2:] if found.startswith(b"00") else digits):
        return True
    return _is_valid(_international(found))  # with a trunk prefix, as in +44 (0)20, which only the library takes away


def _international(found: bytes) -> str:
    text = found.decode()
    return "+" + text[2:] if text.startswith("00") else text


def _digits(found: bytes) -> str:
    return found.translate(None, _NO_DIGITS).decode()


def _is_valid_somewhere(digits: str) -> bool:
    """Whether some country dials so."""
    if digits.startswith("0"):
        if _is_valid_number(digits, "IT"):
            return True
        return any(_is_valid_number(digits[1:], region) for region in _WITH_TRUNK_ZERO)
    national = digits[1:] if len(digits) == _NORTH_AMERICAN_LENGTH and digits.startswith("1") else digits
    return any(_is_valid_number(national, region) for region in _WITHOUT_TRUNK_ZERO)


def _is_valid_number(national: str, region: str) -> bool:
    return 5 <= len(national) <= 13 and is_dialled_in(national, region)


def _is_valid(text: str) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(text, None))
    except phonenumbers.NumberParseException:
        return False
