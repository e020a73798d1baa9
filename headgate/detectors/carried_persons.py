"""Data of a person in the address of a call: logs, proxies and histories keep addresses, so few services ask for more
there than one mail address, number or name.
"""

import re
from collections.abc import Iterable
from typing import Final

from headgate.detectors.document import SEPARATOR
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.national_numbers import NationalNumber, national_numbers
from headgate.detectors.person_records import Fact, facts_of, is_unlabelled_birth
from headgate.detectors.personal_data import find_personal_data

_TELLING: Final = re.compile(
    r"@|[0-9]{4}[-/.][0-9]{1,2}[-/.]|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4}|[0-9]{7}|[0-9]{3}[ .-][0-9]{4}"
)
_NAME: Final = re.compile(r"(?:[A-ZÀ-Þ][\w'-]{1,24}[ +_.]){1,3}(?:[A-ZÀ-Þ][.]? )?[A-ZÀ-Þ][\w'-]{1,24}")
"""With a title or a second name: ``Patient Anna Keller``."""
_LIST: Final = re.compile(r"[,;|\s]+")
_ONE_NUMBER: Final = re.compile(r"(?=(?:.*[0-9]){6})[0-9A-Za-z.+-]{9,18}")
_DATED_NUMBERS: Final = frozenset(
    ("pl_pesel", "no_fodselsnummer", "fi_hetu", "se_personnummer", "it_codice_fiscale", "mx_curp", "fr_nir")
)
"""Kinds that contain a date of birth."""
_LISTED_NUMBERS: Final = _DATED_NUMBERS | {"br_cpf", "be_nn", "es_dni", "ch_ahv"}
"""Kinds whose form and checksum three numbers of other things do not have by chance."""
_LISTED_MIN: Final = 3
_LISTED_MAX: Final = 64
_NOTHING_SAID: Final = 1
"""A name of one letter does not say which date it is."""
_MAILS_MIN: Final = 5
_NUMBERS_MIN: Final = 3


def names_persons(texts: Iterable[tuple[str | None, str]], budget: Budget) -> bool:
    """Whether there is a date of birth beside a name, a mail address, a number or a street; a mail address beside a
    number; several of either, or of identity numbers. ``texts``: each parameter with its name, each segment with
    None."""
    pieces = [(name, text) for name, text in texts if text]
    if not any(_TELLING.search(text) for _, text in pieces):
        return False
    values = [text for _, text in pieces]
    if any(map(_lists_identity_numbers, (*values, " ".join(values)))):
        return True
    named = [text if name is None else f"{_words(name)}: {text}" for name, text in pieces]
    buffer = SEPARATOR.join(one.encode("utf-8", "replace") for one in named)
    found: list[Match] = [*find_personal_data(buffer, budget)]
    facts = facts_of(buffer, found, budget)
    births, mails, numbers = map(facts.count, (Fact.BIRTH, Fact.MAIL, Fact.NUMBER))
    is_named = facts.count(Fact.NAME) > 0 or any(_NAME.fullmatch(text) is not None for _, text in pieces)
    births += is_named and any(
        is_unlabelled_birth(text) for name, text in pieces if name is None or len(name) <= _NOTHING_SAID
    )
    births += (is_named or mails > 0) and any(map(_is_dated_number, values))
    beside = mails or numbers or is_named or facts.count(Fact.STREET)
    return bool((births and beside) or (mails and numbers)) or mails >= _MAILS_MIN or numbers >= _NUMBERS_MIN


def _lists_identity_numbers(text: str) -> bool:
    """Whether it lists identity numbers of one country, and no other number."""
    found = {one for one in _LIST.split(text) if _ONE_NUMBER.fullmatch(one) is not None}
    if not _LISTED_MIN <= len(found) <= _LISTED_MAX:
        return False
    return any(
        all(_is_number_of(kind, one) for one in found)
        for kind in national_numbers().known
        if kind.kind in _LISTED_NUMBERS
    )


def _is_dated_number(text: str) -> bool:
    """Whether it is an identity number that contains a date of birth."""
    return _ONE_NUMBER.fullmatch(text) is not None and any(
        _is_number_of(kind, text) for kind in national_numbers().known if kind.kind in _DATED_NUMBERS
    )


def _is_number_of(kind: NationalNumber, text: str) -> bool:
    forms = (one for one in (kind.strict, kind.loose) if one is not None)
    return any(one.fullmatch(text.encode()) is not None for one in forms) and kind.is_valid(text)


def _words(name: str) -> str:
    return re.sub(r"[_.-]+", " ", name)
