"""Glyph numbers of a PDF file become text by every way in which a ToUnicode map may say it (ISO 32000-1, 9.10.3)."""

import itertools

import pytest

from headgate.detectors.pdf_text import pdf_members


def _text(maps: str, shown: str, *, looks: int | None = None) -> str:
    """What is read of a string: all of it, or with so many looks at the clock that find time left."""
    left = itertools.repeat(True) if looks is None else itertools.chain([True] * looks, itertools.repeat(False))
    file = f"%PDF-1.7\nstream\n{maps}\nendstream\nstream\n{shown} Tj\nendstream\n".encode()
    *_, member = pdf_members(file, 1 << 20, lambda: next(left))
    return member.data.decode().split("\n")[0]


@pytest.mark.parametrize(
    ("maps", "shown"),
    [
        ("beginbfchar <01> <0068> <02> <0069> endbfchar", "<0102>"),
        ("beginbfchar <0001> <0068> <0002> <0069> endbfchar", "<00010002>"),
        ("beginbfchar <000001> <0068> <000002> <0069> endbfchar", "<000001000002>"),
        ("beginbfchar <00000001> <0068> <00000002> <0069> endbfchar", "<0000000100000002>"),
        ("beginbfrange <01> <02> <0068> endbfrange", "<0102>"),
        ("beginbfrange <01> <02> [<0068> <0069>] endbfrange", "<0102>"),
        ("beginbfchar <01> <00680069> endbfchar", "<01>"),
        ("beginbfchar <0001> <0068> <0002> <0069> endbfchar", "<0001000200>"),  # the last number is cut off
        ("beginbfchar <0001> <0068> <0002> <0069> endbfchar", "<000100090002>"),  # one that is not in the map
        (
            "beginbfrange <00000002> <00000001> <0041> endbfrange beginbfrange <0001> <0002> <0068> endbfrange",
            "<00010002>",
        ),
        ("beginbfchar <01> <0041> endbfchar beginbfrange <0001> <0002> <0068> endbfrange", "<00010002>"),
        ("beginbfrange <01> <02> [] endbfrange beginbfrange <01> <02> <0068> endbfrange", "<0102>"),
    ],
)
def test_the_text_of_glyph_numbers(maps: str, shown: str) -> None:
    assert _text(maps, shown) == "hi"


@pytest.mark.parametrize(
    "maps", ["beginbfrange <01> <02> [] endbfrange", "beginbfrange <01> <ff> <ffff> endbfrange", ""]
)
def test_a_map_that_gives_no_text_raises_nothing(maps: str) -> None:
    assert _text(maps, "(plain)")


def test_a_long_string_is_read_as_long_as_there_is_time() -> None:
    maps = "beginbfchar <01> <0068> endbfchar"

    assert len(_text(maps, f"<{'01' * 100_000}>")) == 100_000
    read = {_text(maps, f"<{'01' * 100_000}>", looks=looks).count("h") for looks in range(20)}
    assert len(read - {0, 100_000}) >= 4  # between two looks a sixth of it
