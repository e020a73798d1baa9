"""Compressed data and archives: what is in them, within limits. What cannot be opened raises.

gzip and zlib (RFC 1952, 1950), bzip2, xz and LZMA, Zstandard (RFC 8878), ZIP (PKWARE APPNOTE 6.3.10; so Office and
OpenDocument files too), tar (POSIX.1-1988 and later). ZIP members are found by their local headers: some readers take
these and others the central directory, and what one of them reads leaves.
"""

import bz2
import io
import lzma
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import zstandard
from regorus import container_of

_LZMA_MEMORY_BYTES: Final = 64 << 20
_ZSTD_WINDOW_BYTES: Final = 8 << 20
MEMBERS_MAX: Final = 256
"""Members of one archive that are opened, and streams behind one another: each copies all that follows it."""

_LOCAL_HEADER: Final = struct.Struct("<4sHHHHHIIIHH")  # APPNOTE 4.3.7
_LOCAL: Final = b"PK\x03\x04"
_END: Final = b"PK\x05\x06"
_END_BYTES: Final = 22
_NEXT_RECORD: Final = (_LOCAL, b"PK\x07\x08", b"PK\x01\x02")
_ENCRYPTED: Final = 1
_STORED, _DEFLATED, _BZIP2, _LZMA, _ZSTD, _XZ = 0, 8, 12, 14, 93, 95
_TAR_BLOCK: Final = 512


class UnscannableError(Exception):
    """Content that detectors cannot open; the message names the reason for a person."""


class Member(NamedTuple):
    """``is_whole``: it is all there, and not cut at the limit."""

    name: str
    data: bytes
    is_whole: bool


class _Plain(NamedTuple):
    """``rest``: the bytes after the end of the compressed data."""

    data: bytes
    is_whole: bool
    rest: bytes = b""


type _Decompress = Callable[[bytes, int], _Plain]


def members(name: str, data: bytes, size_max: int) -> Iterator[Member]:
    """What is in this container, ``size_max`` bytes in all and a little more. Raises UnscannableError, perhaps after
    some."""
    if name == "zip":
        yield from _zip_members(data, size_max)
    elif name == "tar":
        yield from _tar_members(data)
    else:
        plain = _decompressed(_DECOMPRESS[name], data, size_max)
        yield Member("", plain.data, plain.is_whole)
        yield from _behind(plain.rest)


def _behind(rest: bytes) -> Iterator[Member]:
    """Bytes after the end, without padding: some readers ignore the end and read them."""
    if rest := rest.strip(b"\0"):
        yield Member("", rest, is_whole=True)


def _decompressed(decompress: _Decompress, data: bytes, size_max: int) -> _Plain:
    try:
        return decompress(data, size_max)
    except (zlib.error, OSError, EOFError, lzma.LZMAError, zstandard.ZstdError, ValueError, MemoryError) as error:
        raise UnscannableError("damaged compressed data") from error


def _inflate(data: bytes, size_max: int) -> _Plain:
    """All members of a gzip file: some readers stop after the first, others do not. So do the functions below."""
    plain = bytearray()
    for _ in range(MEMBERS_MAX):
        machine = zlib.decompressobj(wbits=47)
        plain += machine.decompress(data, size_max + 1 - len(plain))
        if not machine.eof:
            return _Plain(bytes(plain), not machine.unconsumed_tail and len(plain) <= size_max)
        data = machine.unused_data
        if len(plain) > size_max or container_of(data) not in ("gzip", "zlib"):
            return _Plain(bytes(plain), len(plain) <= size_max, data)
    return _Plain(bytes(plain), is_whole=False)


def _inflate_raw(data: bytes, size_max: int) -> _Plain:
    plain = zlib.decompressobj(wbits=-15).decompress(data, size_max + 1)
    return _Plain(plain, len(plain) <= size_max)


def _unbzip2(data: bytes, size_max: int) -> _Plain:
    plain = bytearray()
    for _ in range(MEMBERS_MAX):
        machine = bz2.BZ2Decompressor()
        plain += machine.decompress(data, size_max + 1 - len(plain))
        data = machine.unused_data
        if len(plain) > size_max or container_of(data) != "bzip2":
            return _Plain(bytes(plain), len(plain) <= size_max, data)
    return _Plain(bytes(plain), is_whole=False)


def _unxz(data: bytes, size_max: int) -> _Plain:
    plain = bytearray()
    for _ in range(MEMBERS_MAX):
        machine = lzma.LZMADecompressor(memlimit=_LZMA_MEMORY_BYTES)
        plain += machine.decompress(data, size_max + 1 - len(plain))
        data = machine.unused_data.lstrip(b"\0")
        if len(plain) > size_max or container_of(data) not in ("xz", "lzma"):
            return _Plain(bytes(plain), len(plain) <= size_max, data)
    return _Plain(bytes(plain), is_whole=False)


def _unzstd(data: bytes, size_max: int) -> _Plain:
    reader = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).stream_reader(
        io.BytesIO(data), read_across_frames=True
    )
    plain = reader.read(size_max + 1)
    return _Plain(plain, len(plain) <= size_max)


def _zip_members(data: bytes, size_max: int) -> Iterator[Member]:
    at, seen = 0, 0
    while (at := data.find(_LOCAL, at)) >= 0:
        if len(data) - at < _LOCAL_HEADER.size:
            raise UnscannableError("a ZIP archive that ends early")
        seen += 1
        if seen > MEMBERS_MAX:
            raise UnscannableError(f"a ZIP archive with more than {MEMBERS_MAX} members")
        _, _, flags, method, _, _, _, packed, _, name_length, extra_length = _LOCAL_HEADER.unpack_from(data, at)
        name_at = at + _LOCAL_HEADER.size
        start = name_at + name_length + extra_length
        name = data[name_at : name_at + name_length].decode("utf-8", "replace")
        if flags & _ENCRYPTED:
            raise UnscannableError("an encrypted ZIP archive")
        if method == _STORED:
            end = start + packed if packed else _next_record(data, start)
            content = data[start:end]
            yield Member(name, content[:size_max], len(content) <= size_max)
            at = start if packed == 0 else end
            continue
        decompress = _ZIP_METHODS.get(method)
        if decompress is None:
            raise UnscannableError(f"a ZIP archive with compression method {method}")
        plain = _decompressed(decompress, data[start : start + packed] if packed else data[start:], size_max)
        yield Member(name, plain.data, plain.is_whole)
        at = start
    yield from _behind(_after_the_end(data))


def _after_the_end(data: bytes) -> bytes:
    """The bytes after the first end of a central directory (APPNOTE 4.3.16) that follows the last member."""
    at = data.find(_END, data.rfind(_LOCAL))
    if at < 0 or len(data) - at < _END_BYTES:
        return b""
    return data[at + _END_BYTES + int.from_bytes(data[at + _END_BYTES - 2 : at + _END_BYTES], "little") :]


def _next_record(data: bytes, start: int) -> int:
    found = [at for at in (data.find(signature, start) for signature in _NEXT_RECORD) if at >= 0]
    return min(found, default=len(data))


def _tar_members(data: bytes) -> Iterator[Member]:
    at, seen = 0, 0
    while at + _TAR_BLOCK <= len(data) and any(data[at : at + _TAR_BLOCK]):
        seen += 1
        if seen > MEMBERS_MAX:
            raise UnscannableError(f"a tar archive with more than {MEMBERS_MAX} members")
        header = data[at : at + _TAR_BLOCK]
        try:
            size = int(header[124:136].strip(b" \0") or b"0", 8)
        except ValueError as error:
            raise UnscannableError("a tar archive with a malformed header") from error
        name = header[:100].rstrip(b"\0").decode("utf-8", "replace")
        content = data[at + _TAR_BLOCK : at + _TAR_BLOCK + size]
        yield Member(name, content, len(content) == size)
        at += _TAR_BLOCK + -(-size // _TAR_BLOCK) * _TAR_BLOCK
    yield from _behind(data[at:])


_DECOMPRESS: Final[dict[str, _Decompress]] = {
    "gzip": _inflate,
    "zlib": _inflate,
    "bzip2": _unbzip2,
    "xz": _unxz,
    "lzma": _unxz,
    "zstd": _unzstd,
}
_ZIP_METHODS: Final[dict[int, _Decompress]] = {
    _DEFLATED: _inflate_raw,
    _BZIP2: _unbzip2,
    _ZSTD: _unzstd,
    _XZ: _unxz,
}
