"""Keywords in bytes: their order, their case, the borders of words."""

from regorus import KeywordSearch


def _found(text: bytes, *words: tuple[bytes, bool, bool]) -> list[tuple[int, bytes]]:
    search = KeywordSearch([*words], b"abcdefghijklmnopqrstuvwxyz")
    return [(end, words[number][0]) for end, number in search.search(text)]


def test_all_that_overlap_are_found_in_the_order_of_their_ends_and_the_longest_first() -> None:
    words = [(word, False, False) for word in (b"key", b"api_key", b"api")]
    assert _found(b"an api_key", *words) == [(6, b"api"), (10, b"api_key"), (10, b"key")]


def test_case_is_that_of_ascii() -> None:
    assert _found("TOKEN É é".encode(), (b"token", False, False), ("é".encode(), False, False)) == [
        (5, b"token"),
        (11, "é".encode()),
    ]


def test_a_word_may_have_to_begin_and_to_end_there() -> None:
    text = b"id sid idle"
    assert _found(text, (b"id", True, False)) == [(2, b"id"), (9, b"id")]
    assert _found(text, (b"id", False, True)) == [(2, b"id"), (6, b"id")]
    assert _found(text, (b"id", True, True)) == [(2, b"id")]


def test_a_keyword_at_the_end_of_a_large_text_is_found() -> None:
    assert _found(b"\xff" * 100_000 + b"token", (b"token", True, True)) == [(100_005, b"token")]


def test_slices_find_what_the_whole_does() -> None:
    words = [(b"key", True, True), (b"api_key", False, False), (b"ey a", False, False)]
    search = KeywordSearch(words, b"abcdefghijklmnopqrstuvwxyz")
    text = b"key api_key keys monkey a api_keykey key"
    for size in range(1, len(text) + 2):
        found = [one for start in range(0, len(text), size) for one in search.search(text, start, start + size)]
        assert found == search.search(text), size
