"""What agents sent cannot speak to the reviewer's terminal."""

import pytest

from headgate.cli.tables import safe, show_fields, show_json, show_table


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 漢", "plain ü 漢"),
        ("\x1b[2K\rapproved", "\\u{1b}[2K\\u{d}approved"),
        ("a\u202eb", "a\\u{202e}b"),
        ("zero\u200bwidth", "zero\\u{200b}width"),
        ("line\nbreak", "line\\u{a}break"),
        (None, ""),
        (3, "3"),
    ],
)
def test_what_a_terminal_would_obey_is_made_visible(text: object, shown: str) -> None:
    assert safe(text) == shown


def test_a_table_lines_up_and_is_safe(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(("A", "LONG"), [("xyz", "\x1b[31m"), ("x", 1)])
    assert capsys.readouterr().out == "A    LONG\nxyz  \\u{1b}[31m\nx    1\n"


def test_fields_without_a_value_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    show_fields([("one", "x"), ("nothing", None)])
    assert capsys.readouterr().out == "one  x\n"


def test_json_is_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    show_json({"a": "\u202e\x9b"})
    assert capsys.readouterr().out.isascii()
