"""The texts of a value in one buffer: which are ordinary, their labels, their order, and the way back to each."""

import gc
import random
import weakref
from collections.abc import Callable, Iterator

import pytest
from regorus import TEXT_SEPARATOR, TextBuffer

type _Json = str | int | float | bool | list[_Json] | dict[str, _Json] | None
type _Path = tuple[str | int, ...]


def _label(name: str, above: str | None) -> bytes:
    return f"{above or ''}/{name}: ".encode()


def _walked(
    value: _Json, bytes_max: int = 10_000, pieces_max: int = 1_000
) -> tuple[TextBuffer, list[tuple[str, _Path]]]:
    buffer = TextBuffer(_label)
    return buffer, list(buffer.walk(value, "origin", True, bytes_max, pieces_max))


def _written(buffer: TextBuffer) -> list[bytes]:
    return buffer.bytes(0).split(TEXT_SEPARATOR) if len(buffer) else []


def test_texts_stand_in_their_order_with_their_labels() -> None:
    buffer, others = _walked({"to": ["a", "b"], "note": {"number": "c"}})
    # A name that was not there before is written once for a member without a text of its own.
    assert _written(buffer) == [b"/to: ", b"to/to: a", b"to/to: b", b"/note: ", b"note/number: c"]
    assert others == []
    assert buffer.piece(2) == ("origin", ("to", 1), False, *_places(buffer, 2))


def _places(buffer: TextBuffer, index: int) -> tuple[int, int, int]:
    """By the texts before it; labels end with a colon and a space."""
    texts = _written(buffer)
    start = sum(len(one) + len(TEXT_SEPARATOR) for one in texts[:index])
    return start, start + texts[index].index(b": ") + 2, start + len(texts[index])


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (99_999, None),
        (100_000, b"100000"),
        (-100_000, b"-100000"),
        (2**70, b"1180591620717411303424"),
        (123456.0, b"123456"),
        (123456.5, None),
        (True, None),
        (None, None),
        ([ord(one) for one in "spelled!"], b"spelled!"),
        ([1, 2, 3, 4, 5, 6, 7, 8], None),
        ([True] * 9, None),
        ([0xD800] * 9, None),
    ],
)
def test_what_counts_as_a_text(value: _Json, written: bytes | None) -> None:
    buffer, others = _walked([value])
    assert (_written(buffer), others) == ([] if written is None else [b"/: " + written], [])


@pytest.mark.parametrize("text", ["é", '{"a": 1}', " \t[ 1", '\x1c{"', "[]", "\ud800"])
def test_other_texts_are_left_to_who_walks(text: str) -> None:
    buffer, others = _walked({"a": ["x", text, "y"]})
    assert others == [(text, ("a", 1))]
    assert _written(buffer) == [b"/a: ", b"a/a: x", b"a/a: y"]


@pytest.mark.parametrize("text", ["[masked]", "{name}", "[", " {", "[INFO] started"])
def test_what_cannot_begin_json_is_an_ordinary_text(text: str) -> None:
    buffer, others = _walked({"a": text})
    assert (_written(buffer), others) == ([f"/a: {text}".encode()], [])


def test_what_a_member_of_each_name_is_stands_there_once() -> None:
    buffer, others = _walked([{"open": True}, {"open": False, "kept": True}, {"open": True}, [True], {"kept": None}])
    assert _written(buffer) == [b"/open: true", b"/open: false", b"/kept: true"]
    assert others == []
    assert buffer.piece(0) == ("origin", (0, "open"), False, *_places(buffer, 0))


def test_what_a_member_is_has_to_find_place() -> None:
    buffer, _ = _walked({"open": True, "kept": True}, pieces_max=1)
    assert _written(buffer) == [b"/open: true"]


def test_texts_added_during_a_walk_stand_between() -> None:
    buffer = TextBuffer(_label)
    for text, path in buffer.walk(["a", "é", "b"], "walked", False, 100, 100):
        buffer.add("added", "name", b"label: ", f"{text}{path}".encode(), True, True)
    assert _written(buffer) == [b"/: a", "label: é(1,)".encode(), b"/: b"]
    assert buffer.piece(1)[:3] == ("added", None, True)


def test_a_text_that_has_no_place_ends_the_walk() -> None:
    buffer, others = _walked(["a", "b", "c", "d"], pieces_max=2)
    assert (_written(buffer), others) == ([b"/: a", b"/: b"], [("c", (2,))])


def test_a_text_over_the_bytes_is_left_to_who_walks() -> None:
    buffer, others = _walked(["a", "b" * 50, "c"], bytes_max=20)
    assert (_written(buffer), others) == ([b"/: a", b"/: c"], [("b" * 50, (1,))])


def test_a_long_name_is_asked_about_each_time() -> None:
    asked: list[str] = []

    def label(name: str, above: str | None) -> bytes:
        asked.append(name)
        return b""

    assert list(TextBuffer(label).walk([{"n" * 65: "a", "short": "b"}] * 3, "", True, 1000, 1000)) == []
    assert (asked.count("n" * 65), asked.count("short")) == (3, 1)
    # Two names that make a long label together.
    assert list(TextBuffer(label).walk({"m" * 60: [{"value": "a"}] * 3}, "", True, 1000, 1000)) == []
    assert asked.count("value") == 3


def test_an_error_in_a_label_ends_the_walk() -> None:
    def label(name: str, above: str | None) -> bytes:
        raise RuntimeError(name)

    with pytest.raises(RuntimeError, match="to"):
        list(TextBuffer(label).walk({"to": "a"}, "", True, 1000, 1000))


def test_a_piece_that_is_not_there_is_refused() -> None:
    with pytest.raises(IndexError):
        TextBuffer(_label).piece(0)
    assert TextBuffer(_label).bytes(3) == b""


def _values(chance: random.Random, depth: int = 0) -> _Json:
    match chance.randrange(6 if depth < 4 else 3):
        case 0 | 1:
            return chance.choice(["", "plain", "é", "[", "two words"])
        case 2:
            return chance.choice([5, 10**6, 2.5, None, True])
        case 3 | 4:
            return [_values(chance, depth + 1) for _ in range(chance.randrange(5))]
        case _:
            return {chance.choice(["a", "value", "longer_name"]): _values(chance, depth + 1) for _ in range(4)}


def _texts(value: _Json, path: _Path = ()) -> Iterator[tuple[_Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _texts(item, (*path, position))
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from _texts(member, (*path, name))


def test_each_text_is_found_again_by_its_offset() -> None:
    chance = random.Random(5)  # noqa: S311 - the same values each time
    for _ in range(300):
        value = _values(chance)
        buffer = TextBuffer(_label)
        for other, its_path in buffer.walk(value, "", True, 10_000, 1_000):
            buffer.add(its_path, None, b"", other.encode(), False, True)
        data, found = buffer.bytes(0), []
        for index in range(len(buffer)):
            origin, path, _, start, text_start, end = buffer.piece(index)
            assert all(buffer.index_at(offset) == index for offset in (start, text_start, end))
            if text := data[text_start:end].decode():
                found.append((origin if path is None else path, text))
        wanted = [(path, text) for path, text in _texts(value) if text]
        assert [one for one in found if not one[1].isdigit() and one[1] != "true"] == wanted


class _Holder:
    """Has the buffer that calls it."""

    def __init__(self) -> None:
        self.buffer = TextBuffer(self.label)
        self.held: list[object] = []

    def label(self, name: str, above: str | None) -> bytes:
        return _label(name, above)


def _label_alone(holder: _Holder) -> None:
    assert list(holder.buffer.walk({"to": "a"}, "origin", True, 100, 100)) == []


def _origin(holder: _Holder) -> None:
    holder.buffer = TextBuffer(_label)
    holder.buffer.add(holder, None, b"", b"a", False, True)
    list(holder.buffer.walk("b", holder, True, 100, 100))


def _unfinished_walk(holder: _Holder) -> None:
    holder.buffer = TextBuffer(_label)
    walk = holder.buffer.walk(["\u0430", {"to": holder}], "origin", True, 100, 100)
    next(walk)
    holder.held.append(walk)


@pytest.mark.parametrize("tie", [_label_alone, _origin, _unfinished_walk])
def test_a_cycle_is_collected(tie: Callable[[_Holder], None]) -> None:
    holder = _Holder()
    tie(holder)
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None
