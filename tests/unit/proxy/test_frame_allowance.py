"""Frames cost by their kind, in small steps; what a download needs is given back."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.frame_allowance import BURST, FRAMES_AT_ONCE, FrameAllowance

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind: int, payload: bytes = b"", *, flags: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + bytes(4) + payload


def spent_after(allowance: FrameAllowance, data: bytes) -> bool:
    """Whether all of it was within the allowance, at one moment."""
    at = 0
    while at < len(data):
        at, is_within = allowance.step(data, at, 0.0)
        if not is_within:
            return False
    return True


def begun() -> FrameAllowance:
    allowance = FrameAllowance(0.0)
    assert spent_after(allowance, _PREFACE)
    return allowance


@pytest.mark.parametrize(
    ("one", "fit"),
    [
        (frame(0x8, bytes(4)), BURST),  # WINDOW_UPDATE
        (frame(0x6, bytes(8), flags=1), BURST),  # PING, acknowledged
        (frame(0x6, bytes(8)), BURST),
        (frame(0x4, flags=1), BURST),  # SETTINGS, acknowledged
        (frame(0x2, bytes(5)), BURST),  # PRIORITY
        (frame(0x9), BURST),  # CONTINUATION
        (frame(0xFA), BURST),
        (frame(0x3, bytes(4)), BURST // 10),  # RST_STREAM
        (frame(0x0), BURST),  # DATA
        (frame(0x0, bytes(128)), BURST * 2),
    ],
    ids=[
        "window",
        "ping ack",
        "ping",
        "settings ack",
        "priority",
        "continuation",
        "unknown",
        "reset",
        "empty",
        "small",
    ],
)
def test_as_many_as_fit(one: bytes, fit: int) -> None:
    assert spent_after(begun(), one * fit)
    assert not spent_after(begun(), one * (fit + 1))


@pytest.mark.parametrize("one", [frame(0x0, bytes(256)), frame(0x1, bytes(30))], ids=["data", "heads"])
def test_what_asks_for_something_costs_nothing(one: bytes) -> None:
    assert spent_after(begun(), one * 10 * BURST)


def test_a_download_may_update_its_windows() -> None:
    allowance = begun()
    for _ in range(BURST):
        allowance.sent(16 << 10, 0.0, of_answer=True)
        assert spent_after(allowance, frame(0x8, bytes(4)) * 8)


def test_so_may_a_stream_of_small_events() -> None:
    allowance = begun()
    for _ in range(BURST):
        allowance.sent(40, 0.0, of_answer=True)
        assert spent_after(allowance, frame(0x8, bytes(4)) * 4)


def test_what_answers_frames_earns_no_others() -> None:
    """17 bytes for each ping."""
    allowance = begun()
    is_within = True
    for _ in range(2 * BURST // 50):
        is_within &= spent_after(allowance, frame(0x6, bytes(8)) * 50)
        allowance.sent(50 * 17, 0.0, of_answer=False)
    assert not is_within


def test_a_step_is_a_few_frames() -> None:
    allowance, pings = begun(), frame(0x6, bytes(8)) * 1000
    end, _ = allowance.step(pings, 0, 0.0)
    assert (FRAMES_AT_ONCE - 1) * 17 < end <= FRAMES_AT_ONCE * 17


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 40)), max_size=30), st.data())
def test_however_it_is_cut_it_costs_the_same(frames: list[tuple[int, int]], cuts: st.DataObject) -> None:
    whole = _PREFACE + b"".join(frame(kind, bytes(size)) for kind, size in frames)
    once, piecewise = FrameAllowance(0.0), FrameAllowance(0.0)
    spent_after(once, whole)
    at = 0
    while at < len(whole):
        size = cuts.draw(st.integers(1, len(whole) - at))
        spent_after(piecewise, whole[at : at + size])
        at += size
    assert piecewise._allowance._spent == pytest.approx(once._allowance._spent)
