"""Lists of small numbers in a value."""

from regorus import integer_lists


def test_lists_of_small_numbers_with_their_names() -> None:
    value = {"key": [1, 2], "more": {"other": [[255, 0], [1, 256], [1, True], [1, 2, 3]]}}
    assert sorted(integer_lists(value, 2, 100), key=str) == [("key", b"\x01\x02"), ("other", b"\xff\x00")]
    assert integer_lists([1, 2], 2, 100) == [(None, b"\x01\x02")]
    assert integer_lists({"a": {"b": [1, 2]}}, 2, 2) == []
