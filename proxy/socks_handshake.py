"""The client's side of a SOCKS5 handshake (RFC 1928, with user name and password of RFC 1929), without I/O.

It accepts one form: CONNECT with a password, which is the agent's key. The result is the CONNECT request that a client
of an HTTP proxy would send.
"""

import re
from base64 import b64encode
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from msgspec import Struct, field

VERSION: Final = b"\x05"
SUCCEEDED: Final = 0
FAILED: Final = 1
NOT_ALLOWED: Final = 2
_NO_SUCH_COMMAND: Final = 7
_NO_SUCH_ADDRESS: Final = 8
_BY_PASSWORD: Final = 2
_CONNECT: Final = 1
_ADDRESS_BYTES: Final = {1: 4, 4: 16}
_NAMED: Final = 3
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}", re.ASCII)
"""No other characters: the name becomes a part of a request's head."""


class RefusedHandshakeError(Exception):
    """The handshake has another form than the accepted one. ``answer``: the bytes to send before closing."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self.answer = answer


def reply(code: int) -> bytes:
    """The reply to a request (RFC 1928, section 6). Its bound address is 0.0.0.0: clients of CONNECT need none."""
    return bytes((5, code, 0, 1, 0, 0, 0, 0, 0, 0))


class Handshake(Struct):
    """Give received bytes to ``feed``. ``connect``: the CONNECT request, once the handshake is complete."""

    connect: bytes | None = None
    _received: bytearray = field(default_factory=bytearray)
    _step: int = 0
    _key: bytes = b""

    def feed(self, data: bytes) -> bytes:
        """Returns the bytes to answer. Raises RefusedHandshakeError."""
        if self.connect is not None:
            raise RefusedHandshakeError(reply(FAILED))  # data for the tunnel before the tunnel is open
        self._received += data
        answer = b""
        for step in (self._greeting, self._password, self._request)[self._step :]:
            told = step(bytes(self._received))
            if told is None:
                return answer
            answer += told
            self._step += 1
        if self._received:
            raise RefusedHandshakeError(reply(FAILED))
        return answer

    def _greeting(self, received: bytes) -> bytes | None:
        if len(received) < 2 or len(received) < 2 + received[1]:
            return None
        if received[:1] != VERSION or _BY_PASSWORD not in received[2 : 2 + received[1]]:
            raise RefusedHandshakeError(b"\x05\xff")
        del self._received[: 2 + received[1]]
        return bytes((5, _BY_PASSWORD))

    def _password(self, received: bytes) -> bytes | None:
        """Accepts every password. The addons check the key with the CONNECT request, as for every tunnel."""
        if len(received) < 2 or len(received) < 3 + received[1]:
            return None
        begin = 3 + received[1]
        end = begin + received[begin - 1]
        if received[0] != 1:
            raise RefusedHandshakeError(b"\x01\x01")
        if len(received) < end:
            return None
        self._key = received[begin:end]
        del self._received[:end]
        return b"\x01\x00"

    def _request(self, received: bytes) -> bytes | None:
        if len(received) < 5:
            return None
        version, command, _, kind, first = received[:5]
        if version != VERSION[0]:
            raise RefusedHandshakeError(reply(FAILED))
        if command != _CONNECT:
            raise RefusedHandshakeError(reply(_NO_SUCH_COMMAND))
        if kind not in _ADDRESS_BYTES and kind != _NAMED:
            raise RefusedHandshakeError(reply(_NO_SUCH_ADDRESS))
        begin = 5 if kind == _NAMED else 4
        end = begin + (first if kind == _NAMED else _ADDRESS_BYTES[kind])
        if len(received) < end + 2:
            return None
        host = _host(kind, received[begin:end])
        authority = f"{host}:{int.from_bytes(received[end : end + 2], 'big')}".encode("ascii")
        credentials = b64encode(b"agent:" + self._key)
        fields = b"Host: %s\r\nProxy-Authorization: Basic %s" % (authority, credentials)
        self.connect = b"CONNECT %s HTTP/1.1\r\n%s\r\n\r\n" % (authority, fields)
        del self._received[: end + 2]
        return b""


def _host(kind: int, address: bytes) -> str:
    """Raises RefusedHandshakeError."""
    if kind == _NAMED:
        name = address.decode("latin-1")
        if _NAME.fullmatch(name) is None:
            raise RefusedHandshakeError(reply(_NO_SUCH_ADDRESS))
        return name
    return str(IPv4Address(address)) if len(address) == 4 else f"[{IPv6Address(address)}]"
