"""The most that a body may hold. A length that is told is believed (the server enforces it); one that is not is
counted while it is read, before anything of the application runs."""

from typing import Final

from starlette.types import Message, Receive, Scope

from headgate.kernel.errors import PayloadTooLargeError, ValidationError

BODY_LIMIT_BYTES: Final = 1024 * 1024
"""Where nothing else is configured (HEADGATE_API_BODY_LIMIT_BYTES)."""


async def limit_body(scope: Scope, receive: Receive, limit_bytes: int) -> Receive:
    """``receive`` for the application. Raises PayloadTooLargeError."""
    length: int | None = None
    chunked = False
    for name, value in scope["headers"]:
        if name == b"content-length":
            if not value.isdigit():
                raise ValidationError("Content-Length is not a number")
            length = int(value)
        elif name == b"transfer-encoding":
            chunked = True
    if length is not None and not chunked:
        if length > limit_bytes:
            raise _too_large(limit_bytes)
        return receive
    return receive if not chunked else await _read_within(receive, limit_bytes)


async def _read_within(receive: Receive, limit_bytes: int) -> Receive:
    parts: list[Message] = []
    size = 0
    while True:
        message = await receive()
        parts.append(message)
        size += len(message.get("body", b""))
        if size > limit_bytes:
            raise _too_large(limit_bytes)
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    parts.reverse()

    async def replay() -> Message:
        return parts.pop() if parts else await receive()

    return replay


def _too_large(limit_bytes: int) -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"the body exceeds the limit of {limit_bytes} bytes", details={"limit_bytes": limit_bytes}
    )
