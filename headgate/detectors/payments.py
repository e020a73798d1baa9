"""Payment cards (ISO/IEC 7812: scheme, length, Luhn) and bank accounts (ISO 13616: IBAN)."""

from collections.abc import Iterator
from typing import Final

import re2
from stdnum import iban, luhn

from headgate.detectors.boundaries import stands_alone
from headgate.detectors.context_words import ContextWords
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match

_CARD: Final = re2.compile(
    rb"\b(?:[0-9]{4}[ -][0-9]{4}[ -][0-9]{4}[ -][0-9]{4}|[0-9]{4}[ -][0-9]{6}[ -][0-9]{4,5}|[0-9]{13,19})\b"
)
_IBAN: Final = re2.compile(rb"\b[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]{4}){2,7}(?:[ -]?[A-Za-z0-9]{1,3})?\b")
_IBAN_COUNTRIES: Final = (
    "AD AE AL AT AZ BA BE BG BH BR BY CH CR CY CZ DE DK DO EE ES FI FO FR GB GE GI GL GR GT HR HU IE IL IQ IS IT JO KW "
    "KZ LB LC LI LT LU LV MC MD ME MK MR MT MU NL NO PK PL PS PT QA RO RS SA SC SE SI SK SM TN TR UA VA VG XK"
)


def find_payments(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    yield from _cards(buffer, words, budget)
    yield from _accounts(buffer, budget)


def _cards(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    for match in _CARD.finditer(buffer):
        if not budget.allows_candidate():
            return
        start, end = match.span()
        number = match[0].translate(None, b" -").decode()
        sure = scheme(number)
        if sure is None or not stands_alone(buffer, start, end) or not luhn.is_valid(number):
            continue
        if words.near("payment_card", start, end, buffer):
            yield Match("payment_card", start, end, 0.97)
        elif sure:
            yield Match("payment_card", start, end, 0.75)


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


def _accounts(buffer: bytes, budget: Budget) -> Iterator[Match]:
    for match in _IBAN.finditer(buffer):
        if not budget.allows_candidate():
            return
        start, text = match.start(), match[0]
        if f"{text[:2].decode().upper()} " not in _IBAN_COUNTRIES + " ":
            continue
        # What follows an account in a sentence may look like its last group.
        for end in _ends(text):
            if iban.is_valid(text[:end].decode()):
                yield Match("iban", start, start + end, 0.98)
                break


def _ends(text: bytes) -> Iterator[int]:
    yield len(text)
    end = len(text)
    for _ in range(3):
        end = max(text.rfind(b" ", 0, end), text.rfind(b"-", 0, end))
        if end < 15:
            return
        yield end
