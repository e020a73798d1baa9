"""The one tree of errors: stable codes, and the HTTP status of each in one table.

A slice raises these and nothing of a third party's; the edge (``admin_api.errors``, ``addons.refusal``)
turns them into the nested body of the specification's section "Errors".
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import ClassVar


class ErrorCode(StrEnum):
    """What an error body carries as ``error.code``; once published, never renamed."""

    VALIDATION_ERROR = "VALIDATION_ERROR"
    UNAUTHORIZED = "UNAUTHORIZED"
    FORBIDDEN = "FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    CONFLICT = "CONFLICT"
    PRECONDITION_FAILED = "PRECONDITION_FAILED"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    RATE_LIMITED = "RATE_LIMITED"
    INTERNAL_ERROR = "INTERNAL_ERROR"
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE"
    # The proxy's own refusals (docs/reference/errors.md).
    AGENT_UNAUTHORIZED = "AGENT_UNAUTHORIZED"
    ACTION_DENIED = "ACTION_DENIED"
    APPROVAL_PENDING = "APPROVAL_PENDING"
    APPROVAL_DENIED = "APPROVAL_DENIED"
    DESTINATION_BLOCKED = "DESTINATION_BLOCKED"
    RESPONSE_WITHHELD = "RESPONSE_WITHHELD"
    PROTOCOL_REFUSED = "PROTOCOL_REFUSED"
    REQUEST_AMBIGUOUS = "REQUEST_AMBIGUOUS"
    UPSTREAM_FAILED = "UPSTREAM_FAILED"
    CONNECTION_REFUSED = "CONNECTION_REFUSED"
    CONNECTION_BROKEN = "CONNECTION_BROKEN"


HTTP_STATUS: Mapping[ErrorCode, int] = MappingProxyType(
    {
        ErrorCode.VALIDATION_ERROR: 400,
        ErrorCode.UNAUTHORIZED: 401,
        ErrorCode.FORBIDDEN: 403,
        ErrorCode.NOT_FOUND: 404,
        ErrorCode.METHOD_NOT_ALLOWED: 405,
        ErrorCode.CONFLICT: 409,
        ErrorCode.PRECONDITION_FAILED: 412,
        ErrorCode.PAYLOAD_TOO_LARGE: 413,
        ErrorCode.RATE_LIMITED: 429,
        ErrorCode.INTERNAL_ERROR: 500,
        ErrorCode.SERVICE_UNAVAILABLE: 503,
        ErrorCode.AGENT_UNAUTHORIZED: 407,
        ErrorCode.ACTION_DENIED: 403,
        ErrorCode.APPROVAL_PENDING: 403,
        ErrorCode.APPROVAL_DENIED: 403,
        ErrorCode.DESTINATION_BLOCKED: 403,
        ErrorCode.RESPONSE_WITHHELD: 403,
        ErrorCode.PROTOCOL_REFUSED: 403,
        ErrorCode.REQUEST_AMBIGUOUS: 400,
        ErrorCode.UPSTREAM_FAILED: 502,
        ErrorCode.CONNECTION_REFUSED: 403,
        ErrorCode.CONNECTION_BROKEN: 503,
    }
)


class HeadgateError(Exception):
    """Something that a caller is told: what happened, where, and what to do.

    ``message`` is shown to the caller and never holds a secret. ``details`` are JSON values.
    ``retry_after_seconds`` becomes the header Retry-After where it is set.
    """

    code: ClassVar[ErrorCode] = ErrorCode.INTERNAL_ERROR

    def __init__(
        self,
        message: str,
        *,
        details: Mapping[str, object] | None = None,
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.retry_after_seconds = retry_after_seconds

    @property
    def http_status(self) -> int:
        return HTTP_STATUS[self.code]


class ValidationError(HeadgateError):
    """The input is malformed; ``details`` name the field and the reason."""

    code = ErrorCode.VALIDATION_ERROR


class UnauthorizedError(HeadgateError):
    """The credential is missing, malformed, unknown, expired or revoked."""

    code = ErrorCode.UNAUTHORIZED


class ExpiredError(UnauthorizedError):
    """The credential was valid and its time is over: a page can say what to do."""


class ForbiddenError(HeadgateError):
    """The credential is valid and does not carry this right; the message names the scope."""

    code = ErrorCode.FORBIDDEN


class NotFoundError(HeadgateError):
    """No such resource for this caller (another organization's answers the same)."""

    code = ErrorCode.NOT_FOUND


class ConflictError(HeadgateError):
    """The resource's state, or another use of the same idempotency key, does not allow this."""

    code = ErrorCode.CONFLICT


class PreconditionFailedError(HeadgateError):
    """The resource is no longer the one that If-Match names (RFC 9110, section 13.1.1)."""

    code = ErrorCode.PRECONDITION_FAILED


class PayloadTooLargeError(HeadgateError):
    """A body, or one of its parts, is over its limit."""

    code = ErrorCode.PAYLOAD_TOO_LARGE


class RateLimitedError(HeadgateError):
    """The caller's budget of requests is used up; ``retry_after_seconds`` says when to come back."""

    code = ErrorCode.RATE_LIMITED


class UnavailableError(HeadgateError):
    """A part that the decision or the record needs is out of reach: nothing was forwarded."""

    code = ErrorCode.SERVICE_UNAVAILABLE


class AmbiguousRequestError(HeadgateError):
    """A request that two parsers could read differently; it is refused, never guessed at."""

    code = ErrorCode.REQUEST_AMBIGUOUS


class AgentUnauthorizedError(HeadgateError):
    """No valid agent key came with the request or the CONNECT that carries it (407, RFC 9110, 15.5.8)."""

    code = ErrorCode.AGENT_UNAUTHORIZED


class DestinationBlockedError(HeadgateError):
    """The address is private, the gate's own, or otherwise not one that an agent may reach."""

    code = ErrorCode.DESTINATION_BLOCKED


class ProtocolRefusedError(HeadgateError):
    """A protocol that the gate cannot inspect (an upgrade, a tunnelled protocol, trailers)."""

    code = ErrorCode.PROTOCOL_REFUSED


class UpstreamFailedError(HeadgateError):
    """The destination could not be reached, or broke the protocol, after the call had been allowed."""

    code = ErrorCode.UPSTREAM_FAILED
