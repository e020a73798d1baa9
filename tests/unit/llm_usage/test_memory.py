"""The counters of a process: by agent, model and day, shared, and never counted twice."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from headgate.llm_usage.memory import RECORD_FRESH_SECONDS, UsageMemory
from headgate.llm_usage.model import MODELS_MAX, Counts, ModelUse, reads_usage
from headgate.llm_usage.prices import NO_PRICES, Prices, parse_prices
from headgate.protocols.llm_answer import Usage

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC).timestamp()
PRICES = parse_prices({"m": {"input": 1, "output": 10}, "n": {"input": 2, "output": 2}})


class _Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


@pytest.fixture
def memory(clock: _Clock) -> UsageMemory:
    return UsageMemory(clock=clock)


def _use(execution: str, agent: str = "agt", model: str = "openai/m", day: str = "2026-11-27", **more: Any) -> ModelUse:
    return ModelUse(execution, agent, model, day, Usage(**{"tokens_in": 100, "tokens_out": 10, **more}))


def _summary(memory: UsageMemory, agent: str = "agt", *models: str, prices: Prices = PRICES) -> Any:
    return memory.summary("org", agent, models or ("openai/m",), prices)


def test_the_first_call_of_a_day_finds_nothing(memory: UsageMemory) -> None:
    found = _summary(memory)
    assert (found["day"], found["view"], found["price_known"]) == ("2026-11-27", "process", True)
    assert found["agent"] == found["model"] == found["organization"]
    assert found["agent"] == {**Counts().shown(), "cost_usd": 0}


def test_a_call_that_one_of_several_models_answers(memory: UsageMemory) -> None:
    memory.note("org", _use("e1"))
    memory.note("org", _use("e2", model="openai/n"))
    both = _summary(memory, "agt", "openai/m", "openai/n")
    assert (both["price_known"], both["model"]["calls"]) == (True, 2)
    assert _summary(memory, "agt", "openai/m", "openai/unheard-of")["price_known"] is False


def test_what_is_counted(memory: UsageMemory) -> None:
    memory.note("org", _use("e1", tokens_cached=40))
    memory.note("org", _use("e2", model="openai/n", estimated=True))
    memory.note("org", _use("e3", agent="other"))
    memory.note("elsewhere", _use("e4"))
    found = _summary(memory)
    assert found["model"] == {
        "calls": 1,
        "estimated_calls": 0,
        "tokens": 110,
        "tokens_in": 100,
        "tokens_cached": 40,
        "tokens_cache_written": 0,
        "tokens_out": 10,
        "cost_usd": pytest.approx(0.0002),
    }
    assert (found["agent"]["calls"], found["agent"]["tokens"], found["agent"]["estimated_calls"]) == (2, 220, 1)
    assert found["agent"]["cost_usd"] == pytest.approx(0.0002 + 0.00022)
    assert (found["organization"]["calls"], found["organization"]["tokens"]) == (3, 330)
    assert _summary(memory, agent="other")["agent"]["tokens"] == 110
    assert _summary(memory, agent="nobody")["agent"]["tokens"] == 0


def test_an_unknown_price_makes_the_cost_unknown_and_not_small(memory: UsageMemory) -> None:
    memory.note("org", _use("e1", model="openai/x"))
    found = _summary(memory)
    assert "cost_usd" not in found["agent"]
    assert found["model"]["cost_usd"] == 0
    assert not _summary(memory, "agt", "openai/x")["price_known"]
    assert "cost_usd" not in _summary(memory, prices=NO_PRICES)["agent"]
    # Once somebody says what it costs, it is known.
    assert _summary(memory, prices=parse_prices({"*": {"input": 1, "output": 0}}))["agent"]["cost_usd"] > 0


def test_the_next_day_is_free(memory: UsageMemory, clock: _Clock) -> None:
    memory.note("org", _use("e1"))
    clock.now = NOON + 12 * 3600 - 0.001
    assert _summary(memory)["agent"]["calls"] == 1
    clock.now = NOON + 12 * 3600
    found = _summary(memory)
    assert (found["day"], found["agent"]["calls"], found["organization"]["calls"]) == ("2026-11-28", 0, 0)
    memory.note("org", _use("e1"))  # of yesterday, told late
    assert _summary(memory)["agent"]["calls"] == 0
    memory.note("org", _use("e2", day="2026-11-28"))
    assert _summary(memory)["agent"]["calls"] == 1


def test_what_another_process_tells_counts_once(clock: _Clock) -> None:
    told: list[Any] = []
    here, there = UsageMemory(share=told.append, clock=clock), UsageMemory(clock=clock)
    here.note("org", _use("e1", estimated=True))
    for _ in range(2):
        there.absorb(json.loads(json.dumps(told[0])))
    assert {**_summary(here)} == {**_summary(there)}
    assert _summary(there)["agent"]["calls"] == 1


@pytest.mark.parametrize("row", [[], ["org"], None, 5, ["org", "e", "a", "m", "d", "x", 1, 2, 3, 4, 5]])
def test_a_row_of_another_version_is_refused(memory: UsageMemory, row: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        memory.absorb(row)


def test_what_is_on_record_counts_once(memory: UsageMemory) -> None:
    memory.note("org", _use("e1"))
    memory.note("org", _use("e2"))
    assert memory.unrecorded("org") == ["e1", "e2"]
    memory.read("org", "2026-11-27", [("agt", "openai/m", Counts(5, 500, 0, 0, 50))], ["e1"])
    assert _summary(memory)["agent"]["calls"] == 6
    assert memory.unrecorded("org") == ["e2"]
    memory.read("org", "2026-11-27", [("agt", "openai/m", Counts(6, 600, 0, 0, 60))], ["e2"])
    found = _summary(memory)
    assert (found["agent"]["calls"], found["organization"]["calls"], memory.unrecorded("org")) == (6, 6, [])


def test_a_record_of_yesterday_that_comes_late_is_left_out(memory: UsageMemory, clock: _Clock) -> None:
    clock.now += 24 * 3600
    memory.read("org", "2026-11-27", [("agt", "openai/m", Counts(5))], [])
    assert _summary(memory)["agent"]["calls"] == 0


def test_the_view_says_what_the_counters_know(clock: _Clock) -> None:
    heard = True
    memory = UsageMemory(is_heard=lambda: heard, clock=clock)
    assert _summary(memory)["view"] == "process"
    memory.read("org", "2026-11-27", [], [])
    assert _summary(memory)["view"] == "shared"
    heard = False
    assert _summary(memory)["view"] == "record"
    clock.now += RECORD_FRESH_SECONDS + 1
    assert _summary(memory)["view"] == "process"


def test_an_old_row_asks_for_the_record(clock: _Clock) -> None:
    asked: list[None] = []
    told: list[Any] = []
    UsageMemory(share=told.append, clock=clock).note("org", _use("e1"))
    memory = UsageMemory(clock=clock, stale=lambda: asked.append(None))
    memory.absorb(told[0])
    assert not asked
    clock.now += 60
    memory.absorb(told[0])
    assert asked


def test_models_are_bounded(memory: UsageMemory) -> None:
    for number in range(MODELS_MAX + 50):
        memory.note("org", _use(f"e{number}", model=f"compatible/{number}"))
    found = _summary(memory, prices=parse_prices({"compatible/*": {"input": 1, "output": 1}}))
    assert found["agent"]["calls"] == MODELS_MAX + 50
    assert "cost_usd" not in found["agent"], "the rest is counted under a name without a price"


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("input.usage.agent.tokens > 5", True),
        ('input["usage"].agent', True),
        ("some name in input.llm.tools", False),
        ("# usage of the tool", False),
    ],
)
def test_which_policies_read_it(source: str, reads: bool) -> None:
    assert reads_usage(["package a", source]) is reads
