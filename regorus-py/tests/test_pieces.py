"""Labelled values, words in lists."""

from regorus import LISTED_LABEL_BYTES_MAX, LISTED_LINES_MAX, TEXT_SEPARATOR, LabelledPieces, ListedWords


def _values(buffer: bytes, bytes_max: int = 20) -> dict[bytes, list[bytes]]:
    pieces = LabelledPieces(buffer, bytes_max)
    return {
        label: [buffer[start:end] for start, end in pieces.places(number)] for number, label in enumerate(pieces.labels)
    }


def test_values_stand_by_their_labels() -> None:
    buffer = TEXT_SEPARATOR.join((b"name: a", b"mail: b: c", b"name: d", b"alone", b"empty: ", b"two\nlines: e"))
    assert _values(buffer) == {b"name": [b"a", b"d"], b"mail": [b"b: c"]}


def test_long_labels_and_values_are_left_out() -> None:
    buffer = TEXT_SEPARATOR.join((b"n" * 21 + b": a", b"name: " + b"a" * 21, b"name: " + b"a" * 20))
    assert _values(buffer) == {b"name": [b"a" * 20]}


def test_pieces_of_several_lines_are_told_with_where_their_values_begin() -> None:
    buffer = TEXT_SEPARATOR.join((b"a\nb: c", b"one", b"note: d\ne"))
    assert LabelledPieces(buffer, 20).several_lines == [(0, 0, 6), (15, 21, 24)]


def test_known_words_of_one_label_are_found_where_enough_stand_in_a_row() -> None:
    search = ListedWords({b"able", b"about", b"acid"})
    buffer = b"word1: Able\nword2: about\nother: acid\nword3: acid\nlong line of words\nabout"
    assert [[buffer[a:b] for a, b in words] for words in search.search(buffer, 3)] == [[b"Able", b"about", b"acid"]]
    assert search.search(b"a: able\na: unknown\na: about\na: acid", 3) == []
    assert search.search(b"a: able\na: about\na: acid\na: unknown", 3) == [[(3, 7), (11, 16), (20, 24)]]


def test_only_lines_of_one_word_count() -> None:
    search = ListedWords({b"able"})
    assert search.search(b"able.\nable able\na:able\na: able \n: able\na: b: able", 1) == []


def test_known_words_of_a_text_are_counted() -> None:
    search = ListedWords({b"able", b"about"})
    assert search.holds(b"1.Able, unknown; ABOUT", 2)
    assert not search.holds(b"able enable about1", 3)
    assert search.holds(b"unknown", 0)


def test_long_lists_and_labels_are_not_looked_at_further() -> None:
    search = ListedWords({b"able"})
    lines = b"able\n" * (LISTED_LINES_MAX + 2)
    assert [len(words) for words in search.search(lines, 1)] == [LISTED_LINES_MAX]
    for length, found in ((LISTED_LABEL_BYTES_MAX, 1), (LISTED_LABEL_BYTES_MAX + 1, 0)):
        assert len(search.search(b"a" * length + b": able", 1)) == found
