"""Passwords in a column of a table that is named for them: CSV, Markdown, and lines with tabs."""

import re
from collections.abc import Iterator
from typing import Final

from headgate.detectors.document import text_at
from headgate.detectors.forms import FORMS
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.secret_checks import NO, chosen_password
from headgate.detectors.secret_formats import secret_formats

_KIND: Final = "password"
_NAMES: Final = (
    "pass(?:word|wd|wort|phrase)?|pwd|pw|kennwort|mot de passe|contrase(?:n|\xc3\xb1)a|clave|senha|wachtwoord"
    "|has(?:l|\xc5\x82)o|heslo|l(?:o|\xc3\xb6)senord|adgangskode|passord|salasana|parola"
)
"""Bytes of UTF-8 are written as characters of Latin-1, as which the patterns are encoded."""
_HEADING: Final = FORMS.add(rf"(?im)(?:[,;|\t:] ?|^)[\"']?(?:{_NAMES})[\"']? ?(?:[,;|\t\r\n]|$)".encode("latin-1"))
_NAME: Final = re.compile(rf"(?i)\s*[\"']?(?:{_NAMES})[\"']?\s*".encode("latin-1"))
_COLUMN_SIGNS: Final = (b"\t", b";", b"|", b",")
_ROWS_MAX: Final = 200


def find_password_columns(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """Values that look chosen as passwords, until a row has another number of columns."""
    for heading in _HEADING.finditer(buffer):
        if not budget.allows_candidate():
            return
        start = buffer.rfind(b"\n", 0, heading.start() + 1) + 1
        end = buffer.find(b"\n", heading.start() + 1)
        if end > 0:
            yield from _below(buffer, start, end, text_at(buffer, heading.start())[1])


def _below(buffer: bytes, start: int, end: int, text_end: int) -> Iterator[Match]:
    """``start`` and ``end``: of the line with the names of columns."""
    names = buffer[start:end]
    label = names.find(b": ")  # of a member whose value the table is
    names = names[label + 2 :] if label >= 0 else names
    sign = next((one for one in _COLUMN_SIGNS if one in names), None)
    if sign is None:
        return
    cells = names.split(sign)
    columns = [at for at, name in enumerate(cells) if _NAME.fullmatch(name)]
    at = end + 1
    for line in buffer[at:text_end].split(b"\n")[:_ROWS_MAX]:
        values = line.split(sign)
        if len(values) != len(cells):
            return
        for column in columns:
            value = values[column].strip(b" \"'\r")
            text = value.decode("utf-8", "replace")
            confidence = chosen_password(text, secret_formats().placeholders) if value else NO
            if confidence != NO:
                first = at + line.index(value, sum(map(len, values[:column])) + column)
                yield Match(_KIND, first, first + len(value), confidence)
        at += len(line) + 1
