"""Reads the chunks of a body together: a chunk of one byte costs its sender six bytes, and the gate an event.

Based on h11's readers, as mitmproxy is.
"""

from typing import Final

import h11
from h11._readers import ChunkedReader
from h11._receivebuffer import ReceiveBuffer

CHUNKS_AT_ONCE: Final = 256
"""Before others have their turn."""

type Read = h11.Data | h11.EndOfMessage | None


class JoinedChunks:
    """In place of h11's reader: the chunks that have arrived, as one piece. ``has_more``: there may be more than one
    turn reads."""

    def __init__(self, reader: ChunkedReader) -> None:
        self._reader = reader
        self._next: h11.EndOfMessage | h11.ProtocolError | None = None
        self._stops = False
        self.has_more = False

    def __call__(self, buffer: ReceiveBuffer) -> Read:
        if self._stops:
            self._stops, self.has_more = False, True
            return None
        self.has_more = False
        if isinstance(self._next, h11.ProtocolError):
            raise self._next
        if self._next is not None:
            return self._next
        joined = bytearray()
        for _ in range(CHUNKS_AT_ONCE):
            try:
                read = self._reader(buffer)
            except h11.ProtocolError as error:
                if not joined:
                    raise
                self._next = error
                break
            if isinstance(read, h11.Data):
                joined += read.data
                continue
            if read is not None:
                if not joined:
                    return read
                self._next = read
            break
        else:
            self._stops = True
        return h11.Data(data=bytes(joined)) if joined else None

    def read_eof(self) -> object:
        return self._reader.read_eof()
