"""What agents sent cannot speak to the reviewer's terminal."""

import io

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


ROWS = [
    ("apr_01a20aca-580f-7b4c-a709-d32fa3c114a9", "pending", "", "2026-11-23T23:42:44.123Z", "x" * 90),
    ("apr_01a20aca-5857-7382-8cbd-316c21d23cdf", "denied", "", "2026-11-23T23:42:45.000Z", "short"),
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _on_a_terminal(monkeypatch: pytest.MonkeyPatch, columns: int, **environment: str) -> str:
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"COLUMNS": str(columns), **environment}.items():
        monkeypatch.setenv(name, value)
    show_table(("APPROVAL", "STATUS", "SAME", "AT", "WHY"), ROWS)
    return screen.getvalue()


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_table_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    lines = _on_a_terminal(monkeypatch, columns, NO_COLOR="1").splitlines()
    assert max(map(len, lines)) == columns
    assert "SAME" not in lines[0]
    assert lines[1].startswith("apr_01a2…14a9  pending  11-23 23:42:44  xxx")
    assert lines[1].endswith("x…")
    assert lines[2] == "apr_01a2…3cdf  denied   11-23 23:42:45  short"


def test_states_have_colors_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "\x1b[31mdenied" in _on_a_terminal(monkeypatch, 80)
    assert "\x1b" not in _on_a_terminal(monkeypatch, 80, NO_COLOR="1")
    monkeypatch.undo()
    show_table(("APPROVAL", "STATUS", "SAME", "AT", "WHY"), ROWS)
    whole = capsys.readouterr().out
    assert "\x1b" not in whole
    assert "x" * 90 in whole
    assert "apr_01a20aca-580f-7b4c-a709-d32fa3c114a9" in whole
