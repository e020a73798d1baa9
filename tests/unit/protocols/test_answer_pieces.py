"""A stream is cut where its pieces end, loses nothing, and is read together with what came before."""

import gc
import json
import sys
from types import FunctionType, ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.answer_head import StreamKind
from headgate.protocols.answer_pieces import WINDOW_CHARACTERS, Pieces, Windows

_EVENTS, _LINES = StreamKind.EVENTS, StreamKind.LINES


@pytest.mark.parametrize(
    ("kind", "fed", "ready", "waiting"),
    [
        (_EVENTS, [b"data: 1\n\ndata: 2"], b"data: 1\n\n", 7),
        (_EVENTS, [b"data: 1\r\n\r\n"], b"data: 1\r\n\r\n", 0),
        (_EVENTS, [b"data: 1\r\r"], b"data: 1\r\r", 0),
        (_EVENTS, [b"data: 1\r\ndata: 2\r\n"], b"", 18),
        (_EVENTS, [b"data: 1", b"\r", b"\n", b"\r", b"\n"], b"data: 1\r\n\r", 1),
        (_EVENTS, [b"data: 1\n", b"\nx"], b"data: 1\n\n", 1),
        (_LINES, [b'{"a":1}\n{"b"'], b'{"a":1}\n', 4),
        (_LINES, [b'{"a":', b"1}"], b"", 7),
    ],
)
def test_what_is_whole(kind: StreamKind, fed: list[bytes], ready: bytes, waiting: int) -> None:
    pieces = Pieces(kind)
    for data in fed:
        pieces.feed(data)
    assert pieces.take() == ready
    assert len(pieces) == waiting


@given(st.sampled_from(list(StreamKind)), st.lists(st.text("ab:\r\n ", max_size=6)))
def test_nothing_is_lost_or_moved(kind: StreamKind, texts: list[str]) -> None:
    pieces, taken = Pieces(kind), b""
    for text in texts:
        pieces.feed(text.encode())
        taken += pieces.take()
    pieces.finish()
    assert taken + pieces.take() == "".join(texts).encode()
    assert len(pieces) == 0


def _together(kind: StreamKind, *texts: str) -> str:
    windows = Windows()
    return json.dumps([windows.joined(kind, text) for text in texts][-1])


def _delta(text: str) -> str:
    return f"data: {json.dumps({'id': 'c1', 'choices': [{'delta': {'content': text}}]})}\n\n"


@pytest.mark.parametrize(
    ("kind", "texts", "seen"),
    [
        (_EVENTS, ["data: 4111\n\n", "data: 1111\n\n", "data: 1111\n\n", "data: 1111\n\n"], "4111111111111111"),
        (_EVENTS, ["data: 11\n\n", "data: 11\n\n", "data: 12\n\n"], "111112"),
        (_EVENTS, [_delta("41"), _delta("11") + _delta("11"), _delta("17")], "41111117"),
        (_EVENTS, ["data: a\ndata: b\n\n"], "a\\nb"),
        (_EVENTS, [": one\n\n", ": two\n\n"], ": one: two"),
        (_EVENTS, ["id: 1\n\n", "event: two\n\n"], "id: 1event: two"),
        (_LINES, ['{"s": "one"}\n', '{"s": "two"}\n{"s": "three"}\n'], "onetwothree"),
        (_LINES, ["plain\n", "text\n"], "plaintext"),
        (_LINES, ['\x1e{"s": "one"}\n', '\x1e{"s": "two"}\n'], "onetwo"),
        (_LINES, ['{"s": "one", "n": NaN}\n', '{"s": "two", "n": Infinity}\n'], "onetwo"),
        (_LINES, ['{"s": "one", "t": "\\ud83d"}\n', '{"s": "two", "t": "\\ude00"}\n'], "onetwo"),
        (_LINES, ['{"s": "one", "n": 1e999}\n', '{"s": "two", "n": ' + "1" * 9999 + "}\n"], "onetwo"),
    ],
)
def test_what_belongs_together_is_read_together(kind: StreamKind, texts: list[str], seen: str) -> None:
    assert seen in _together(kind, *texts)


def test_a_piece_with_two_readings_is_refused() -> None:
    """Which of the two texts a client goes on with nobody knows."""
    with pytest.raises(AmbiguousRequestError):
        _together(_EVENTS, 'data: {"s": "x", "s": "one"}\n\n')


@pytest.mark.parametrize("text", ["[" * 100_000, '{"s": "one"', "{one}"])
def test_what_is_no_json_is_a_text(text: str) -> None:
    assert text in json.loads(_together(_LINES, text))["$"]


def test_what_every_piece_repeats_is_one_label() -> None:
    assert _together(_EVENTS, *[_delta("x")] * 50).count("c1") == 1


@pytest.mark.parametrize("pieces", [["see", "ghp_", "secret"], ["a", "b", "ghp_", "se", "cr", "et"]])
def test_what_begins_with_a_piece_is_read_from_there(pieces: list[str]) -> None:
    windows = Windows()
    texts = [text for one in pieces for text in windows.joined(_EVENTS, _delta(one)).values()]
    assert "ghp_secret" in texts


def test_numbers_that_follow_each_other_are_not_read_from_each() -> None:
    windows = Windows()
    assert [len(windows.joined(_EVENTS, f'data: {{"price": "{one}.25"}}\n\n')) for one in range(9)] == [1] * 9


def test_a_window_has_an_end_and_a_piece_has_none() -> None:
    long = "x" * (2 * WINDOW_CHARACTERS)
    windows = Windows()
    windows.joined(_LINES, '{"s": "first"}\n')
    assert long in json.dumps(windows.joined(_LINES, f'{{"s": "{long}"}}\n'))
    windows.joined(_LINES, '{"s": "middle"}\n')
    kept = windows.joined(_LINES, '{"s": "end"}\n')
    assert len(next(iter(kept.values()))) == WINDOW_CHARACTERS + len("end")
    assert "middleendlast" in windows.joined(_LINES, '{"s": "last"}\n').values()


def test_places_are_not_kept_without_a_bound() -> None:
    windows = Windows()
    for number in range(2000):
        windows.joined(_LINES, f'{{"place {number}": "text"}}\n')
    assert len(windows._places) <= 1024
    assert len(windows._last) == len(windows._renewed) == 1


def test_what_is_kept_of_a_stream_is_bounded() -> None:
    """A destination that fills each event, or its names, would have the gate keep all of them."""
    windows = Windows()
    for number in range(200):
        windows.joined(_LINES, json.dumps({f"{number}": "x" * 100_000, f"{number}{'n' * 100_000}": "y"}))
    assert _kept_bytes(windows) < 4 << 20


def _kept_bytes(root: object) -> int:
    """The memory of ``root`` and of all data that it refers to. Unlike tracemalloc, it leaves out other threads."""
    found = {id(root): root}
    waiting = [root]
    while waiting:
        for one in gc.get_referents(waiting.pop()):
            if id(one) not in found and not isinstance(one, type | ModuleType | FunctionType):
                found[id(one)] = one
                waiting.append(one)
    return sum(map(sys.getsizeof, found.values()))


def test_many_other_places_do_not_push_one_out() -> None:
    windows = Windows()
    windows.joined(_LINES, '{"s": "one"}')
    windows.joined(_LINES, json.dumps({str(number): "x" for number in range(900)}))
    assert "onetwo" in json.dumps(windows.joined(_LINES, '{"s": "two"}'))


@pytest.mark.parametrize("text", ["x@a.example", "one", ""])
def test_pieces_that_are_taken_back_were_never_read(text: str) -> None:
    """Others come in their place; what stood there before is what the client got."""
    read, other = (Windows(), Windows())
    for windows in (read, other):
        windows.joined(_LINES, '{"s": "one", "t": "label"}')
        windows.joined(_LINES, '{"s": "two", "t": "label"}')
    read.joined(_LINES, json.dumps({"s": text, "t": text, "u": text}))
    read.take_back()
    for line in ('{"s": "three", "t": "label"}', '{"s": "four", "t": "end", "u": "new"}'):
        assert read.joined(_LINES, line) == other.joined(_LINES, line)


def test_pieces_that_are_taken_back_push_none_out() -> None:
    windows = Windows()
    windows.joined(_LINES, '{"s": "one"}')
    windows.joined(_LINES, json.dumps({str(number): "x" for number in range(2000)}))
    windows.take_back()
    assert "onetwo" in json.dumps(windows.joined(_LINES, '{"s": "two"}'))
