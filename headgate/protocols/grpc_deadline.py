"""How long the client of a remote procedure call waits: ``grpc-timeout`` ("gRPC over HTTP/2") and
``connect-timeout-ms`` ("Connect Protocol Reference")."""

import re
from typing import Final

_GRPC: Final = re.compile(rb"([0-9]{1,8})([HMSmun])")
_CONNECT: Final = re.compile(rb"[0-9]{1,10}")
_UNITS: Final = {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}
_MARGIN_PART: Final = 0.1
_MARGIN_SECONDS_MAX: Final = 2.0


def timeout_seconds(fields: tuple[tuple[bytes, bytes], ...]) -> float | None:
    """The shortest that the header fields name; None where none does, or in another form than the protocols'."""
    found = []
    for raw_name, value in fields:
        name = raw_name.lower()
        if name == b"grpc-timeout" and (match := _GRPC.fullmatch(value)) is not None:
            found.append(int(match[1]) * _UNITS[match[2]])
        elif name == b"connect-timeout-ms" and _CONNECT.fullmatch(value) is not None:
            found.append(int(value) / 1000)
    return min(found, default=None)


def answer_within_seconds(fields: tuple[tuple[bytes, bytes], ...]) -> float | None:
    """The timeout less what the answer needs on its way: a tenth, 2 seconds at most."""
    timeout = timeout_seconds(fields)
    return None if timeout is None else timeout - min(timeout * _MARGIN_PART, _MARGIN_SECONDS_MAX)
