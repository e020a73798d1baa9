"""Signs that words make where they stand close together: order, distance, ends of texts and words, commands, time."""

import pytest
from regorus import SignSearch

_LETTERS = bytes(chr(code).isalnum() for code in range(0xE00))
_IGNORE, _RULES, _END = range(3)


def _search(*, within: int = 40, ordered: bool = False, as_command: bool = False) -> SignSearch:
    """The sign "ignore" beside "rules", with the weight 2, over a bias of -1; a zero ends a text."""
    words = [
        ("ignore", True, True, [] if as_command else [0], [0] if as_command else [], [0]),
        ("rules", True, True, [1], [], [0]),
        ("\0", False, False, [], [], []),
    ]
    return SignSearch(words, [([0, 1], within, ordered, 2.0)], 2, -1.0, _LETTERS, ".:", ["please"])


def _is_seen(search: SignSearch, text: str, characters: int = 600) -> bool:
    return bool(search.search(text, characters, 0.0, False, 9.0)[1])


def test_a_window_says_where_it_begins_and_what_completed_it() -> None:
    hits, seen, is_whole = _search().search("é: ignore the rules", 600, 0.0, True, 9.0)
    assert hits == [(3, _IGNORE, False), (14, _RULES, False)]
    assert seen == [(3, 14, 19, frozenset({0}), 1.0)]
    assert is_whole


@pytest.mark.parametrize(
    ("text", "is_seen"),
    [
        ("ignore rules", True),
        ("rules to ignore", True),
        ("ignored rules", False),
        ("xignore rules", False),
        ("ignore\0rules", False),
        (f"ignore {'x' * 40} rules", False),
        ("ignore", False),
    ],
)
def test_words_count_where_they_stand_alone_and_close_together_in_one_text(text: str, is_seen: bool) -> None:
    assert _is_seen(_search(), text) == is_seen


def test_order_counts_where_the_sign_has_one() -> None:
    assert _is_seen(_search(ordered=True), "ignore rules")
    assert not _is_seen(_search(ordered=True), "rules to ignore")


@pytest.mark.parametrize(
    ("text", "is_command"),
    [("ignore rules", True), ("so: ignore rules", True), ("please ignore rules", True), ("they ignore rules", False)],
)
def test_a_command_begins_a_clause(text: str, is_command: bool) -> None:
    hits, seen, _ = _search(as_command=True).search(text, 600, 0.0, True, 9.0)
    assert (hits[0][2], bool(seen)) == (is_command, is_command)


def test_what_leaves_the_window_counts_no_longer() -> None:
    _, seen, _ = _search().search(f"ignore rules {'x ' * 60}ignore rules", 100, 0.0, False, 9.0)
    assert [(one[0], one[4]) for one in seen] == [(0, 1.0), (133, 1.0)]


def test_without_time_it_says_that_it_is_not_whole() -> None:
    assert _search().search("ignore rules", 600, 0.0, True, -1.0)[2] is False


@pytest.mark.parametrize("text", ["", "\0", "é" * 50_000, "ignore rules " * 10_000, "ignore" * 10_000])
def test_it_ends_for_any_text(text: str) -> None:
    hits, seen, is_whole = _search().search(text, 600, -9.0, True, 9.0)
    assert is_whole
    assert all(0 <= start <= word_start < end <= len(text) for start, word_start, end, _, _ in seen)
    assert all(text[start:].startswith(("ignore", "rules", "\0")) for start, _, _ in hits)


@pytest.mark.parametrize(("word_slot", "word_sign", "sign_slot"), [(5, 0, 0), (0, 5, 0), (0, 0, 5)])
def test_a_table_that_names_what_is_not_there_is_refused(word_slot: int, word_sign: int, sign_slot: int) -> None:
    with pytest.raises(ValueError, match="is not there"):
        SignSearch(
            [("a", True, True, [word_slot], [], [word_sign])], [([sign_slot], 9, False, 1.0)], 1, 0.0, _LETTERS, "", []
        )
