"""What the definition of a tool says to the model that reads it, beside what the tool does.

A definition is no page: nobody quotes an attack in it or teaches about one, so phrases count there that would be found
in many pages. Names of other servers' tools belong to nobody's definition but their own (shadowing).
``config/detectors/tool_definitions.yaml`` is the table.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final

import re2
from regorus import BytePattern

from headgate.detectors.alternatives import patterns_of
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.phrases import find_phrases

TABLE: Final = "tool_definitions"
SHADOWING: Final = "naming_another_servers_tool"
_SHADOWING_CONFIDENCE: Final = 0.75
_NAMES_MAX: Final = 2_000
_TELLING: Final = re2.compile(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+")
"""A name that is no plain word: ``send_email``, ``getIssue``. That a description says ``search`` tells nothing."""

type Detector = Callable[[bytes, Budget], Iterator[Match]]


def find_told_in_definitions(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """Precedence over other tools, the conversation, private files, secrecy, tasks for the model."""
    return find_phrases(TABLE, buffer, budget)


def finder_of_names(names: frozenset[str]) -> Detector | None:
    """Finds these names of other servers' tools; None where none of them tells anything."""
    telling = sorted(name for name in names if len(name) > 5 and _TELLING.fullmatch(name) is not None)[:_NAMES_MAX]
    if not telling:
        return None
    return partial(_find_names, patterns_of(map(re.escape, telling), r"\b(?:{})\b"))


def _find_names(patterns: Sequence[BytePattern], buffer: bytes, budget: Budget) -> Iterator[Match]:
    budget.new_pass(len(buffer))
    for match in chain.from_iterable(pattern.finditer(buffer) for pattern in patterns):
        if not budget.allows_candidate():
            return
        yield Match(SHADOWING, match.start(), match.end(), _SHADOWING_CONFIDENCE)
