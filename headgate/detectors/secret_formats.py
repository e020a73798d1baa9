"""``config/detectors/secrets.yaml`` and ``gitleaks.yaml``, compiled once."""

import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Final

from msgspec import Struct, field
from regorus import BytePattern, KeywordSearch

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.keyword_places import keyword_places
from headgate.detectors.secret_checks import CHECKS, Check, Placeholders
from headgate.detectors.spelled import turned_words
from headgate.detectors.table_entries import compiled

_WINDOW_BYTES: Final = 16 * 1024
"""How far from its keyword a credential may reach; a private key of 8192 bits has 6.4 KB."""

WORD: Final = (string.ascii_letters + string.digits + "_").encode()
_BEGINNING_BYTES_MIN: Final = 3
"""What is shorter begins too much else."""


class SecretFormat(Struct, frozen=True):
    """``before``: how many bytes before its keyword the pattern may begin; 0: it begins with the keyword. ``after``:
    how far behind the keyword's beginning it ends; ``near``: it may begin behind the keyword too. ``needs``: bytes
    without which there is none behind the keyword, however common that is. ``allowed``: values that are no credentials.
    ``joined``: joined texts are searched for it too; not for command lines, which one field holds. ``exact``: a whole
    value with what the vendor chose at random as its first group; it needs no digit."""

    kind: str
    pattern: BytePattern
    before: int
    check: Check | None
    bits: float
    after: int = _WINDOW_BYTES
    near: bool = False
    needs: bytes = b""
    allowed: BytePattern | None = None
    joined: bool = True
    exact: BytePattern | None = None


class ServiceValue(Struct, frozen=True):
    """How a service's credential looks where it is assigned to a name with the service's own in it."""

    kind: str
    value: BytePattern
    bits: float


class Assignment(Struct, frozen=True):
    """A name to which a secret is assigned; ``by_person``: chosen by somebody, so that it may be short; ``weak``: of
    other things too, so that only what cannot be anything else counts."""

    by_person: bool
    weak: bool = False


class Keyword(Struct, frozen=True):
    """What one keyword is the beginning, or the name, of. ``beginnings`` only count at the beginning of a word."""

    length: int
    beginnings: tuple[SecretFormat, ...]
    others: tuple[SecretFormat, ...]
    assignment: Assignment | None
    services: tuple[ServiceValue, ...]

    @property
    def counts_in_words(self) -> bool:
        """Whether it counts within a word too."""
        return bool(self.others or self.services) or self.assignment is not None


class Keywords(Struct, frozen=True):
    """All in one pass; ``known`` by their numbers."""

    search: KeywordSearch
    known: tuple[Keyword, ...]

    def found(self, buffer: bytes) -> Iterator[tuple[int, Keyword]]:
        """Each keyword with the offset of its end."""
        for end, number in keyword_places(self.search, buffer):
            yield end, self.known[number]


_ASSIGNMENTS: Final[Mapping[str, Assignment]] = {
    "weak": Assignment(by_person=False, weak=True),
    "tokens": Assignment(by_person=False),
    "passwords": Assignment(by_person=True),
}


class _Entry(Struct):
    formats: list[SecretFormat] = field(default_factory=list)
    assignment: Assignment | None = None
    services: list[ServiceValue] = field(default_factory=list)


class SecretFormats(Struct, frozen=True):
    """``joined``: of ``keywords``, what counts in joined texts; ``beginnings``: what formats with a beginning of their
    own begin with; ``turned_beginnings``: the same turned (``spelled.turned``); ``joined_beginnings``: those of them
    that count in joined texts; ``needed``: what some format needs; ``allowed``: values that are no credentials."""

    keywords: Keywords
    joined: Keywords
    beginnings: BytePattern
    turned_beginnings: BytePattern
    joined_beginnings: BytePattern
    needed: frozenset[bytes]
    kinds: frozenset[str]
    placeholders: Placeholders
    allowed: BytePattern
    harmless_endings: tuple[str, ...]
    harmless_names: frozenset[str]
    harmless_beginnings: tuple[str, ...]
    harmless_key_beginnings: tuple[str, ...]


@cache
def secret_formats() -> SecretFormats:
    """Raises ValidationError for a list that cannot be used."""
    own = read_document(resource_path("detectors", "secrets.yaml"))
    own.only("formats", "assignments", "placeholders")
    published = read_document(resource_path("detectors", "gitleaks.yaml"))
    published.only("formats", "assigned", "allowed", "stopwords")
    entries: dict[bytes, _Entry] = {}
    for document in (published, own):
        formats = document.section("formats")
        for kind in formats.members:
            section = formats.section(kind)
            made = _format(kind, section)
            for keyword in section.strings("keywords"):
                entries.setdefault(keyword.lower().encode(), _Entry()).formats.append(made)
    assigned = published.section("assigned")
    for kind in assigned.members:
        section = assigned.section(kind)
        for name in section.strings("keywords"):
            entries.setdefault(name.encode(), _Entry()).services.append(_service_value(kind, section))
    assignments = own.section("assignments")
    for key, assignment in _ASSIGNMENTS.items():
        for name in assignments.strings(key):
            entries.setdefault(name.encode(), _Entry()).assignment = assignment
    placeholders = own.section("placeholders")
    beginnings = _beginnings(entries, lambda one: True)
    return SecretFormats(
        _keywords(entries, joined=False),
        _keywords(entries, joined=True),
        beginnings=_any_beginning(beginnings),
        turned_beginnings=turned_words(beginnings),
        joined_beginnings=_any_beginning(_beginnings(entries, lambda one: one.joined)),
        needed=frozenset(one.needs for entry in entries.values() for one in entry.formats if one.needs),
        kinds=frozenset((*own.section("formats").members, *published.section("formats").members)),
        placeholders=Placeholders(frozenset(placeholders.strings("whole")), tuple(placeholders.strings("parts"))),
        allowed=_any_of(published, "allowed"),
        harmless_endings=tuple(assignments.strings("harmless_endings")),
        harmless_names=frozenset(assignments.strings("harmless_names")),
        harmless_beginnings=tuple(assignments.strings("harmless_beginnings")),
        harmless_key_beginnings=tuple(assignments.strings("harmless_key_beginnings")),
    )


def _keywords(entries: dict[bytes, _Entry], *, joined: bool) -> Keywords:
    known = {word: _keyword(word, entry, joined=joined) for word, entry in entries.items()}
    words = {word: one for word, one in known.items() if one.counts_in_words or one.beginnings}
    search = KeywordSearch([(word, not one.counts_in_words, False) for word, one in words.items()], WORD)
    return Keywords(search, tuple(words.values()))


def _keyword(word: bytes, entry: _Entry, *, joined: bool) -> Keyword:
    formats = [one for one in entry.formats if one.joined or not joined]
    beginnings = [one for one in formats if word[:1].isalnum() and one.before == 0]
    others = [one for one in formats if one not in beginnings]
    if joined:
        return Keyword(len(word), tuple(beginnings), tuple(others), None, ())
    return Keyword(len(word), tuple(beginnings), tuple(others), entry.assignment, tuple(entry.services))


def _beginnings(entries: dict[bytes, _Entry], counts: Callable[[SecretFormat], bool]) -> list[bytes]:
    """The longest first."""
    words = [
        word
        for word, entry in entries.items()
        if len(word) >= _BEGINNING_BYTES_MIN and any(counts(one) and one.before == 0 for one in entry.formats)
    ]
    return sorted(words, key=len, reverse=True)


def _any_beginning(words: Iterable[bytes]) -> BytePattern:
    return BytePattern(b"(?i)" + b"|".join(map(re.escape, words)))


def _any_of(section: Section, key: str) -> BytePattern:
    return compiled(section, "|".join(f"(?:{one})" for one in section.strings(key)))


def _service_value(kind: str, section: Section) -> ServiceValue:
    section.only("keywords", "value", "bits", "allowed")
    return ServiceValue(kind, compiled(section, section.text("value")), _number(section, "bits", 0))


def _format(kind: str, section: Section) -> SecretFormat:
    where = "before", "after", "near", "needs", "joined"
    section.only("keywords", "pattern", "check", "bits", "allowed", "exact", *where)
    check = section.members.get("check")
    if check is not None and check not in CHECKS:
        raise section.fail("check", f"known: {', '.join(CHECKS)}")
    near = int(_number(section, "near", 0))
    joined = section.members.get("joined", True)
    if not isinstance(joined, bool):
        raise section.fail("joined", "true or false is required")
    return SecretFormat(
        kind,
        compiled(section, section.text("pattern")),
        near or int(_number(section, "before", 0)),
        None if check is None else CHECKS[str(check)],
        _number(section, "bits", 0),
        near or int(_number(section, "after", _WINDOW_BYTES)),
        near > 0,
        section.text("needs").encode() if "needs" in section.members else b"",
        _any_of(section, "allowed") if "allowed" in section.members else None,
        joined,
        compiled(section, section.text("exact")) if "exact" in section.members else None,
    )


def _number(section: Section, key: str, default: float) -> float:
    value = section.members.get(key, default)
    if not isinstance(value, int | float):
        raise section.fail(key, "a number is required")
    return value
