"""The most that a body may hold. A length that is told is believed (the server enforces it); one that is not is counted
while the route reads it, after its caller is known."""

from typing import Final

from starlette.types import Message, Receive, Scope

from admin_api.body_budget import charge_of
from headgate.kernel.errors import PayloadTooLargeError, ValidationError

BODY_LIMIT_BYTES: Final = 1024 * 1024
"""Where nothing else is configured (HEADGATE_API_BODY_LIMIT_BYTES)."""


def limit_body(scope: Scope, receive: Receive, limit_bytes: int) -> Receive:
    """``receive`` for the application, which raises PayloadTooLargeError, or UnavailableError where the process has no
    room for the body. Raises PayloadTooLargeError and ValidationError."""
    length: int | None = None
    chunked = False
    for name, value in scope["headers"]:
        if name == b"content-length":
            if not value.isdigit():
                raise ValidationError("Content-Length is not a number")
            length = int(value)
        elif name == b"transfer-encoding":
            chunked = True
    if not chunked and not length:
        return receive
    if not chunked and length is not None and length > limit_bytes:
        raise _too_large(limit_bytes)
    charge, size = charge_of(scope), 0

    async def receive_within() -> Message:
        nonlocal size
        message = await receive()
        if charge is not None:
            charge.require_kept()
        size += len(message.get("body", b""))
        if size > limit_bytes:
            raise _too_large(limit_bytes)
        return message

    return receive_within


def _too_large(limit_bytes: int) -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"the body exceeds the limit of {limit_bytes} bytes", details={"limit_bytes": limit_bytes}
    )
