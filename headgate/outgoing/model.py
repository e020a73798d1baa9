"""What is sent, what came back, and how a call failed."""

from enum import StrEnum

from msgspec import Struct


class OutgoingFailure(StrEnum):
    """Why there is no complete answer. Once stored with a delivery, never renamed."""

    INVALID_REQUEST = "invalid_request"
    BLOCKED = "blocked"
    UNRESOLVED = "unresolved"
    UNREACHABLE = "unreachable"
    CONNECT_TIMEOUT = "connect_timeout"
    TLS = "tls"
    DEADLINE = "deadline"
    BROKEN = "broken"


class OutgoingError(Exception):
    """A call without a complete answer.

    ``may_have_been_sent`` is False only where not one byte of the request left: whoever sees True must not take
    the call for not made. ``status`` is set where the answer broke off after its head. ``message`` names no
    address that a name resolved to, and no header: it may be shown.
    """

    def __init__(
        self, failure: OutgoingFailure, message: str, *, may_have_been_sent: bool = False, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.failure = failure
        self.message = message
        self.may_have_been_sent = may_have_been_sent
        self.status = status


class OutgoingRequest(Struct, frozen=True):
    """One request, sent as it stands: the URL's path and query are not normalised, the body is not encoded.

    ``headers`` hold neither Host nor what frames the message (Content-Length, Transfer-Encoding, Connection).
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class OutgoingLimits(Struct, frozen=True):
    """``deadline_seconds`` is for all of it, name resolution and the last byte of the answer included.

    ``connect_seconds`` bounds resolving and connecting together, and the TLS handshake after that. Of an answer's
    body ``response_max_bytes`` are read; the connection is closed upon the rest.
    """

    connect_seconds: float = 5.0
    deadline_seconds: float = 30.0
    response_max_bytes: int = 1024 * 1024


class OutgoingResponse(Struct, frozen=True):
    """An answer. A redirect is one like any other: following it is for nobody here. ``headers`` have lower-case names.

    ``body`` is as it came over the wire; an encoding is not undone, because none was asked for.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    is_truncated: bool
    latency_ms: float

    def header(self, name: str) -> str | None:
        """The first value of this header."""
        return next((value for key, value in self.headers if key == name.lower()), None)
