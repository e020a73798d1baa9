"""Records of several persons in a call, and all about one: a heuristic that counts what other finders found.

A mail address or a telephone number is ordinary in a call; ten customers with both are an export. Counted are the
different values of a kind (addresses, numbers, dates of birth, streets), and the members and columns that are named for
what they tell about a person (``config/detectors/person_records.yaml``). What an organization sends to its own system
for customers looks the same, so that a person decides.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache
from typing import Final

from msgspec import Struct, field
from regorus import BytePattern, LabelledPieces

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_document
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.table_entries import compiled
from headgate.detectors.unnamed_rows import unnamed_rows
from headgate.kernel.short_key_cache import short_key_cache

PERSON_RECORDS: Final = "person_records"
_SEVERAL: Final = 0.8
_ONE: Final = 0.75
_CONTACTS_MIN: Final = 4
"""Persons with a mail address and a telephone number. A thread of mails has two or three signatures."""
_PRIVATE_MIN: Final = 3
"""Persons with a date of birth, a street or a private column beside another kind."""
_PERSONS_MIN: Final = 2
_PRIVATE_OF_EACH: Final = 2
"""Private columns of each of two persons, who have two mail addresses or dates of birth. One person may have two
telephone numbers and names, but hardly those."""
_NUMBERS_MIN: Final = 10
_STREETS_MIN: Final = 8
_MAILS_MIN: Final = 50
_BIRTHS_MIN: Final = 4
_NAME_BYTES: Final = 64
_NAME_BEFORE: Final = BytePattern(rb"\b[A-Z][a-z]{1,24} [A-Z][a-z]{1,24}[ ,;|\t:]{1,4}$")
_ROWS_MAX: Final = 2000
_COLUMNS_MAX: Final = 100
_COLUMN_SIGNS: Final = ("\t", ";", "|", ",")
_GAP: Final = re.compile(rb" {2,}")
_MEMBER: Final = re.compile(rb'"([^"\\]{1,64})"\s{0,4}:\s{0,4}"([^"\\]{1,128})"')
_CAMEL: Final = re.compile(rb"(?<=[a-z])(?=[A-Z])")
_RULES: Final = b" \t-+=|:"
"""Lines that a terminal or Markdown draws below the names of columns."""
_LABEL_MAX: Final = 130
_BIRTH_YEARS: Final = range(1920, 2021)
_UNLABELLED_YEARS: Final = range(1925, 2011)
_DATE: Final = re.compile(
    r"\b(?:((?:19|20)[0-9]{2})[-/.](?:0?[1-9]|1[0-2])[-/.](?:0?[1-9]|[12][0-9]|3[01])"
    r"|(?:0?[1-9]|[12][0-9]|3[01])[-/.](?:0?[1-9]|[12][0-9]|3[01])[-/.]((?:19|20)[0-9]{2}))\b"
)
_PERSONS_NAME: Final = re.compile(r"[A-ZÀ-Þ][\w'-]{1,24}(?: [A-ZÀ-Þ][\w'.-]{0,24}| (?:de|da|del|van|von|der|la)){1,3}")
_NAMED_DATE: Final = BytePattern(
    rb"\b[A-Z][a-z]{1,24} [A-Z][a-z]{1,24}[ ,;|\t(*]{1,4}(?:(?:b|born|geb|DOB|dob)[.:]? )?"
    rb"(?:((?:19|20)[0-9]{2})-[01][0-9]-[0-3][0-9]|[0-3]?[0-9][./][0-3]?[0-9][./]((?:19|20)[0-9]{2}))\b"
)


class Fact(StrEnum):
    """What a value tells about a person."""

    MAIL = "email"
    NUMBER = "phone"
    BIRTH = "date_of_birth"
    STREET = "street"
    NAME = "name"
    NAMED = "named"
    PRIVATE = "private"


_OF_KIND: Final = {"email": Fact.MAIL, "phone": Fact.NUMBER, "date_of_birth": Fact.BIRTH}
_OF_LABEL: Final = {
    "name": Fact.NAME,
    "named": Fact.NAMED,
    "birth": Fact.BIRTH,
    "place": Fact.STREET,
    "private": Fact.PRIVATE,
}
_FACTS: Final = tuple(_OF_LABEL.values())


class PersonWords(Struct, frozen=True):
    """``labels``: whole names of members and columns, a group for each of ``_OF_LABEL``. ``in_text``: streets, and
    dates behind names; most texts have neither, which one pass tells."""

    labels: BytePattern
    streets: BytePattern
    in_text: BytePattern


@cache
def person_words() -> PersonWords:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "person_records.yaml"))
    document.only("labels", "streets")
    section = document.section("labels")
    labels = "|".join(f"({_any_of(section.strings(name))})" for name in _OF_LABEL)
    streets = _any_of(document.strings("streets"))
    patterns = f"(?i){labels}", streets, f"{streets}|{_NAMED_DATE.pattern.decode()}"
    return PersonWords(*(compiled(document, one) for one in patterns))


def _any_of(patterns: Sequence[str]) -> str:
    return "|".join(f"(?:{one})" for one in patterns)


class Facts(Struct):
    """The different values of each kind, and where the first of any stands."""

    values: dict[Fact, set[bytes]] = field(default_factory=lambda: {one: set() for one in Fact})
    start: int | None = None
    end: int = 0

    def add(self, fact: Fact, written: bytes, start: int) -> None:
        """Of names that things have as well, only what is two words with capital letters."""
        value = written.strip()
        if not value or (fact is Fact.NAMED and _PERSONS_NAME.fullmatch(value.decode("utf-8", "replace")) is None):
            return
        self.values[Fact.NAME if fact is Fact.NAMED else fact].add(value.lower())
        if self.start is None or start < self.start:
            self.start, self.end = start, start + len(value)

    def count(self, fact: Fact) -> int:
        return len(self.values[fact])

    def confidence(self) -> float | None:
        """None: they are no records of persons."""
        mails, numbers, births, streets = map(self.count, (Fact.MAIL, Fact.NUMBER, Fact.BIRTH, Fact.STREET))
        names, private = self.count(Fact.NAME), self.count(Fact.PRIVATE)
        most, second, _ = sorted((mails, numbers, streets), reverse=True)
        several = (
            second >= _CONTACTS_MIN
            or births >= _BIRTHS_MIN
            or min(births, max(most, names)) >= _PRIVATE_MIN
            or min(private, max(most, births, names)) >= _PRIVATE_MIN
            or min(private // _PRIVATE_OF_EACH, max(mails, births)) >= _PERSONS_MIN
            or min(streets, names) >= _CONTACTS_MIN
            or numbers >= _NUMBERS_MIN
            or streets >= _STREETS_MIN
            or mails >= _MAILS_MIN
        )
        if several:
            return _SEVERAL
        return _ONE if births and streets and (mails or numbers) else None


def find_person_records(buffer: bytes, found: Sequence[Match], budget: Budget) -> Iterator[Match]:
    """``found``: by the other finders of personal data. One match at the first value."""
    facts = facts_of(buffer, found, budget)
    confidence = None if facts.start is None else facts.confidence()
    if confidence is not None and facts.start is not None:
        yield Match(PERSON_RECORDS, facts.start, facts.end, confidence)


def facts_of(buffer: bytes, found: Sequence[Match], budget: Budget) -> Facts:
    facts = Facts()
    for match in found:
        fact = _OF_KIND.get(match.kind)
        if fact is not None:
            facts.add(fact, buffer[match.start : match.end], match.start)
    for row in unnamed_rows(buffer, budget):
        facts.add(Fact.BIRTH, buffer[row.start : row.end].strip(b" <;|,\t\r\n"), row.start)
        facts.add(Fact.NAME, row.name, row.start)
    if person_words().in_text.search(buffer) is not None and not _read_text(buffer, facts, budget):
        return facts
    _read_pieces(buffer, facts, budget)
    return facts


def _read_text(buffer: bytes, facts: Facts, budget: Budget) -> bool:
    """Whether it was read to its end."""
    for pattern_match in person_words().streets.finditer(buffer):
        if not budget.allows_candidate():
            return False
        start, end = pattern_match.span()
        facts.add(Fact.STREET, buffer[start:end], start)
        before = _NAME_BEFORE.search(buffer[max(0, start - _NAME_BYTES) : start])
        if before is not None:
            facts.add(Fact.NAME, before[0].rstrip(b" ,;|\t:"), start)
    for pattern_match in _NAMED_DATE.finditer(buffer):
        if not budget.allows_candidate():
            return False
        start, end = pattern_match.span()
        if int(pattern_match[1] or pattern_match[2] or b"0") in _UNLABELLED_YEARS:
            facts.add(Fact.BIRTH, buffer[start:end], start)
    return True


def _read_pieces(buffer: bytes, facts: Facts, budget: Budget) -> None:
    pieces = LabelledPieces(buffer, _LABEL_MAX)
    for number, label in enumerate(pieces.labels):
        fact = _fact_of(label)
        if fact is not None:
            for value, start in _different(buffer, pieces.places(number)):
                _add_named(fact, value, start, facts)
    for start, text_start, end in pieces.several_lines:
        _read_table(buffer[text_start:end], start, facts, budget)


def _different(buffer: bytes, places: Sequence[tuple[int, int]]) -> Iterator[tuple[bytes, int]]:
    """Each value where it stands first: a list of a hundred items has few."""
    first: dict[bytes, int] = {}
    for start, end in places:
        first.setdefault(buffer[start:end], start)
    yield from first.items()


def _add_labelled(label: bytes, value: bytes, start: int, facts: Facts) -> None:
    if len(value) <= _LABEL_MAX:
        _add_named(_fact_of(label), value, start, facts)


def _add_named(fact: Fact | None, value: bytes, start: int, facts: Facts) -> None:
    """``fact``: by the name of a member or column. A street by its name is another value than one in a text."""
    if (
        fact is not None
        and (fact is not Fact.BIRTH or _is_birth(value))
        and (fact is not Fact.STREET or _is_place(value))
    ):
        facts.add(fact, b"@" + value if fact is Fact.STREET else value, start)


@short_key_cache(4096)
def _fact_of(label: bytes) -> Fact | None:
    """A label is the words of a name, and the name again: ``first Name firstName``."""
    wanted = label.strip().strip(b"\"'*").strip()
    words = wanted.rpartition(b" ")[0] if b"_" in wanted or _repeats(wanted) else wanted
    match = person_words().labels.fullmatch(words.strip())
    group = None if match is None else match.lastindex
    return None if group is None else _FACTS[group - 1]


def _repeats(label: bytes) -> bool:
    words, space, name = label.rpartition(b" ")
    return bool(space) and words.replace(b" ", b"") == name.translate(None, b"_-.")


def _is_place(value: bytes) -> bool:
    """No address of a machine, a wallet or a function: words, or other letters than those of ASCII."""
    return b" " in value.strip() or not value.isascii()


def _is_birth(value: bytes) -> bool:
    match = _DATE.search(value.decode("utf-8", "replace"))
    return match is not None and int(match[1] or match[2]) in _BIRTH_YEARS


def is_unlabelled_birth(text: str) -> bool:
    """Whether it is a date that is rather a birth than an appointment."""
    match = _DATE.fullmatch(text)
    return match is not None and int(match[1] or match[2]) in _UNLABELLED_YEARS


def _read_table(piece: bytes, start: int, facts: Facts, budget: Budget) -> None:
    """Lines below a line of names with the same sign between them; lines that begin with a name and a colon; lines that
    are objects of JSON."""
    lines = [_with_tabs(one) for one in piece.splitlines()[: _ROWS_MAX + 1] if one.strip(_RULES)]
    columns: list[Fact | None] = []
    between = b""
    for line in lines:
        if not budget.has_time():
            return
        if line.startswith(b"{"):
            for member in _MEMBER.finditer(line):
                _add_labelled(_CAMEL.sub(b" ", member[1]).replace(b"_", b" "), member[2], start, facts)
            continue
        cells = line.split(between) if between else []
        if columns and len(cells) >= len(columns) - 1 and len(cells) > 1:
            for fact, written in zip(columns, cells, strict=False):
                cell = written.strip().strip(b'"')
                if cell.strip(b"-: "):
                    _add_named(fact, cell, start, facts)
            continue
        columns, between = _heading(line)
        label, sign, value = line.partition(b":")
        if not columns and sign and len(label) <= _LABEL_MAX:
            _add_labelled(label.lstrip(b"-*# "), value.strip(), start, facts)


def _with_tabs(line: bytes) -> bytes:
    """Columns that spaces align, and no sign."""
    return line if any(sign in line for sign in (b"\t", b";", b"|")) else _GAP.sub(b"\t", line.strip(b" "))


def _heading(line: bytes) -> tuple[list[Fact | None], bytes]:
    """What its columns tell, if two are of persons."""
    for sign in map(str.encode, _COLUMN_SIGNS):
        if 0 < line.count(sign) < _COLUMNS_MAX and len(line) <= 1000:
            told = [_fact_of(one.replace(b"_", b" ")) for one in line.split(sign)]
            if sum(one is not None for one in told) >= 2 or (
                (Fact.NAME in told or Fact.NAMED in told) and len(told) >= 2 and not set(line) & set(b"(){}=")
            ):
                return told, sign
    return [], b""
