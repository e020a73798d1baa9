import pytest

from admin_api.durations import lasted, took


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "under 1 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (90, "1 min 30 s"),
        (3_599.7, "1 h"),
        (9_000, "2 h 30 min"),
        (86_399, "1 d"),
        (90_000, "1 d 1 h"),
        (864_000, "10 d"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds: float, text: str) -> None:
    assert lasted(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0004, "0 ms"), (0.9994, "999 ms"), (0.9996, "1.0 s"), (59.94, "59.9 s"), (59.96, "1 min"), (125, "2 min 5 s")],
)
def test_the_time_of_a_request_is_rounded_into_its_unit(seconds: float, text: str) -> None:
    assert took(seconds) == text
