"""How long a dead part is waited for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.runtime.backoff import Restarts


@pytest.mark.parametrize(("deaths", "seconds"), [(1, 0.1), (2, 0.2), (3, 0.4), (7, 6.4), (8, 10.0), (5000, 10.0)])
def test_the_wait_doubles_up_to_a_limit(deaths: int, seconds: float) -> None:
    assert Restarts(deaths).delay_seconds(random=0.0) == pytest.approx(seconds)


def test_a_settled_life_forgets_the_deaths_before() -> None:
    restless = Restarts().after_death(0.5).after_death(0.5).after_death(0.5)
    assert restless.in_a_row == 3
    assert restless.after_death(10.0).in_a_row == 1


@given(deaths=st.integers(1, 10_000), random=st.floats(0, 1, exclude_max=True))
def test_jitter_takes_at_most_half(deaths: int, random: float) -> None:
    full = Restarts(deaths).delay_seconds(0.0)
    assert full / 2 <= Restarts(deaths).delay_seconds(random) <= full
