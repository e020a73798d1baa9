"""Dates of birth: a date that can be one, shortly after a word that says so. Any other date is nobody's."""

from collections.abc import Iterator
from typing import Final

from regorus import ByteMatch, BytePattern

from headgate.detectors.context_words import ContextWords
from headgate.detectors.document import SEPARATOR
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match

_REACH_BYTES: Final = 48
_REACH_BEFORE_BYTES: Final = 32
_YEARS: Final = range(1900, 2100)
_MONTH: Final = (
    "septiembre|diciembre|fevereiro|noviembre|september|septembre|settembre|december|dezember|dezembro|"
    "dicembre|décembre|febbraio|february|november|novembre|setembro|febrero|februar|fevrier|février|"
    "gennaio|janeiro|january|janvier|juillet|october|octobre|octubre|oktober|ottobre|outubro|agosto|"
    "aprile|august|giugno|januar|luglio|maggio|abril|april|avril|enero|julho|julio|junho|junio|march|"
    "marco|marzo|março|aout|août|juin|juli|july|june|juni|maio|mars|mayo|märz|apr|aug|dec|feb|jan|jul|"
    "jun|mai|mar|may|nov|oct|sep"
)
_DATE: Final = BytePattern(
    (
        r"\b(?:([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})|([0-9]{1,2})[-/.]([0-9]{1,2})[-/.]([0-9]{4}|[0-9]{2})"
        rf"|(?i:[0-9]{{1,2}}(?:\.|st|nd|rd|th|º|er)? (?:de |of )?(?:{_MONTH})\.?,? (?:de |del )?([0-9]{{4}}))"
        rf"|(?i:(?:{_MONTH})\.? [0-9]{{1,2}}(?:st|nd|rd|th)?,? ([0-9]{{4}})))\b"
    ).encode()
)


def find_birth_dates(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    searched = 0
    for word_end in words.ends.get("date_of_birth", ()):
        for match in _DATE.finditer(buffer, max(searched, word_end - _REACH_BEFORE_BYTES), word_end):
            if not budget.allows_candidate():
                return
            searched = match.end()
            if SEPARATOR not in buffer[searched:word_end] and _is_date(match):
                yield Match("date_of_birth", match.start(), match.end(), 0.85)
        start = max(searched, word_end)
        for match in _DATE.finditer(buffer, start, min(len(buffer), word_end + _REACH_BYTES)):
            if not budget.allows_candidate():
                return
            searched = match.end()
            if words.before("date_of_birth", match.start(), buffer, within=_REACH_BYTES) and _is_date(match):
                yield Match("date_of_birth", match.start(), match.end(), 0.9)
            break


def _is_date(match: ByteMatch) -> bool:
    if match[1] is not None:
        return int(match[1]) in _YEARS and _is_day_and_month(int(match[3]), int(match[2]))
    if match[4] is not None:
        year = int(match[6])
        return (year < 100 or year in _YEARS) and _is_day_and_month(int(match[4]), int(match[5]))
    return int(match[7] or match[8]) in _YEARS


def _is_day_and_month(one: int, other: int) -> bool:
    return 1 <= one <= 31 and 1 <= other <= 31 and min(one, other) <= 12
