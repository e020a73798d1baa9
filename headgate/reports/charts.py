"""Charts as SVG, drawn by hand: the same picture in HTML and PDF, the same bytes for the same figures.

Presentation attributes only, so that a strict Content-Security-Policy needs no exception for styles. Colours are those
of Okabe and Ito (2008), which colour-blind readers tell apart; each bar is labelled as well.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from msgspec import Struct

from headgate.kernel.visible_text import visible

_WIDTH: Final = 640
FONT: Final = "'Source Sans Pro', 'Source Sans 3', system-ui, sans-serif"
"""What lacks here is the reader's browser's to find; a PDF names its other fonts (``pdf_writer``)."""
_INK: Final = "#1d2733"
_SOFT: Final = "#5b6775"
_RULE: Final = "#d9dee4"
_MOST_LABEL: Final = 34


class Series(Struct, frozen=True):
    """``name`` is the key of the figures, ``label`` what is printed."""

    name: str
    label: str
    colour: str


DECISIONS: Final = (
    Series("allow", "Allowed", "#56a3c9"),
    Series("require_approval", "Held for a person", "#e69f00"),
    Series("deny", "Denied", "#c0392b"),
)
NEUTRAL: Final = Series("value", "", "#3b6e8f")


def columns_chart(points: Sequence[tuple[str, Mapping[str, int]]], series: Sequence[Series]) -> str:
    """Stacked columns over time, with a legend and three lines to read them by."""
    height, bottom, left, top = 230, 186, 46, 34
    most = max((sum(values.get(one.name, 0) for one in series) for _, values in points), default=0)
    ceiling = _ceiling(most)
    step = (_WIDTH - left - 8) / max(len(points), 1)
    width = max(min(step * 0.72, 44), 1)
    shapes = [_legend(series, left)]
    for part in range(0, 5):
        y = bottom - (bottom - top) * part / 4
        shapes.append(f'<line x1="{left}" y1="{y:.1f}" x2="{_WIDTH}" y2="{y:.1f}" stroke="{_RULE}" stroke-width="1"/>')
        shapes.append(_text(left - 7, y + 3.5, f"{ceiling * part / 4:,.0f}", size=10.5, colour=_SOFT, anchor="end"))
    every = -(-len(points) // 10) or 1
    for index, (label, values) in enumerate(points):
        x, y = left + step * (index + 0.5), float(bottom)
        for one in series:
            tall = (bottom - top) * values.get(one.name, 0) / ceiling
            if tall:
                y -= tall
                shapes.append(
                    f'<rect x="{x - width / 2:.2f}" y="{y:.2f}" width="{width:.2f}" height="{tall:.2f}"'
                    f' fill="{one.colour}"/>'
                )
        if index % every == 0:
            shapes.append(_text(x, bottom + 17, label, size=10.5, colour=_SOFT, anchor="middle"))
    shapes.append(f'<line x1="{left}" y1="{bottom}" x2="{_WIDTH}" y2="{bottom}" stroke="{_SOFT}" stroke-width="1"/>')
    return _svg(height - 14, shapes)


def bars_chart(bars: Sequence[tuple[str, Mapping[str, int]]], series: Sequence[Series], *, left: int = 190) -> str:
    """Stacked bars, one below the other, each with its name and its sum."""
    row, top = 25, 30 if len(series) > 1 else 4
    most = max((sum(values.get(one.name, 0) for one in series) for _, values in bars), default=0) or 1
    room = _WIDTH - left - 62
    shapes = [_legend(series, 0)] if len(series) > 1 else []
    for index, (name, values) in enumerate(bars):
        y, x = top + index * row, float(left)
        shapes.append(_text(left - 9, y + 15, _short(name), size=12, anchor="end"))
        shapes.append(f'<rect x="{left}" y="{y + 3}" width="{room}" height="16" fill="#f1f4f7"/>')
        for one in series:
            wide = room * values.get(one.name, 0) / most
            if wide:
                shapes.append(f'<rect x="{x:.2f}" y="{y + 3}" width="{wide:.2f}" height="16" fill="{one.colour}"/>')
                x += wide
        total = sum(values.get(one.name, 0) for one in series)
        shapes.append(_text(_WIDTH, y + 15.5, f"{total:,}", size=12, anchor="end", weight=600))
    return _svg(top + len(bars) * row + 4, shapes)


def told(points: Sequence[tuple[str, Mapping[str, int]]], series: Sequence[Series]) -> str:
    """The chart in words."""
    return "; ".join(
        f"{visible(name)}: " + ", ".join(f"{values.get(one.name, 0):,} {one.label.lower()}".strip() for one in series)
        for name, values in points
    )


def _legend(series: Sequence[Series], x: float) -> str:
    shapes: list[str] = []
    for one in series:
        shapes.append(f'<rect x="{x:.1f}" y="4" width="11" height="11" rx="2" fill="{one.colour}"/>')
        shapes.append(_text(x + 16, 13.5, one.label, size=11.5, colour=_INK))
        x += 32 + 6.2 * len(one.label)
    return "".join(shapes)


def _text(
    x: float, y: float, text: str, *, size: float, colour: str = _INK, anchor: str = "start", weight: int = 400
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"'
        f' font-weight="{weight}">{escape(visible(text))}</text>'
    )


def _svg(height: int, shapes: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
        f' font-family="{FONT}">{"".join(shapes)}</svg>'
    )


def _ceiling(most: int) -> int:
    """The next number that four lines divide into whole ones: 4, 8, 12, 20, 40, 80, 120, 200…"""
    power = 1
    while True:
        for first in (4, 8, 12, 20):
            if first * power >= most:
                return first * power
        power *= 10


def _short(name: str) -> str:
    shown = visible(name)
    return shown if len(shown) <= _MOST_LABEL else shown[: _MOST_LABEL - 1] + "…"
