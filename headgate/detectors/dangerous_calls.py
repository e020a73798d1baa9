"""Calls and programs that are dangerous by what stands together in them: a heuristic by patterns.

An interface of a cloud has no command to read: the operation, the object and the option stand in the path, the query
and several values. A program that takes card numbers or encrypts a folder has no single dangerous line either. A rule
names what stands in one call, or in one text, at once (MITRE ATT&CK T1098, T1485, T1486, T1056.003, T1565.002, T1114,
T1562.008). ``config/detectors/dangerous_calls.yaml`` is the table.
"""

import string
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from msgspec import Struct
from regorus import ByteMatch, BytePattern, KeywordSearch

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.document import text_at
from headgate.detectors.keyword_places import keyword_places
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.table_entries import compiled, weight_of

_WORD: Final = (string.ascii_letters + string.digits).encode()
_TEXT: Final = "text"
_CALL: Final = "call"


class Rule(Struct, frozen=True):
    """``patterns`` all match in one text, or anywhere in the call; the first says where. ``unless``: what makes it
    ordinary. ``foreign``: finds names by its group, of which one must not be ``known`` as a whole. ``near``: matches of
    so many bytes are found, those of over twice as many are not, as a long line has any two words somewhere. Not
    counted in the pattern: ``.{0,300}`` is compiled to 300 copies of ``.``."""

    kind: str
    weight: float
    in_text: bool
    patterns: tuple[BytePattern, ...]
    unless: BytePattern | None
    near: int | None
    foreign: BytePattern | None
    known: BytePattern | None

    def place(self, buffer: bytes, start: int, end: int) -> tuple[int, int] | None:
        part = buffer[start:end] if self.in_text else buffer
        found = self._first(self.patterns[0], part)
        if found is None or not all(self._first(one, part) for one in self.patterns[1:]):
            return None
        if (self.unless is not None and self.unless.search(part)) or not self._has_foreign(part):
            return None
        shift = start if self.in_text else 0
        return found.start() + shift, found.end() + shift

    def _has_foreign(self, part: bytes) -> bool:
        if self.foreign is None or self.known is None:
            return True
        return any(self.known.fullmatch(one[1]) is None for one in self.foreign.finditer(part))

    def _first(self, pattern: BytePattern, part: bytes) -> ByteMatch | None:
        found = pattern.search(part)
        if found is None or self.near is None or found.end() - found.start() <= self.near:
            return found
        windows = range(found.start(), len(part), self.near)
        return next(filter(None, (pattern.search(part, at, at + 2 * self.near) for at in windows)), None)


class DangerousCalls(Struct, frozen=True):
    """``words``: of which each rule has one that stands wherever it matches; ``rules_of``: the rules of each word."""

    words: KeywordSearch
    rules_of: tuple[tuple[int, ...], ...]
    rules: tuple[Rule, ...]


@cache
def _table() -> Sequence[Section]:
    document = read_document(resource_path("detectors", "dangerous_calls.yaml"))
    document.only("rules")
    return document.sections("rules")


@cache
def dangerous_calls() -> DangerousCalls:
    """Of ``config/detectors/dangerous_calls.yaml``. Raises ValidationError."""
    rules, words = list[Rule](), dict[bytes, list[int]]()
    for section in _table():
        for word in section.strings("words"):
            words.setdefault(word.lower().encode(), []).append(len(rules))
        rules.append(_rule(section))
    search = KeywordSearch([(word, False, False) for word in words], _WORD)
    return DangerousCalls(search, tuple(map(tuple, words.values())), tuple(rules))


def dangerous_call_kinds() -> frozenset[str]:
    """No pattern is compiled for it: every process that starts asks. Raises ValidationError."""
    return frozenset(section.text("kind") for section in _table())


def find_dangerous_calls(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """Each rule once for a text, and once for a call."""
    table = dangerous_calls()
    budget.new_pass(len(buffer))
    tried: set[tuple[int, int]] = set()
    text = 0, -1
    for word_end, number in keyword_places(table.words, buffer):
        if not text[0] <= word_end <= text[1]:  # looked for once: a text of a megabyte may be nothing but words
            text = text_at(buffer, word_end)
        for at in table.rules_of[number]:
            rule = table.rules[at]
            start, end = text if rule.in_text else (0, len(buffer))
            if (at, start) in tried:
                continue
            tried.add((at, start))
            if not budget.allows_candidate():
                return
            place = rule.place(buffer, start, end)
            if place is not None:
                yield Match(rule.kind, *place, rule.weight)


def _rule(section: Section) -> Rule:
    section.only("kind", "weight", "within", "words", "all", "near", "unless", "foreign", "known", "example")
    within, near = section.text("within"), section.members.get("near")
    if within not in (_TEXT, _CALL):
        raise section.fail("within", f"'{_TEXT}' or '{_CALL}' is required")
    if near is not None and (not isinstance(near, int) or near < 1):
        raise section.fail("near", "a number of bytes is required")
    patterns = tuple(compiled(section, f"(?im){one}") for one in section.strings("all"))
    unless = compiled(section, f"(?im){section.text('unless')}") if "unless" in section.members else None
    if ("foreign" in section.members) != ("known" in section.members):
        raise section.fail("foreign", "'known' is required with it")
    foreign, known = (
        compiled(section, f"(?im){section.text(name)}") if name in section.members else None
        for name in ("foreign", "known")
    )
    return Rule(section.text("kind"), weight_of(section), within == _TEXT, patterns, unless, near, foreign, known)
