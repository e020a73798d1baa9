"""An organization's limits, and the operator's ceiling above them."""

import pytest

from headgate.executions.model import LIMITS_MOST, ExecutionLimits, limits_document, limits_most, parse_limits
from headgate.kernel.errors import ValidationError


def test_what_is_left_out_is_the_default() -> None:
    assert parse_limits({}) == ExecutionLimits()
    assert parse_limits(limits_document(ExecutionLimits())) == ExecutionLimits()


@pytest.mark.parametrize("name", LIMITS_MOST)
def test_each_limit_has_an_end(name: str) -> None:
    for value in (0, -1, 1.5, "3", None, True, LIMITS_MOST[name] + 1):
        with pytest.raises(ValidationError, match=f"executions.{name}: must be a whole number from 1 to"):
            parse_limits({name: value})
    assert getattr(parse_limits({name: LIMITS_MOST[name]}), name) == LIMITS_MOST[name]


@pytest.mark.parametrize("name", ["agent_concurrency", "destination_concurrency"])
def test_the_ceiling_is_the_operators(name: str) -> None:
    assert getattr(parse_limits({name: 20}, limits_most(20)), name) == 20
    with pytest.raises(ValidationError, match=r"from 1 to 20 .*HEADGATE_EXECUTION_CONCURRENCY_MAX: ask the operator"):
        parse_limits({name: 21}, limits_most(20))
    assert limits_most(100_000)[name] == LIMITS_MOST[name]


def test_what_was_set_above_the_ceiling_is_cut_to_it() -> None:
    stored = parse_limits({"agent_concurrency": 1000, "destination_concurrency": 3, "most_attempts": 20})
    assert stored.within(8) == ExecutionLimits(agent_concurrency=8, destination_concurrency=3, most_attempts=20)
