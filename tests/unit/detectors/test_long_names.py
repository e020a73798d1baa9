"""Names of members that are long: each value below one has it for a label."""

import pytest

from headgate.detectors.decode import document_of
from headgate.detectors.limits import DEFAULT_LIMITS, Budget, Limits
from headgate.detectors.model import GapReason
from headgate.kernel.canonical_json import JsonValue

LONG_NAME = "some name " * 20_000


@pytest.mark.parametrize(
    "below", [pytest.param(["x"] * 500, id="a list"), pytest.param([{"value": "x"}] * 500, id="names that say nothing")]
)
def test_a_long_name_is_read_once_however_many_values_it_has(below: JsonValue) -> None:
    buffer = document_of({LONG_NAME: below}, Budget(DEFAULT_LIMITS)).buffer()
    assert len(buffer) < 3 * len(LONG_NAME)
    assert LONG_NAME.encode() in buffer


def test_another_long_name_with_the_same_beginning_is_read_too() -> None:
    names = [LONG_NAME + end for end in ("AKIAIOSFODNN7EXAMPLE", "other")]
    buffer = document_of({name: ["x", "y"] for name in names}, Budget(DEFAULT_LIMITS)).buffer()
    assert all(name.encode() in buffer for name in names)


@pytest.mark.parametrize("value", ["x", "\xe4", 1, {"y": "z"}])
def test_names_count_as_input(value: JsonValue) -> None:
    """One name may be all that a call sends."""
    budget = Budget(Limits(input_bytes_max=1000))
    buffer = document_of({"n" * 5000: value}, budget).buffer()
    assert len(buffer) < 1100
    assert GapReason.INPUT_SIZE in budget.gaps


def test_a_long_name_of_many_values_counts_once() -> None:
    budget = Budget(Limits(input_bytes_max=20_000))
    document_of({"n" * 5000: ["x"] * 40}, budget)
    assert not budget.gaps
