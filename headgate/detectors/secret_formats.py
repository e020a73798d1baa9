"""``config/detectors/secrets.yaml``, compiled once."""

from dataclasses import dataclass
from functools import cache
from typing import Final

import ahocorasick
import re2

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.secret_checks import CHECKS, Check, Placeholders
from headgate.kernel.errors import ValidationError

_WINDOW_BYTES: Final = 16 * 1024
"""How far from its keyword a credential may reach; a private key of 8192 bits has 6.4 KB."""


@dataclass(frozen=True, slots=True)
class SecretFormat:
    """``before``: how many bytes before its keyword the pattern may begin; 0: it begins with the keyword."""

    kind: str
    pattern: re2._Regexp
    before: int
    check: Check | None
    bits: float


@dataclass(frozen=True, slots=True)
class Assignment:
    """A name to which a secret is assigned; ``by_person``: chosen by somebody, so that it may be short."""

    by_person: bool


@dataclass(frozen=True, slots=True)
class SecretFormats:
    """``keywords`` finds (length, formats, assignment) in text that is ASCII-lowered bytes read as Latin-1."""

    keywords: ahocorasick.Automaton
    placeholders: Placeholders
    harmless_endings: tuple[str, ...]
    harmless_beginnings: tuple[str, ...]


@cache
def secret_formats() -> SecretFormats:
    """Raises ValidationError for a list that cannot be used."""
    document = read_document(resource_path("detectors", "secrets.yaml"))
    document.only("formats", "assignments", "placeholders")
    by_keyword: dict[bytes, tuple[list[SecretFormat], Assignment | None]] = {}
    formats = document.section("formats")
    for kind in formats.members:
        section = formats.section(kind)
        made = _format(kind, section)
        for keyword in section.strings("keywords"):
            by_keyword.setdefault(keyword.lower().encode(), ([], None))[0].append(made)
    assignments = document.section("assignments")
    for key, by_person in (("passwords", True), ("tokens", False)):
        for name in assignments.strings(key):
            known = by_keyword.get(name.encode(), ([], None))[0]
            by_keyword[name.encode()] = (known, Assignment(by_person))
    automaton = ahocorasick.Automaton()
    for keyword_bytes, (found, assignment) in by_keyword.items():
        automaton.add_word(keyword_bytes.decode("latin-1"), (len(keyword_bytes), tuple(found), assignment))
    automaton.make_automaton()
    placeholders = document.section("placeholders")
    return SecretFormats(
        automaton,
        Placeholders(frozenset(placeholders.strings("whole")), tuple(placeholders.strings("parts"))),
        tuple(assignments.strings("harmless_endings")),
        tuple(assignments.strings("harmless_beginnings")),
    )


def window_end(start: int, size: int) -> int:
    return min(size, start + _WINDOW_BYTES)


def _format(kind: str, section: Section) -> SecretFormat:
    section.only("keywords", "pattern", "before", "check", "bits")
    check = section.members.get("check")
    if check is not None and check not in CHECKS:
        raise section.fail("check", f"known: {', '.join(CHECKS)}")
    before, bits = section.members.get("before", 0), section.members.get("bits", 0)
    if not isinstance(before, int) or not isinstance(bits, int | float):
        raise section.fail("before", "before and bits are numbers")
    try:
        pattern = re2.compile(section.text("pattern").encode())
    except re2.error as error:
        raise ValidationError(f"{section.where}: a pattern that RE2 does not accept: {error}") from error
    return SecretFormat(kind, pattern, before, None if check is None else CHECKS[str(check)], float(bits))
