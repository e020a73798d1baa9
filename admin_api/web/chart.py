"""Charts as the paths of an SVG, drawn here: bars that stand side by side, in a viewBox of 4 units a bar."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

WIDTH: Final = 4
_BAR: Final = 3
_HEIGHT: Final = 24


class Bars(Struct, frozen=True):
    """``path`` is of a viewBox of ``width`` times 25, whose last line is the base."""

    path: str
    width: int
    highest: int


def bars(values: Sequence[int]) -> Bars:
    """The highest value has the whole height, and a value above zero is never drawn as nothing."""
    highest = max(values, default=0)
    path = "".join(
        f"M{place * WIDTH} {_HEIGHT}h{_BAR}v-{height}h-{_BAR}z"
        for place, value in enumerate(values)
        if (height := _height(value, highest))
    )
    return Bars(path, len(values) * WIDTH, highest)


def _height(value: int, highest: int) -> int:
    return max(2, round(value / highest * (_HEIGHT - 2))) if value else 0
