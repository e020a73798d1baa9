"""Tells a call of gRPC or Connect that waits for an answer before it has sent all of its messages.

Such a call would wait until its deadline: the gate decides a call when it has all of it (decision 106).
"""

import re
from typing import Final

from mitmproxy.http import Request

from headgate.kernel.errors import ProtocolRefusedError
from headgate.protocols.grpc_deadline import answer_within_seconds
from headgate.protocols.grpc_frames import is_between_messages

_STREAM: Final = re.compile(rb"application/(?:grpc(?!-web)|connect\+)", re.IGNORECASE)


class InteractiveCall:
    """What of one request had arrived at the last look."""

    def __init__(self, pause_seconds: float) -> None:
        self.pause_seconds = pause_seconds
        self._size_bytes = 0

    def waits(self, body: bytes) -> bool:
        """Whether nothing came since the last time, and the client is not in the middle of a message."""
        is_silent = len(body) == self._size_bytes
        self._size_bytes = len(body)
        return is_silent and is_between_messages(body)

    def refusal(self) -> ProtocolRefusedError:
        return ProtocolRefusedError(
            f"the call sent no message for {self.pause_seconds:.3g} seconds and did not end its messages: the gate"
            " decides a call when it has all of them. Send all messages, then read the answers"
        )


def interactive_call(request: Request, pause_seconds: float) -> InteractiveCall | None:
    """None: the request cannot be an interactive call. The refusal reaches the client before its own deadline."""
    fields = request.data.headers.fields
    if not any(name.lower() == b"content-type" and _STREAM.match(value) is not None for name, value in fields):
        return None
    within = answer_within_seconds(fields)
    # It takes two looks: the first learns what has arrived.
    return InteractiveCall(pause_seconds if within is None else min(pause_seconds, within / 3))
