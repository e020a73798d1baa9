"""Payment cards (ISO/IEC 7812: scheme, length, Luhn) and bank accounts (ISO 13616: IBAN)."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from regorus import BytePattern
from stdnum import get_cc_module, numdb

from headgate.detectors.boundaries import stands_alone
from headgate.detectors.context_words import ContextWords
from headgate.detectors.forms import FORMS
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match

if TYPE_CHECKING:
    from stdnum.util import NumberValidationModule

_CARD: Final = FORMS.add(
    rb"\b(?:[0-9]{4}[ -][0-9]{4}[ -][0-9]{4}[ -][0-9]{4}|[0-9]{4}[ -][0-9]{6}[ -][0-9]{4,5}|[0-9]{13,19})\b"
)
_CARD_LOOSE: Final = BytePattern(rb"[1-9][0-9]{3}(?:[ .-]?[0-9]{1,7}){1,6}")
_CARD_TIED: Final = BytePattern(rb"[_-]([0-9]{15,16})(?:[^0-9A-Za-z]|$)")
"""Tied to the word for it, as values of campaigns and file names are written: ``card_4012888888881881``."""
_CARD_REACH_BYTES: Final = 64
_CARD_BEHIND_BYTES: Final = 24
_CARD_BYTES: Final = 24
_ISSUERS: Final = (
    (("4",), frozenset((13, 16, 18, 19))),  # Visa; 18: Switch
    (("51", "52", "53", "54", "55"), frozenset((16,))),
    (tuple(map(str, range(222, 273))), frozenset((16,))),  # Mastercard's second range, and a few beside it
    (("220",), frozenset(range(16, 20))),  # Mir
    (("34", "37"), frozenset((15,))),
    (("2131", "1800", "2014", "2149", "1"), frozenset((15,))),  # JCB, enRoute, UATP
    (("35",), frozenset(range(15, 20))),
    (("30", "36", "38", "39"), frozenset(range(14, 20))),
    (("50", "56", "57", "58", "6"), frozenset(range(12, 20))),  # Maestro, Discover, UnionPay, RuPay, Verve, Elo, Troy
    (("81", "82", "86", "9704", "9792", "98"), frozenset(range(16, 20))),  # RuPay, UzCard, Napas, Troy, Humo
)
"""ISO/IEC 7812-1: what numbers of cards begin with, and how many digits they have."""

_IBAN: Final = FORMS.add(rb"\b[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]{4}){2,7}(?:[ -]?[A-Za-z0-9]{1,3})?\b")
_DOUBLED: Final = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
_STRUCTURE: Final = re.compile("([1-9][0-9]*)!([nac])")  # ISO 13616-1, 5.1
_CHARACTERS: Final = {"n": "[0-9]", "a": "[A-Z]", "c": "[A-Za-z0-9]"}
_IBAN_COUNTRIES: Final = (
    "AD AE AL AT AZ BA BE BG BH BR BY CH CR CY CZ DE DK DO EE ES FI FO FR GB GE GI GL GR GT HR HU IE IL IQ IS IT JO KW "
    "KZ LB LC LI LT LU LV MC MD ME MK MR MT MU NL NO PK PL PS PT QA RO RS SA SC SE SI SK SM TN TR UA VA VG XK"
)


def find_payments(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    yield from find_accounts(buffer, budget)
    yield from _cards(buffer, words, budget)


def _cards(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    for match in _CARD.finditer(buffer):
        if not budget.allows_candidate():
            return
        start, end = match.span()
        number = buffer[start:end].translate(None, b" -").decode()
        sure = scheme(number)
        if sure is None or not stands_alone(buffer, start, end) or not passes_luhn(number):
            continue
        if words.near("payment_card", start, end, buffer):
            yield Match("payment_card", start, end, 0.97)
        elif sure:
            yield Match("payment_card", start, end, 0.75)
    yield from _cards_of_any_issuer(buffer, words, budget)


def _cards_of_any_issuer(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    """Beside a word for cards: any issuer, length and grouping; going from word to word."""
    searched = 0
    for word_end in words.ends.get("payment_card", ()):
        tied = _CARD_TIED.match(buffer, word_end, min(len(buffer), word_end + _CARD_BYTES))
        if tied is not None and scheme(number := tied[1].decode()) and passes_luhn(number):
            yield Match("payment_card", tied.start(1), tied.end(1), 0.9)
        begin = max(searched, word_end - _CARD_BEHIND_BYTES - _CARD_BYTES)
        stop = min(len(buffer), word_end + _CARD_REACH_BYTES + _CARD_BYTES)
        for match in _CARD_LOOSE.finditer(buffer, begin, stop):
            if not budget.allows_candidate():
                return
            start, end = match.span()
            if start > word_end + _CARD_REACH_BYTES:
                break
            searched = end
            if stands_alone(buffer, start, end) and words.near("payment_card", start, end, buffer):
                number = match[0].translate(None, b" .-").decode()
                if is_issued(number) and passes_luhn(number):
                    yield Match("payment_card", start, end, 0.96)


def is_issued(number: str) -> bool:
    """Whether some issuer has numbers that begin so and are so long."""
    return any(number.startswith(beginnings) and len(number) in lengths for beginnings, lengths in _ISSUERS)


def passes_luhn(number: str) -> bool:
    """ISO/IEC 7812-1, annex B: from the right, every second digit doubled, and its own digits added."""
    digits = [int(one) for one in reversed(number)]
    return (sum(digits[::2]) + sum(_DOUBLED[one] for one in digits[1::2])) % 10 == 0


def scheme(number: str) -> bool | None:
    """None: of no scheme. False: of one whose numbers need a word near them to be told from others."""
    length, first2, first4 = len(number), int(number[:2]), int(number[:4])
    if length == 16:
        if number[0] == "4" or 51 <= first2 <= 55 or 2221 <= first4 <= 2720:
            return True
        if first4 == 6011 or first2 == 65 or 3528 <= first4 <= 3589 or first2 in (62, 50, 60, 64):
            return True
    if length == 15 and first2 in (34, 37):
        return True
    if length == 14 and (first2 in (36, 38, 39) or 3000 <= first4 <= 3059):
        return False
    if length in (13, 19) and number[0] == "4":
        return False
    if 16 < length <= 19 and first2 in (62, 50, 56, 57, 58, 63, 67):
        return False
    return None


def find_accounts(buffer: bytes, budget: Budget) -> Iterator[Match]:
    for match in _IBAN.finditer(buffer):
        if not budget.allows_candidate():
            return
        start, stop = match.span()
        text = buffer[start:stop]
        if f"{text[:2].decode().upper()} " not in _IBAN_COUNTRIES + " ":
            continue
        # What follows an account in a sentence may look like its last group.
        for end in _ends(text):
            if is_account(text[:end].translate(None, b" -").decode().upper()):
                yield Match("iban", start, start + end, 0.98)
                break


def is_account(number: str) -> bool:
    """As python-stdnum's ``iban.is_valid``, whose lists are read here, at a third of its cost: the checksum comes
    first (ISO 7064, MOD 97-10, over letters as numbers from 10 on), and each country's form is looked up once."""
    if int("".join(str(int(one, 36)) for one in number[4:] + number[:4])) % 97 != 1:
        return False
    form, country = _form_of(number[:2])
    return form is not None and form.fullmatch(number[4:]) is not None and (country is None or country.is_valid(number))


@cache
def _form_of(country: str) -> "tuple[re.Pattern[str] | None, NumberValidationModule | None]":
    """How accounts are written there, and what else that country checks."""
    structure = numdb.get("iban").info(country + "00")[0][1].get("bban")
    if structure is None:
        return None, None
    form = "".join(f"{_CHARACTERS[kind]}{{{length}}}" for length, kind in _STRUCTURE.findall(structure))
    return re.compile(form), get_cc_module(country.lower(), "iban")


def _ends(text: bytes) -> Iterator[int]:
    yield len(text)
    end = len(text)
    for _ in range(3):
        end = max(text.rfind(b" ", 0, end), text.rfind(b"-", 0, end))
        if end < 15:
            return
        yield end
