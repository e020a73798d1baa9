"""What a call can end in. One class for each kind of refusal (docs/reference/errors.md), and one for no answer."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from headgate.client.answer import Answer


class ApiError(Exception):
    """The API refused. ``code`` is stable, ``message`` is for people, ``details`` name the field and the reason.

    ``request_id``: under which the service's log has it. ``retry_after_seconds``: when to come back, where it said so.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str = "",
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.details: Mapping[str, Any] = details or {}
        self.request_id = request_id
        self.retry_after_seconds = retry_after_seconds


class InvalidError(ApiError):
    """400: a parameter or the body is malformed."""


class UnauthorizedError(ApiError):
    """401: the credential is missing, unknown, expired or revoked."""


class ForbiddenError(ApiError):
    """403: the credential does not carry this right; or, of an action, a policy or a person said no."""


class NotFoundError(ApiError):
    """404: there is no such resource for this credential."""


class ConflictError(ApiError):
    """409: the resource's state, or another use of the idempotency key."""


class PreconditionFailedError(ApiError):
    """412: the resource is not the one that If-Match names."""


class TooLargeError(ApiError):
    """413: the body exceeds its limit."""


class RateLimitedError(ApiError):
    """429, and the client was not to wait any longer."""


class ServerFaultError(ApiError):
    """500: a defect of the service."""


class UnavailableError(ApiError):
    """502, 503, 504: nothing was done; try again."""


class UnreachableError(Exception):
    """No answer, or one that is not the API's: nobody knows whether the call was carried out."""


_CLASSES: Final[Mapping[int, type[ApiError]]] = MappingProxyType(
    {
        400: InvalidError,
        401: UnauthorizedError,
        403: ForbiddenError,
        404: NotFoundError,
        409: ConflictError,
        412: PreconditionFailedError,
        413: TooLargeError,
        429: RateLimitedError,
        502: UnavailableError,
        503: UnavailableError,
        504: UnavailableError,
    }
)


def error_of(answer: Answer) -> ApiError:
    """The refusal in an answer whose body was read; both of the specification's body shapes are understood."""
    status, retry_after = answer.status_code, retry_after_seconds(answer)
    try:
        body = answer.json()
        error = body["error"]
        told: Mapping[str, Any] = error if isinstance(error, dict) else {"code": error, **body}
        message, code = str(told["message"]), str(told.get("code", ""))
        details, request_id = told.get("details"), told.get("requestId")
    except (ValueError, KeyError, TypeError):
        message, code, details, request_id = f"{answer.url} answered {status}", "", None, None
    kind = _CLASSES.get(status, ServerFaultError if status >= HTTPStatus.INTERNAL_SERVER_ERROR else ApiError)
    return kind(
        message,
        status=status,
        code=code,
        details=details if isinstance(details, dict) else None,
        request_id=request_id if isinstance(request_id, str) else answer.headers.get("x-request-id"),
        retry_after_seconds=retry_after,
    )


def retry_after_seconds(answer: Answer) -> float | None:
    """Retry-After as seconds (RFC 9110, section 10.2.3); its other form, a date, is not what the API sends."""
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else None
