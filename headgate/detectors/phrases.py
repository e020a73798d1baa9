"""Heuristics by phrases: what a text asks for (intent), and whether it harms (safety): words, not meanings."""

from collections.abc import Iterator
from functools import cache

from msgspec import Struct
from regorus import BytePattern

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_document
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.table_entries import compiled, weight_of


class Phrase(Struct, frozen=True):
    category: str
    pattern: BytePattern
    weight: float


@cache
def phrases(name: str) -> tuple[Phrase, ...]:
    """Of ``config/detectors/NAME.yaml``. Raises ValidationError."""
    document = read_document(resource_path("detectors", f"{name}.yaml"))
    found: list[Phrase] = []
    for category in document.members:
        for section in document.sections(category):
            section.only("weight", "pattern")
            pattern = compiled(section, f"(?i){section.text('pattern')}")
            found.append(Phrase(category, pattern, weight_of(section)))
    return tuple(found)


def find_intent(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """Destroying, taking out, raising privileges, covering tracks, moving money, injected instructions."""
    return find_phrases("intent", buffer, budget)


def find_unsafe(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """Violence, self-harm, weapons, malware, hate, sexual content."""
    return find_phrases("safety", buffer, budget)


def find_phrases(name: str, buffer: bytes, budget: Budget) -> Iterator[Match]:
    """The phrases of one table, each by its category."""
    budget.new_pass(len(buffer))
    for phrase in phrases(name):
        if not budget.has_time():
            return
        for match in phrase.pattern.finditer(buffer):
            if not budget.allows_candidate():
                return
            yield Match(phrase.category, match.start(), match.end(), phrase.weight)
