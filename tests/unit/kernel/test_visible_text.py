"""Nothing that people are shown hides."""

import pytest

from headgate.kernel.visible_text import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, with äöü and 漢字", "plain, with äöü and 漢字"),
        ("de\u202elete", "de\\u{202e}lete"),
        ("a\x1b[2Jb", "a\\u{1b}[2Jb"),
        ("pay\u200bpal", "pay\\u{200b}pal"),
        ("filler\u3164, braille\u2800", "filler\\u{3164}, braille\\u{2800}"),
        ("selector\ufe0f\U000e0101", "selector\\u{fe0f}\\u{e0101}"),
        ("mongolian\u180b\u180f", "mongolian\\u{180b}\\u{180f}"),
        ("reserved\u2065\ufff0\U000e0002\U000e0fff", "reserved\\u{2065}\\u{fff0}\\u{e0002}\\u{e0fff}"),
        ("one\ntwo", "one\\u{a}two"),
    ],
)
def test_what_hides_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_what_is_kept_stays() -> None:
    assert visible("one\ntwo\u202e", frozenset("\n")) == "one\ntwo\\u{202e}"
