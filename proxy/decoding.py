"""Answers out of their content coding, as they arrive: only to look for credentials in them.

RFC 9110, section 8.4.1. The gate asks for ``identity``; some servers answer in a coding all the same.
"""

import zlib
from typing import Final, Protocol

import brotli
import zstandard
from mitmproxy.http import Response

_WITHOUT_BODY: Final = frozenset({204, 304})
_MOST_PIECE: Final = 64 << 20
"""Bytes that one piece of an answer may become."""
_ZSTD_SLICE: Final = 1 << 10
_ZSTD_WINDOW_MAX: Final = 8 << 20  # RFC 9659


class UndecodableError(Exception):
    """Not in a coding that is known, or not what it says it is."""


class Decoder(Protocol):
    def feed(self, data: bytes) -> bytes: ...

    def finish(self) -> bytes: ...


class ZlibDecoder:
    """gzip (with several members) and deflate, in both forms in which the latter is found."""

    def __init__(self, coding: str) -> None:
        self._window = zlib.MAX_WBITS | 16 if coding == "gzip" else zlib.MAX_WBITS
        self._object = zlib.decompressobj(self._window)
        self._first = coding == "deflate"

    def feed(self, data: bytes) -> bytes:
        decoded = b""
        try:
            while data:
                decoded += self._piece(data)
                if self._object.unconsumed_tail:
                    raise UndecodableError("a piece that becomes too large")
                data = self._object.unused_data
                if data:
                    self._object = zlib.decompressobj(self._window)
        except zlib.error as error:
            raise UndecodableError("not what it says it is") from error
        return decoded

    def _piece(self, data: bytes) -> bytes:
        try:
            decoded = self._object.decompress(data, _MOST_PIECE)
        except zlib.error:
            if not self._first:
                raise
            # Raw deflate (RFC 1951), which some servers send under that name.
            self._window = -zlib.MAX_WBITS
            self._object = zlib.decompressobj(self._window)
            decoded = self._object.decompress(data, _MOST_PIECE)
        self._first = False
        return decoded

    def finish(self) -> bytes:
        return self._object.flush()


class BrotliDecoder:
    def __init__(self) -> None:
        self._object = brotli.Decompressor()

    def feed(self, data: bytes) -> bytes:
        try:
            decoded = bytes(self._object.process(data, output_buffer_limit=_MOST_PIECE))
        except brotli.error as error:
            raise UndecodableError("not what it says it is") from error
        if not (self._object.can_accept_more_data() or self._object.is_finished()):
            raise UndecodableError("a piece that becomes too large")
        return decoded

    def finish(self) -> bytes:
        return b""


class ZstandardDecoder:
    def __init__(self) -> None:
        self._object = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX).decompressobj()

    def feed(self, data: bytes) -> bytes:
        """In slices, as the library bounds no output: four bytes may become 128 KiB (RFC 8878, section 3.1.1.2)."""
        decoded = bytearray()
        try:
            for at in range(0, len(data), _ZSTD_SLICE):
                decoded += self._object.decompress(data[at : at + _ZSTD_SLICE])
                if len(decoded) > _MOST_PIECE:
                    raise UndecodableError("a piece that becomes too large")
        except zstandard.ZstdError as error:
            raise UndecodableError("not what it says it is") from error
        return bytes(decoded)

    def finish(self) -> bytes:
        return b""


def decoder_for(response: Response, method: bytes) -> Decoder | None:
    """None: it is in no coding, or has no body. Raises UndecodableError."""
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding in ("", "identity") or method == b"HEAD" or response.status_code in _WITHOUT_BODY:
        return None
    match coding:
        case "gzip" | "x-gzip":
            return ZlibDecoder("gzip")
        case "deflate":
            return ZlibDecoder("deflate")
        case "br":
            return BrotliDecoder()
        case "zstd":
            return ZstandardDecoder()
        case _:
            raise UndecodableError("a coding that is not known")
