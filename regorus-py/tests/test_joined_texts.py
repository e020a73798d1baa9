"""Texts of several places read as one: their edges, and the lines from the beginnings of credentials."""

import pytest
from regorus import BytePattern, TextBuffer, edges_of, joined_fields, joined_lines

_BEGINNINGS = BytePattern(rb"(?i)ghp_|akia")
_SENTENCE = "please look at the report of the last month, then (and only then) tell us about it."


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("ghp_0123", "ghp_0123"),
        (_SENTENCE, "please look at\nus about it."),
        ("g h p _ a b c d e f g h i j k l", "g h p _ a b c d e f g h i j k l"),
        ("a b c d e f g h i j", "a b c d e f g h i j"),
        ("é" * 300, "é" * 128 + "\n" + "é" * 128),
        ("größe über allem was wir hier noch sagen können", "größe über allem\nnoch sagen können"),
        ("one two three four five six seven eight.,;:", "one two three four five six seven eight.,;:"),
        ('one "two three four, five six seven eight.")', 'one "two three\nsix seven eight.")'),
        ("one ((two three four five six seven eight", "one ((two three four five six seven eight"),
        ("one two three four five six seven", "one two three four five six seven"),
        (f"one two three four five six seven {'e' * 25}", f"one two three four five six seven {'e' * 25}"),
        ("one two three four five six seven eight9", "one two three four five six seven eight9"),
        ("one two three four five six se\u0301ven eight", "one two three four five six se\u0301ven eight"),
        (f"{_SENTENCE} {'x' * 400}", f"{_SENTENCE} {'x' * 44}\n{'x' * 128}"),
    ],
)
def test_of_a_text_what_may_go_on_in_another_is_kept(text: str, edges: str) -> None:
    assert edges_of(text) == edges


def test_a_line_goes_from_a_beginning_to_each_end_behind_it() -> None:
    assert joined_lines(["note", "ghp_", "01", "23"], _BEGINNINGS, 0) == "noteghp_0123\nghp_01\nghp_0123"


def test_a_beginning_across_two_pieces_counts_at_the_start_of_a_piece_or_a_word() -> None:
    assert joined_lines(["gh", "p_", "x"], _BEGINNINGS, 0) == "ghp_x\nghp_x"
    assert joined_lines(["a gh", "p_", "x"], _BEGINNINGS, 0) == "a ghp_x\nghp_x"
    assert joined_lines(["agh", "p_", "x"], _BEGINNINGS, 0) == "aghp_x"


def test_places_are_those_of_characters() -> None:
    assert joined_lines(["é€", "ghp_", "ü", "x"], _BEGINNINGS, 0) == "é€ghp_üx\nghp_ü\nghp_üx"
    assert joined_lines(["é€", "ghp_", "ü", "x"], _BEGINNINGS, 8) == "é€ghp_üx\nghp_üx"


def test_lines_end_at_their_limits() -> None:
    short = joined_lines(["ghp_", *"0" * 40], _BEGINNINGS, 0).splitlines()
    assert [len(line) for line in short] == [44, *range(5, 21)]
    long = joined_lines(["ghp_", "0" * 300, "0" * 300], _BEGINNINGS, 0).splitlines()
    assert [len(line) for line in long] == [604, 304]
    assert sum(len(line) for line in joined_lines(["ghp_"] * 4000, _BEGINNINGS, 0).splitlines()[1:]) <= 16 << 10


def _buffer(value: object) -> TextBuffer:
    buffer = TextBuffer(lambda name, above: f"{name}: ".encode())
    assert list(buffer.walk(value, "origin", True, 10_000, 1_000)) == []
    return buffer


def test_fields_are_joined_in_their_order_and_by_their_names() -> None:
    buffer = _buffer({"part1": "gh", "note": "x", "part2": "p_0"})
    assert joined_fields([buffer], _BEGINNINGS, 100) == "ghxp_0\nghp_0\nghp_0"
    assert joined_fields([buffer, _buffer(["y"])], _BEGINNINGS, 100) == "ghxp_0y\nghp_0\nghp_0"


def test_one_text_is_not_joined_and_more_than_the_limit_is_left_out() -> None:
    assert joined_fields([_buffer(["ghp_"])], _BEGINNINGS, 100) is None
    assert joined_fields([_buffer(["ab", "cd", "ef"])], _BEGINNINGS, 5) == "abcd"
