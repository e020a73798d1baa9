"""Bodies without their content coding (RFC 9110, section 8.4.1), never larger than they may be.

292 KB of gzip can hold 300 MB: decoding is bounded by what comes out, not by what goes in.
"""

import zlib
from typing import Final

import brotli
import zstandard

from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError

_GZIP_WINDOW: Final = zlib.MAX_WBITS | 16
_WINDOWS: Final = {"gzip": _GZIP_WINDOW, "x-gzip": _GZIP_WINDOW, "deflate": zlib.MAX_WBITS}
_IDENTITY: Final = frozenset({"", "identity"})
_DAMAGED: Final = "the body is not in the content coding that it names"
_ZSTD_WINDOW_MAX: Final = 8 << 20  # RFC 9659: what an HTTP client need not exceed
_ZSTD_STEP: Final = 128
"""Bytes that are decoded at once: four of them can stand for 128 KB."""
RATIO_MAX: Final = 100
"""A decoded body to a coded one. Documents reach 20, rows of a table 50; gzip of one letter reaches 1,000."""
RATIO_FREE_BYTES: Final = 64 << 10
"""So much may a body become, whatever the ratio."""
_TRAILING: Final = "the compressed body ends early or has bytes after its end"


def is_readable(coding: str) -> bool:
    """Whether ``decode`` knows this value of Content-Encoding; a list of several codings is not read."""
    return coding in _IDENTITY or coding in _WINDOWS or coding in ("br", "zstd")


def decoded_bytes_max(coded_bytes: int, max_bytes: int) -> int:
    """What a body of this size may become, of ``max_bytes`` at most."""
    return min(max_bytes, max(RATIO_FREE_BYTES, RATIO_MAX * coded_bytes))


def decode(body: bytes, coding: str, *, max_bytes: int) -> bytes:
    """``body`` without ``coding`` (lower case), which must be readable.

    Raises PayloadTooLargeError beyond ``max_bytes``; AmbiguousRequestError where it is damaged, or where some
    decoders read on after its end (a second gzip member) and others stop.
    """
    decoded, ended = _decoded(body, coding, max_bytes)
    if len(decoded) > max_bytes:
        raise PayloadTooLargeError(
            f"the decoded body is larger than {max_bytes} bytes", details={"max_bytes": max_bytes}
        )
    if not ended:
        raise AmbiguousRequestError(_TRAILING)
    return decoded


def decode_beginning(body: bytes, coding: str, *, max_bytes: int) -> bytes:
    """At most the first ``max_bytes`` of what ``body`` decodes to; ``body`` may be cut.

    Raises AmbiguousRequestError where it is damaged, or has bytes after its end.
    """
    return _decoded(body, coding, max_bytes)[0][:max_bytes]


def _decoded(body: bytes, coding: str, max_bytes: int) -> tuple[bytes, bool]:
    """(a little more than ``max_bytes`` at most, whether the body ends with the coding)."""
    if coding in _IDENTITY:
        return body, True
    if coding == "br":
        return _unbrotli(body, max_bytes)
    if coding == "zstd":
        return _unzstd(body, max_bytes)
    return _inflate(body, _WINDOWS[coding], max_bytes)


def _inflate(body: bytes, window_bits: int, max_bytes: int) -> tuple[bytes, bool]:
    decoder = zlib.decompressobj(window_bits)
    try:
        decoded = decoder.decompress(body, max_bytes + 1)
    except zlib.error as error:
        raise AmbiguousRequestError(_DAMAGED) from error
    if decoder.unused_data:
        raise AmbiguousRequestError(_TRAILING)
    return decoded, decoder.eof


def _unbrotli(body: bytes, max_bytes: int) -> tuple[bytes, bool]:
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
        raise AmbiguousRequestError(_DAMAGED) from error
    return bytes(decoded), decoder.is_finished()


def _unzstd(body: bytes, max_bytes: int) -> tuple[bytes, bool]:
    """RFC 8878. The library has no bound on what one call gives, hence the small steps."""
    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX).decompressobj()
    decoded = bytearray()
    at = 0
    try:
        while at < len(body) and not decoder.eof and len(decoded) <= max_bytes:
            decoded += decoder.decompress(body[at : at + _ZSTD_STEP])
            at += _ZSTD_STEP
    except zstandard.ZstdError as error:
        raise AmbiguousRequestError(_DAMAGED) from error
    if decoder.eof and (decoder.unused_data or at < len(body)):
        raise AmbiguousRequestError(_TRAILING)
    return bytes(decoded), decoder.eof
