"""Counts and digests the body of one response as it passes."""

import hashlib
from typing import Protocol


class AnswerReader(Protocol):
    """Reads an answer along as it passes. It raises nothing."""

    def feed(self, data: bytes) -> None: ...


class ResponseMeter:
    """The ``stream`` callable of one response. It cannot fail: what it raised would hang the client."""

    __slots__ = ("_hash", "readers", "size_bytes")

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.size_bytes = 0
        self.readers: tuple[AnswerReader, ...] = ()

    def __call__(self, data: bytes) -> bytes | list[bytes]:
        if not data:
            # mitmproxy asks once more at the end; b"" would write the last chunk early.
            return []
        self.size_bytes += len(data)
        self._hash.update(data)
        for reader in self.readers:
            reader.feed(data)
        return data

    def digest(self) -> str:
        return "sha256:" + self._hash.hexdigest()
