"""What agents used of language models today: what is on record, and what the processes tell each other until it is.

Of a call that this process answered, or another one told of, the memory knows the execution, so that nothing counts
twice once its outcome is on record.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct, field

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.llm_usage.model import MODELS_MAX, OTHER_MODELS, Counts, ModelUse, day_of
from headgate.llm_usage.prices import Prices
from headgate.protocols.llm_answer import Usage

STREAM: Final = "headgate.llm_usage"
WINDOW_SECONDS: Final = 600
"""How far back a process reads that starts: what is older is on record."""
RECORD_FRESH_SECONDS: Final = 60.0
_UNRECORDED_MAX: Final = 100_000
_OLD_SECONDS: Final = 5.0

type Models = dict[str, Counts]


class View(StrEnum):
    """What the counters of a decision know."""

    SHARED = "shared"  # the record, and what every process told a moment ago
    RECORD = "record"  # the record of some seconds ago, and this process: Valkey is gone, or there is none
    PROCESS = "process"  # of the last minute this process alone: the record could not be read


class _Organization(Struct):
    agents: dict[str, Models] = field(default_factory=dict)
    all_agents: Models = field(default_factory=dict)
    unrecorded: OrderedDict[str, ModelUse] = field(default_factory=OrderedDict)
    read_at: float | None = None

    def add(self, agent_id: str, model: str, counts: Counts) -> None:
        models = self.agents.setdefault(agent_id, {})
        if model not in models and len(models) >= MODELS_MAX:
            model = OTHER_MODELS
        for one in (models, self.all_agents):
            one.setdefault(model, Counts()).plus(counts)


class UsageMemory:
    """``share`` is told each use, as a row that ``absorb`` of another process takes. ``clock``: seconds since the
    epoch. ``is_heard``: whether what the other processes tell arrives."""

    def __init__(
        self,
        *,
        share: Callable[[JsonValue], None] = lambda row: None,
        is_heard: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
        stale: Callable[[], None] = lambda: None,
    ) -> None:
        """``stale`` is called where the record should be read soon."""
        self._share = share
        self._is_heard = is_heard
        self._clock = clock
        self._stale = stale
        self._day = self.today
        self._organizations: dict[str, _Organization] = {}

    @property
    def today(self) -> str:
        return day_of(datetime.fromtimestamp(self._clock(), UTC))

    @property
    def organizations(self) -> list[str]:
        """Those of which somebody asks, or that used something."""
        return list(self._organizations)

    def note(self, org_id: str, use: ModelUse) -> None:
        """A call has been answered here."""
        self._add(org_id, use)
        usage = use.usage
        numbers: list[JsonValue] = [
            usage.tokens_in,
            usage.tokens_cached,
            usage.tokens_cache_written,
            usage.tokens_out,
            usage.estimated,
        ]
        self._share([org_id, use.execution_id, use.agent_id, use.model, use.day, self._clock(), *numbers])

    def absorb(self, row: Any) -> None:
        """A call that another process has told. Raises ValueError, TypeError."""
        org_id, execution_id, agent_id, model, day, at, tokens_in, cached, written, tokens_out, estimated = row
        usage = Usage(int(tokens_in), int(cached), int(written), int(tokens_out), bool(estimated))
        if float(at) < self._clock() - _OLD_SECONDS:
            self._stale()  # most likely it is on record already
        self._add(org_id, ModelUse(execution_id, agent_id, model, day, usage))

    def unrecorded(self, org_id: str) -> list[str]:
        """The executions to ask the record for."""
        return list(self._of(org_id).unrecorded)

    def read(self, org_id: str, day: str, rows: Iterable[tuple[str, str, Counts]], applied: Iterable[str]) -> None:
        """What is on record of ``day``: agent, model and counts, and which of ``unrecorded`` are among them."""
        if day != self.today:
            return
        before = self._of(org_id)
        for execution_id in applied:
            before.unrecorded.pop(execution_id, None)
        after = _Organization(unrecorded=before.unrecorded, read_at=self._clock())
        for agent_id, model, counts in rows:
            after.add(agent_id, model, counts)
        for use in after.unrecorded.values():
            after.add(use.agent_id, use.model, _counts_of(use))
        self._organizations[org_id] = after

    def summary(self, org_id: str, agent_id: str, named: Sequence[str], prices: Prices) -> JsonObject:
        """``input.usage`` of the agent's next call. ``named``: the models that may answer it."""
        organization = self._of(org_id)
        models = organization.agents.get(agent_id, {})
        return {
            "day": self._day,
            "view": self._view(organization).value,
            "price_known": all(prices.of(model) is not None for model in named),
            "agent": shown_counts(models, prices),
            "model": shown_counts({model: models[model] for model in named if model in models}, prices),
            "organization": shown_counts(organization.all_agents, prices),
        }

    def _view(self, organization: _Organization) -> View:
        if organization.read_at is None or self._clock() - organization.read_at > RECORD_FRESH_SECONDS:
            return View.PROCESS
        return View.SHARED if self._is_heard() else View.RECORD

    def _of(self, org_id: str) -> _Organization:
        if self._day != (today := self.today):
            # The counters begin anew. Nothing of the new day is on record yet, but for what the next read brings.
            self._day = today
            self._organizations = {
                name: _Organization(read_at=one.read_at) for name, one in self._organizations.items()
            }
            self._stale()
        return self._organizations.setdefault(org_id, _Organization())

    def _add(self, org_id: str, use: ModelUse) -> None:
        organization = self._of(org_id)
        if use.day != self._day or use.execution_id in organization.unrecorded:
            return
        organization.unrecorded[use.execution_id] = use
        if len(organization.unrecorded) > _UNRECORDED_MAX:
            organization.unrecorded.popitem(last=False)
        organization.add(use.agent_id, use.model, _counts_of(use))


def shown_counts(models: Mapping[str, Counts], prices: Prices) -> JsonObject:
    """All models together. ``cost_usd`` is left out where the price of one of them is not known: less than an unknown
    number is not little."""
    counts = Counts()
    for one in models.values():
        counts.plus(one)
    cost = prices.cost_usd(models.items())
    return counts.shown() if cost is None else {**counts.shown(), "cost_usd": cost}


def _counts_of(use: ModelUse) -> Counts:
    counts = Counts()
    counts.add(use.usage)
    return counts
