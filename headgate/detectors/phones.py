"""Telephone numbers: international ones by themselves, national ones near a word or in an unmistakable form."""

from collections.abc import Iterator
from typing import Final

import phonenumbers
from regorus import BytePattern

from headgate.detectors.boundaries import stands_alone
from headgate.detectors.context_words import ContextWords
from headgate.detectors.dialling import is_dialled_from_abroad, is_dialled_in
from headgate.detectors.forms import FORMS
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match

_INTERNATIONAL: Final = FORMS.add(rb"(?:\+|\b00)[1-9][0-9]{0,2}(?:[ ()./-]{0,3}[0-9]){6,13}")
_NATIONAL: Final = BytePattern(rb"\(?[0-9]{1,5}(?:[ ()./-]{0,2}[0-9]){5,11}")
_BEHIND_NUMBER: Final = BytePattern(rb"(\(?[0-9]{1,5}(?:[ ()./-]{0,2}[0-9]){5,11})[ ,]{0,2}[(\[][a-zA-Z ]{0,12}$")
_DIGITS_MIN: Final = 7
_NUMBER_BYTES: Final = 20
_OTHER_REACH_BYTES: Final = 14
_NORTH_AMERICAN: Final = FORMS.add(rb"(?:\([2-9][0-9]{2}\) ?|\b[2-9][0-9]{2}[.-])[2-9][0-9]{2}[.-][0-9]{4}\b")
_WITH_TRUNK_ZERO: Final = (
    "DE", "GB", "FR", "NL", "BE", "CH", "AT", "SE", "AU", "IE", "IN", "BR", "FI", "TR", "JP", "KR", "ZA", "NG", "KE",
    "EG", "IL", "NZ", "UA", "RO", "BG", "RS", "HR", "SI", "SK", "TH", "ID", "MY", "PK", "VN", "PH", "TW", "AR", "PE",
    "AE", "SA", "CN", "MA",
)  # fmt: skip
_WITHOUT_TRUNK_ZERO: Final = (
    "US", "ES", "PT", "PL", "BR", "MX", "IN", "DK", "NO", "IT", "GR", "CZ", "SG", "HK", "EE", "LV", "LU", "CL", "CO",
    "RU", "CN", "LT", "HU",
)  # fmt: skip
_FORMS_BY_REGION: Final = (
    ("FR", r"\b0[1-79](?:[ .][0-9]{2}){4}\b"),
    ("GB", r"\b0(?:7[0-9]{3} [0-9]{6}|7[0-9]{3} [0-9]{3} [0-9]{3}|2[0-9] [0-9]{4} [0-9]{4}|1[0-9]{3} [0-9]{6})\b"),
    ("AU", r"\b04[0-9]{2} [0-9]{3} [0-9]{3}\b|\(0[2378]\) [0-9]{4} [0-9]{4}\b"),
    ("BR", r"\([1-9][0-9]\) ?9?[0-9]{4}-[0-9]{4}\b"),
    ("DE", r"\b01[567][0-9]{1,2}[ /-][0-9]{6,8}\b|\(0[2-9][0-9]{1,4}\) ?[0-9]{4,8}\b"),
    ("JP", r"\b0[789]0-[0-9]{4}-[0-9]{4}\b"),
    ("KR", r"\b010-[0-9]{4}-[0-9]{4}\b"),
)
"""Forms in which a country writes numbers, and hardly anything else is written."""

_UNMISTAKABLE: Final = FORMS.add("|".join(f"({one})" for _, one in _FORMS_BY_REGION).encode())
_REGIONS: Final = tuple(enumerate(_FORMS_BY_REGION, 1))

_BEFORE_BYTES: Final = 56
_AFTER_BYTES: Final = 24
_NORTH_AMERICAN_LENGTH: Final = 11  # with the leading 1
_NO_DIGITS: Final = bytes(set(range(256)) - set(b"0123456789"))
_DATE_LIKE: Final = BytePattern(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}.*|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}")


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
    for match in _UNMISTAKABLE.finditer(buffer):
        if not budget.allows_candidate():
            return
        start, end = match.span()
        if not stands_alone(buffer, start, end):
            continue
        national = _digits(match[0]).removeprefix("0")
        if any(match.start(at) >= 0 and is_dialled_in(national, region) for at, (region, _) in _REGIONS):
            yield Match("phone", start, end, 0.9 if words.near("phone", start, end, buffer) else 0.7)
    if words.has("phone"):
        yield from _national(buffer, words, budget)


def _national(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    """What follows such a word, or stands right before it: going from word to word, not from number to number."""
    searched = 0
    for word_end in words.ends["phone"]:
        begin = max(0, word_end - _AFTER_BYTES - _NUMBER_BYTES)
        before = _BEHIND_NUMBER.search(buffer[begin:word_end])
        if before is not None:  # "0151 2345678 (mobile)"; such a word says nothing of what follows it
            start, end = begin + before.start(1), begin + before.end(1)
            if start >= searched and budget.allows_candidate() and _is_national(buffer, start, end, words):
                yield Match("phone", start, end, 0.85)
            continue
        start_at = max(searched, word_end)
        for match in _NATIONAL.finditer(buffer, start_at, min(len(buffer), word_end + _BEFORE_BYTES + 16)):
            if not budget.allows_candidate():
                return
            start, end = match.span()
            searched = end
            if words.before("phone", start, buffer, within=_BEFORE_BYTES) and _is_national(buffer, start, end, words):
                yield Match("phone", start, end, 0.85)
                break


def _is_national(buffer: bytes, start: int, end: int, words: ContextWords) -> bool:
    """Unless a word right before it says that it is something else: an invoice, an order."""
    if not stands_alone(buffer, start, end) or words.before("not_a_phone", start, buffer, within=_OTHER_REACH_BYTES):
        return False
    found = buffer[start:end]
    if buffer[start - 1 : start] == b"/" or len(_digits(found)) < _DIGITS_MIN:
        return False
    return _DATE_LIKE.fullmatch(found) is None and _is_valid_somewhere(_digits(found))


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
