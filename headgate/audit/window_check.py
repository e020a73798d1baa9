"""Checks quickly whether a window of events is exactly what was sealed. The result is yes or unknown.

It rebuilds each header from its row's columns, its payload's digest and the previous hash, and compares it with the
stored one: one comparison covers all of them. Rust does this (``regorus-py/src/record/window.rs``), five times as fast
as Python. ``ChainVerifier`` then examines the windows with the result unknown, and names what is wrong.
"""

from dataclasses import dataclass, field

from regorus import check_window

type WindowRow = tuple[
    int, bytes, bytes, int,
    bytes | None, bytes | None, bytes | None, bytes | None, int | None, int | None, bytes | None, bytes | None,
]  # fmt: skip
"""The chain's row: number, header, hash, time of sealing; then the month's: identifier, type, action, agent, time of
making, time of sealing, salt, payload. Texts are bytes; times are microseconds since 2000, as the server keeps them."""


@dataclass(slots=True)
class WindowCheck:
    """``seq`` is the next number, ``prev_hash`` what it must name."""

    org_id: str
    seq: int
    prev_hash: bytes
    _sealed_at: int | None = field(default=None, init=False)

    def check(self, rows: list[WindowRow]) -> list[bytes]:
        """The hashes of the rows that are right, up to the first that may not be."""
        hashes, self._sealed_at = check_window(self.org_id.encode(), self.seq, self.prev_hash, self._sealed_at, rows)
        if hashes:
            self.seq, self.prev_hash = self.seq + len(hashes), hashes[-1]
        return hashes
