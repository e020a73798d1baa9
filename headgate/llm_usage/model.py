"""What was used of one model, added up. Pure."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject
from headgate.protocols.llm_answer import Usage

MODELS_MAX: Final = 200
"""Of one agent and day that are counted by name: agents choose them."""
OTHER_MODELS: Final = "other/models"
_READS: Final = re.compile(r'\.usage\b|["`]usage["`]')


class ModelUse(Struct, frozen=True):
    """One answered call. ``day``: in UTC, as ``2026-11-27``, when its answer ended. ``model``: with its provider before
    a slash."""

    execution_id: str
    agent_id: str
    model: str
    day: str
    usage: Usage


class Counts(Struct):
    """Of the calls of one agent to one model on one day, or of several such. ``estimated_calls`` are those whose answer
    did not say how many tokens they took."""

    calls: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_cache_written: int = 0
    tokens_out: int = 0
    estimated_calls: int = 0

    def add(self, usage: Usage) -> None:
        self.plus(
            Counts(
                1,
                usage.tokens_in,
                usage.tokens_cached,
                usage.tokens_cache_written,
                usage.tokens_out,
                int(usage.estimated),
            )
        )

    def plus(self, other: "Counts") -> None:
        self.calls += other.calls
        self.tokens_in += other.tokens_in
        self.tokens_cached += other.tokens_cached
        self.tokens_cache_written += other.tokens_cache_written
        self.tokens_out += other.tokens_out
        self.estimated_calls += other.estimated_calls

    def shown(self) -> JsonObject:
        """As policies, routes and the record name them."""
        return {
            "calls": self.calls,
            "estimated_calls": self.estimated_calls,
            "tokens": self.tokens_in + self.tokens_out,
            "tokens_in": self.tokens_in,
            "tokens_cached": self.tokens_cached,
            "tokens_cache_written": self.tokens_cache_written,
            "tokens_out": self.tokens_out,
        }


def day_of(at: datetime) -> str:
    return at.astimezone(UTC).date().isoformat()


def reads_usage(sources: Iterable[str]) -> bool:
    """``sources``: the text of each enabled policy and module. What none reads is not added to a call."""
    return any(_READS.search(source) is not None for source in sources)
