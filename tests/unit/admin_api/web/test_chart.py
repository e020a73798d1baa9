"""Bars keep their place and their order of height, whatever the figures are."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admin_api.web.chart import WIDTH, bars

_BAR = re.compile(r"M(\d+) 24h3v-(\d+)h-3z")


@pytest.mark.parametrize(
    ("values", "path"),
    [([], ""), ([0, 0], ""), ([0, 5], "M4 24h3v-22h-3z"), ([1, 1000], "M0 24h3v-2h-3zM4 24h3v-22h-3z")],
)
def test_the_path(values: list[int], path: str) -> None:
    drawn = bars(values)
    assert (drawn.path, drawn.width, drawn.highest) == (path, len(values) * WIDTH, max(values, default=0))


@given(st.lists(st.integers(min_value=0, max_value=10**9), max_size=60))
def test_each_value_above_zero_is_seen_and_none_is_taller_than_a_larger_one(values: list[int]) -> None:
    heights = {int(place) // WIDTH: int(height) for place, height in _BAR.findall(bars(values).path)}
    assert set(heights) == {place for place, value in enumerate(values) if value}
    ordered = [heights[place] for place in sorted(heights, key=lambda place: values[place])]
    assert ordered == sorted(ordered)
    assert all(2 <= height <= 22 for height in ordered)
