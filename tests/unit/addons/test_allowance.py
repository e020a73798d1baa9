"""So much at once, so much a second, and nothing is saved up."""

from addons.allowance import Allowance


def test_a_burst_comes_back_with_time() -> None:
    allowance = Allowance(20, 10, 100.0)
    assert allowance.spend(20, 100.0)
    assert not allowance.has_left(1, 100.0)
    assert not allowance.spend(1, 100.0)
    assert allowance.has_left(9, 101.0)
    assert not allowance.has_left(10, 101.0)
    assert allowance.spend(9, 101.0)
    assert not allowance.spend(1, 101.0)


def test_silence_saves_nothing_up() -> None:
    allowance = Allowance(20, 10, 0.0)
    assert allowance.spend(1, 3_600.0)
    assert allowance.spend(19, 3_600.0)
    assert not allowance.spend(1, 3_600.0)


def test_what_comes_at_the_rate_goes_on_for_ever() -> None:
    allowance = Allowance(20, 10, 0.0)
    assert all(allowance.spend(10, float(second)) for second in range(1, 1_000))


def test_what_is_given_back_makes_no_more_than_the_burst() -> None:
    allowance = Allowance(20, 10, 0.0)
    assert allowance.spend(-1_000, 0.0)
    assert allowance.spend(20, 0.0)
    assert not allowance.spend(1, 0.0)


def test_untouched_is_as_new() -> None:
    allowance = Allowance(20, 10, 0.0)
    allowance.spend(15, 0.0)
    assert not allowance.is_untouched(1.0)
    assert allowance.is_untouched(1.5)
