"""What is remembered of slow calls, and for how long."""

import pytest

from headgate.kernel import slowness
from headgate.kernel.slowness import SLOW_MILLISECONDS, TOLERATED_MILLISECONDS, Slowness


def test_fast_calls_leave_nothing_behind() -> None:
    known = Slowness()
    for _ in range(1000):
        known.note("agt_a", SLOW_MILLISECONDS)
    assert not known.expects("agt_a")


def test_one_call_that_is_slow_by_chance_among_fast_ones_changes_nothing() -> None:
    known = Slowness()
    for number in range(1000):
        known.note("agt_a", TOLERATED_MILLISECONDS if number % 10 == 0 else 0.3)
        assert not known.expects("agt_a")


@pytest.mark.parametrize(("milliseconds", "calls"), [(3.0, 11), (7.0, 3), (13.0, 1)])
def test_calls_that_are_slow_on_an_average_are_expected_to_be(milliseconds: float, calls: int) -> None:
    known = Slowness()
    counted = 0
    while not known.expects("agt_a"):
        known.note("agt_a", milliseconds)
        counted += 1
    assert counted == calls


@pytest.mark.parametrize(("milliseconds", "calls"), [(13.0, 1), (45.0, 18), (100.0, 27)])
def test_a_slow_call_is_forgotten_with_the_fast_ones_after_it(milliseconds: float, calls: int) -> None:
    known = Slowness()
    known.note("agt_a", milliseconds)
    counted = 0
    while known.expects("agt_a"):
        known.note("agt_a", 0.1)
        counted += 1
    assert counted == calls
    assert not known.expects("agt_b")


def test_the_memory_of_slow_agents_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slowness, "_AGENTS_MAX", 3)
    known = Slowness()
    for number in range(10):
        known.note(f"agt_{number}", SLOW_MILLISECONDS + TOLERATED_MILLISECONDS + 1)
    assert [number for number in range(10) if known.expects(f"agt_{number}")] == [7, 8, 9]
