"""Counts and digests the body of one response as it passes."""

import hashlib

from addons.shown_answer import ShownAnswer


class ResponseMeter:
    """The ``stream`` callable of one response. It cannot fail: what it raised would hang the client."""

    __slots__ = ("_hash", "shown", "size_bytes")

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.size_bytes = 0
        self.shown: ShownAnswer | None = None
        """Reads along, where a policy asks what agents were shown."""

    def __call__(self, data: bytes) -> bytes | list[bytes]:
        if not data:
            # mitmproxy asks once more at the end; b"" would write the last chunk early.
            return []
        self.size_bytes += len(data)
        self._hash.update(data)
        if self.shown is not None:
            self.shown.feed(data)
        return data

    def digest(self) -> str:
        return "sha256:" + self._hash.hexdigest()
