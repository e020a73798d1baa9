"""Tells a bidirectional call of gRPC or Connect: its client waits for an answer before it has sent all of its messages.

Over HTTP/2 only: a client of HTTP/1.1 reads no answer before its request has ended ("Connect Protocol Reference").
"""

import re
from typing import Final

from mitmproxy.http import Request
from mitmproxy.proxy.utils import ReceiveBuffer

from headgate.protocols.grpc_deadline import answer_within_seconds
from headgate.protocols.grpc_frames import whole_messages_bytes

_STREAM: Final = re.compile(rb"application/(?:grpc(?!-web)|connect\+)", re.IGNORECASE)
_WHOLE_BODY: Final = frozenset({b"content-length", b"content-encoding"})
"""A body with such a field cannot be forwarded in parts."""
LOOK_SECONDS_MIN: Final = 0.01
"""Between two looks at least: with a client's deadline of a nanosecond, looks would take all of a processor."""


class RequestPause:
    """What of one request had arrived at the last look."""

    def __init__(self, pause_seconds: float) -> None:
        self.pause_seconds = pause_seconds
        self._size_bytes = 0
        self._read_bytes = 0

    def waits(self, body: ReceiveBuffer) -> bool:
        """Whether nothing came since the last look, and what came is not merely the beginning of a message."""
        size = len(body)
        is_silent = size == self._size_bytes
        self._size_bytes = size
        if not is_silent or not size:
            return is_silent
        if size == self._read_bytes:
            return False  # the last look has read these bytes, which copies them
        self._read_bytes = size
        return whole_messages_bytes(bytes(body)) > 0


def request_pause(request: Request, pause_seconds: float) -> RequestPause | None:
    """None: the request cannot be such a call."""
    fields = request.data.headers.fields
    names = {name.lower() for name, _ in fields}
    if (
        request.data.http_version != b"HTTP/2.0"
        or not _WHOLE_BODY.isdisjoint(names)
        or not any(name.lower() == b"content-type" and _STREAM.match(value) is not None for name, value in fields)
    ):
        return None
    within = answer_within_seconds(fields)
    # It takes two looks: the first learns what has arrived.
    return RequestPause(pause_seconds if within is None else min(pause_seconds, max(LOOK_SECONDS_MIN, within / 3)))
