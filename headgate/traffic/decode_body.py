"""The beginning of a body without its content coding, however large the rest is (RFC 9110, section 8.4.1).

Unlike ``headgate.protocols.content_coding``, which decodes what is decided about: there a body that ends early, or goes
on after its end, is refused; here it is shown as far as it goes.
"""

import io
import zlib
from typing import Final

import brotli
import zstandard

_WINDOWS: Final = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}
_ZSTD_WINDOW_MAX: Final = 8 << 20  # RFC 9659


def decode_beginning(body: bytes, coding: str, *, max_bytes: int) -> tuple[bytes, bool] | None:
    """At most ``max_bytes`` of what the body holds, and whether that is all of it; None: it cannot be read."""
    try:
        if coding in ("", "identity"):
            return body[:max_bytes], len(body) <= max_bytes
        if coding in _WINDOWS:
            return _inflate(body, _WINDOWS[coding], max_bytes)
        if coding == "br":
            return _unbrotli(body, max_bytes)
        if coding == "zstd":
            return _unzstd(body, max_bytes)
    except (zlib.error, brotli.error, zstandard.ZstdError):
        return None
    return None


def _inflate(body: bytes, window_bits: int, max_bytes: int) -> tuple[bytes, bool]:
    decoder = zlib.decompressobj(window_bits)
    decoded = decoder.decompress(body, max_bytes)
    return decoded, decoder.eof and not decoder.unused_data


def _unbrotli(body: bytes, max_bytes: int) -> tuple[bytes, bool]:
    decoder = brotli.Decompressor()
    decoded = bytearray()
    data = body
    while not decoder.is_finished() and len(decoded) < max_bytes:
        piece = decoder.process(data, output_buffer_limit=max_bytes - len(decoded))
        if not piece and decoder.can_accept_more_data():
            break
        decoded += piece
        data = b""
    return bytes(decoded[:max_bytes]), decoder.is_finished() and len(decoded) <= max_bytes


def _unzstd(body: bytes, max_bytes: int) -> tuple[bytes, bool]:
    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX)
    with decoder.stream_reader(io.BytesIO(body)) as reader:
        decoded = reader.read(max_bytes + 1)
    return decoded[:max_bytes], len(decoded) <= max_bytes
