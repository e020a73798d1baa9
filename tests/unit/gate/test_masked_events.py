"""Replacing what was found in the data of events: in place, or not at all."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.gate.masked_events import EVENTS, data_of_events, masked_events
from headgate.policies.model import FoundText

_STREAM = (b"Content-Type", b"text/event-stream; charset=utf-8")
_MAIL = "maria.keller@example.com"
_MASK = "[masked: email]"


def _found(events: bytes) -> list[FoundText]:
    """Each address in a text, or in a member ``t`` of JSON."""
    found: list[FoundText] = []
    for number, data in enumerate(data_of_events(events)):
        path, text = (("t",), data["t"]) if isinstance(data, dict) else ((), data)
        places = re.finditer(re.escape(_MAIL), str(text))
        found += [FoundText((EVENTS, number, *path), one.start(), one.end(), "email") for one in places]
    return found


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "event",
    [
        "data: write to MAIL, ü",
        "data:MAIL",
        'data: {"t": "write to MAIL",  "n": 1.50}',
        "event: delta\nid: 7\ndata: one\ndata: MAIL and\ndata\ndata:  MAIL\n: a comment\nretry: 5",
        'data: {\ndata:   "t": "MAIL"\ndata: }',
        ": only a comment\n\ndata: MAIL",
    ],
)
def test_data_is_replaced_and_all_else_stays_byte_by_byte(event: str, end: str) -> None:
    text = f"data: before\n\n{event}\n\ndata: after\n\n".replace("\n", end)
    events = text.replace("MAIL", _MAIL).encode()
    made = masked_events([_STREAM], events, _found(events))

    assert made is not None
    assert made.body == text.replace("MAIL", _MASK).encode()
    assert (made.count, made.kinds) == (text.count("MAIL"), ("email",))


def test_the_last_event_may_have_no_end_and_the_first_a_byte_order_mark() -> None:
    events = f"\ufeffdata: {_MAIL}\n\ndata: {_MAIL}".encode()
    made = masked_events([_STREAM], events, _found(events))

    assert made is not None
    assert made.body == f"\ufeffdata: {_MASK}\n\ndata: {_MASK}".encode()


@pytest.mark.parametrize(
    ("field", "events"),
    [
        (_STREAM, b"data: " + _MAIL.encode() + b"\xff\n\n"),
        (_STREAM, b"data: " + _MAIL.encode("utf-16le") + b"\n\n"),
        ((b"Content-Type", b"text/event-stream; charset=latin1"), f"data: {_MAIL}\n\n".encode()),
        ((b"Content-Encoding", b"gzip"), f"data: {_MAIL}\n\n".encode()),
        ((b"Content-Digest", b"sha-256=:x:"), f"data: {_MAIL}\n\n".encode()),
        (_STREAM, f"id: {_MAIL}\n\n: {_MAIL}\n\n".encode()),
        (_STREAM, f'data: {{"t": "{_MAIL}", "t": NaN}}\n\n'.encode()),
    ],
    ids=["bytes", "utf-16", "charset", "coding", "digest", "no data", "no strict JSON"],
)
def test_what_cannot_be_replaced(field: tuple[bytes, bytes], events: bytes) -> None:
    assert masked_events([field], events, _found(events)) is None


def test_what_reaches_over_two_lines_is_not_replaced() -> None:
    events = b"data: maria\ndata: keller\n\n"
    assert masked_events([_STREAM], events, [FoundText((EVENTS, 0), 0, 12, "name")]) is None


def test_what_stands_elsewhere_is_not_replaced() -> None:
    events = f"data: {_MAIL}\n\n".encode()
    assert masked_events([_STREAM], events, [FoundText(("answer", "headers", "x"), 0, 5, "email")]) is None
    assert masked_events([_STREAM], events, [FoundText((EVENTS, 4), 0, 5, "email")]) is None


_LINES = st.sampled_from(
    ["data: x", f"data: {_MAIL}", f"data:{_MAIL} y", f'data: {{"t": "{_MAIL}"}}', ": c", "id: 1", ""]
)


@given(st.lists(_LINES), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_events_are_masked_as_a_reader_would(lines: list[str], end: str) -> None:
    """Two documents in two lines are one text, which is no JSON: nothing is masked then."""
    events = "".join(line + end for line in lines).encode()
    found = _found(events)
    made = masked_events([_STREAM], events, found)
    if made is not None:
        assert made.body == events.replace(_MAIL.encode(), _MASK.encode())
        assert made.count == len(found) == events.count(_MAIL.encode())
