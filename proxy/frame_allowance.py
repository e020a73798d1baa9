"""Limits the HTTP/2 frames that a client may send, by what a frame costs compared with the data that it brings.

Every kind costs, acknowledgements and window updates included: 12 connections of them delayed another agent's calls to
8 s (RFC 9113, 10.5; CVE-2019-9511 to 9518, CVE-2023-44487, CVE-2024-27316). The bytes and frames sent to the client
restore the allowance that a download needs.
"""

from collections.abc import Mapping
from typing import Final

from addons.allowance import Allowance

BURST: Final = 2000
PER_SECOND: Final = 1000
FRAMES_AT_ONCE: Final = 64
"""Before others have their turn."""

_PREFACE_BYTES: Final = 24
_HEADER_BYTES: Final = 9
_DATA, _HEADERS, _RESET = 0x0, 0x1, 0x3
_COSTS: Final[Mapping[int, float]] = {
    _HEADERS: 0,  # a request, which is decided and counted itself
    _RESET: 10,  # a stream was made, and may have been decided about
}
"""By kind, in pings; of a kind that is not named: 1."""

_PAID_BY_BYTES: Final = 256
"""A data frame of so many bytes costs nothing; an empty one as much as a ping."""

_BYTES_SENT_FOR_A_FRAME: Final = 512
_FRAMES_FOR_EACH_PIECE: Final = 4
"""A client may answer each frame with an update of its stream's window and one of the connection's."""


class FrameAllowance:
    """Of one connection: cuts what has arrived into steps of a few frames, and counts their costs."""

    __slots__ = ("_allowance", "_header", "_skip")

    def __init__(self, now_seconds: float) -> None:
        self._allowance = Allowance(BURST, PER_SECOND, now_seconds)
        self._skip = _PREFACE_BYTES
        self._header = b""

    def step(self, data: bytes, begin: int, now_seconds: float) -> tuple[int, bool]:
        """Where the next step of ``data`` ends that begins at ``begin``, and whether it was within the allowance."""
        at, end, cost = begin, len(data), 0.0
        for _ in range(FRAMES_AT_ONCE):
            if self._skip:
                passed = min(self._skip, end - at)
                self._skip -= passed
                at += passed
            if at >= end:
                break
            missing = _HEADER_BYTES - len(self._header)
            self._header += data[at : at + missing]
            at = min(end, at + missing)
            if len(self._header) < _HEADER_BYTES:
                break
            size = int.from_bytes(self._header[:3])
            kind = self._header[3]
            cost += max(0.0, 1 - size / _PAID_BY_BYTES) if kind == _DATA else _COSTS.get(kind, 1)
            self._skip, self._header = size, b""
        return at, not cost or self._allowance.spend(cost, now_seconds)

    def sent(self, size_bytes: int, now_seconds: float, *, of_answer: bool) -> None:
        """Gives back what the client needs to take what was sent to it. ``of_answer``: a piece that has just come from
        a server, however small."""
        frames = size_bytes / _BYTES_SENT_FOR_A_FRAME + (_FRAMES_FOR_EACH_PIECE if of_answer else 0)
        self._allowance.spend(-frames, now_seconds)
