"""Bodies without their content coding (RFC 9110, 8.4), never larger than they may be.

For whoever has to look into a body: ``flow.request.content`` has no bound (292 KB of gzip held 300 MB and
blocked the event loop for a second).
"""

import zlib
from typing import Final

import brotli
import zstandard

from addons.wellformed import ambiguous
from headgate.kernel.errors import PayloadTooLargeError

_MAX_WINDOW: Final = 8 << 20  # RFC 9659 allows no more in a content coding
_DAMAGED: Final = "the body is not in the content coding that it names"
_TRAILING: Final = "the compressed body ends early or has bytes after its end"


def decode_body(body: bytes, coding: bytes, *, max_bytes: int) -> bytes:
    """``body`` without ``coding`` (the value of Content-Encoding).

    Raises PayloadTooLargeError beyond ``max_bytes``, AmbiguousRequestError for a coding that is unknown,
    damaged or applied more than once.
    """
    name = coding.strip().lower()
    if name in (b"", b"identity"):
        decoded = body
    elif name in (b"gzip", b"x-gzip", b"deflate"):
        decoded = _inflate(body, zlib.MAX_WBITS if name == b"deflate" else zlib.MAX_WBITS | 16, max_bytes)
    elif name == b"br":
        decoded = _unbrotli(body, max_bytes)
    elif name == b"zstd":
        decoded = _unzstd(body, max_bytes)
    else:
        raise ambiguous(f"the content coding {name[:40].decode('ascii', 'replace')} is not one that the gate can read")
    if len(decoded) > max_bytes:
        raise PayloadTooLargeError(
            f"the decoded body is larger than {max_bytes} bytes", details={"max_bytes": max_bytes}
        )
    return decoded


def _inflate(body: bytes, window_bits: int, max_bytes: int) -> bytes:
    decoder = zlib.decompressobj(window_bits)
    try:
        decoded = decoder.decompress(body, max_bytes + 1)
    except zlib.error as error:
        raise ambiguous(_DAMAGED) from error
    if len(decoded) <= max_bytes and (not decoder.eof or decoder.unused_data):
        # Some decoders read on (a second gzip member), others stop: two readings.
        raise ambiguous(_TRAILING)
    return decoded


def _unbrotli(body: bytes, max_bytes: int) -> bytes:
    decoder = brotli.Decompressor()
    decoded = bytearray()
    data = body
    try:
        while not decoder.is_finished() and len(decoded) <= max_bytes:
            piece = decoder.process(data, output_buffer_limit=max_bytes + 1 - len(decoded))
            if not piece and decoder.can_accept_more_data():
                break
            decoded += piece
            data = b""
    except brotli.error as error:
        raise ambiguous(_DAMAGED) from error
    if len(decoded) <= max_bytes and not decoder.is_finished():
        raise ambiguous(_TRAILING)
    return bytes(decoded)


def _unzstd(body: bytes, max_bytes: int) -> bytes:
    decoder = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).decompressobj()
    try:
        # The bound comes first: a frame may not say its size, and its blocks expand by up to 128 KiB each.
        decoded = bytearray()
        for start in range(0, len(body), 1024):
            decoded += decoder.decompress(body[start : start + 1024])
            if len(decoded) > max_bytes:
                return bytes(decoded)
            if decoder.eof:
                if decoder.unused_data or start + 1024 < len(body):
                    raise ambiguous(_TRAILING)
                return bytes(decoded)
    except zstandard.ZstdError as error:
        raise ambiguous(_DAMAGED) from error
    raise ambiguous(_TRAILING)
