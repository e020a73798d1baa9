"""Answers out of their content coding, piece by piece as they arrive: to look into them, not to forward them.

RFC 9110, section 8.4.1. What one piece may become is bounded. ``content_coding`` reads whole bodies, strictly.
"""

import zlib
from typing import Final, Protocol

import brotli
import zstandard

PIECE_BYTES_MAX: Final = 64 << 20
"""Bytes that one piece of an answer may become."""
_ZSTD_SLICE: Final = 1 << 10
_ZSTD_WINDOW_MAX: Final = 8 << 20  # RFC 9659


class UndecodableError(Exception):
    """Not in a coding that is known, or not what it says it is."""


class PieceTooLargeError(UndecodableError):
    """``decoded``: what the piece became before it was too large."""

    def __init__(self, decoded: bytes) -> None:
        super().__init__("a piece that becomes too large")
        self.decoded = decoded


class Decoder(Protocol):
    def feed(self, data: bytes) -> bytes: ...

    def finish(self) -> bytes: ...


class ZlibDecoder:
    """gzip (with several members) and deflate, in both forms in which the latter is found."""

    def __init__(self, coding: str, piece_bytes_max: int) -> None:
        self._piece_bytes_max = piece_bytes_max
        self._window = zlib.MAX_WBITS | 16 if coding == "gzip" else zlib.MAX_WBITS
        self._object = zlib.decompressobj(self._window)
        self._first = coding == "deflate"

    def feed(self, data: bytes) -> bytes:
        decoded = b""
        try:
            while data:
                decoded += self._piece(data)
                if self._object.unconsumed_tail:
                    raise PieceTooLargeError(decoded)
                data = self._object.unused_data
                if data:
                    self._object = zlib.decompressobj(self._window)
        except zlib.error as error:
            raise UndecodableError("not what it says it is") from error
        return decoded

    def _piece(self, data: bytes) -> bytes:
        try:
            decoded = self._object.decompress(data, self._piece_bytes_max)
        except zlib.error:
            if not self._first:
                raise
            # Raw deflate (RFC 1951), which some servers send under that name.
            self._window = -zlib.MAX_WBITS
            self._object = zlib.decompressobj(self._window)
            decoded = self._object.decompress(data, self._piece_bytes_max)
        self._first = False
        return decoded

    def finish(self) -> bytes:
        return self._object.flush()


class BrotliDecoder:
    def __init__(self, piece_bytes_max: int) -> None:
        self._piece_bytes_max = piece_bytes_max
        self._object = brotli.Decompressor()

    def feed(self, data: bytes) -> bytes:
        try:
            decoded = bytes(self._object.process(data, output_buffer_limit=self._piece_bytes_max))
        except brotli.error as error:
            raise UndecodableError("not what it says it is") from error
        if not (self._object.can_accept_more_data() or self._object.is_finished()):
            raise PieceTooLargeError(decoded)
        return decoded

    def finish(self) -> bytes:
        return b""


class ZstandardDecoder:
    def __init__(self, piece_bytes_max: int) -> None:
        self._piece_bytes_max = piece_bytes_max
        self._object = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX).decompressobj()

    def feed(self, data: bytes) -> bytes:
        """In slices, as the library bounds no output: four bytes may become 128 KiB (RFC 8878, section 3.1.1.2)."""
        decoded = bytearray()
        try:
            for at in range(0, len(data), _ZSTD_SLICE):
                decoded += self._object.decompress(data[at : at + _ZSTD_SLICE])
                if len(decoded) > self._piece_bytes_max:
                    raise PieceTooLargeError(bytes(decoded))
        except zstandard.ZstdError as error:
            raise UndecodableError("not what it says it is") from error
        return bytes(decoded)

    def finish(self) -> bytes:
        return b""


def decoder_of(coding: str, *, piece_bytes_max: int = PIECE_BYTES_MAX) -> Decoder | None:
    """``coding``: in lower case. None: there is none to undo. Raises UndecodableError."""
    match coding:
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return ZlibDecoder("gzip", piece_bytes_max)
        case "deflate":
            return ZlibDecoder("deflate", piece_bytes_max)
        case "br":
            return BrotliDecoder(piece_bytes_max)
        case "zstd":
            return ZstandardDecoder(piece_bytes_max)
        case _:
            raise UndecodableError("a coding that is not known")
