"""From errors to answers: the nested body of the specification's section "Errors", on every route.

What is not one of ours becomes INTERNAL_ERROR and says nothing of what happened inside; the log has it,
under the same request id.
"""

import json
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from admin_api.pages import page
from admin_api.request_state import RequestState, request_state
from admin_api.resources import MethodNotAllowedError
from headgate.kernel.clock import system_clock
from headgate.kernel.error_body import error_body, help_url_of, with_help
from headgate.kernel.errors import HTTP_STATUS, ErrorCode, HeadgateError, NotFoundError, RateLimitedError

JSON: Final = "application/json"
DEFECT: Final = "internal error: the server log has the cause under this requestId"

_BY_STATUS: Final[Mapping[int, tuple[ErrorCode, str]]] = {
    400: (ErrorCode.VALIDATION_ERROR, "the request is malformed"),
    404: (ErrorCode.NOT_FOUND, "nothing at this path; /openapi.json lists the routes"),
    413: (ErrorCode.PAYLOAD_TOO_LARGE, "the body exceeds its limit"),
}
_PATH_SHOWN: Final = 200
_REASONS: Final = {
    "missing": "is required",
    "extra_forbidden": "is not a known field",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
}
_NUMBERS: Final = ("int", "float")
_SHOULD: Final = re.compile(r"^[A-Z]\w*(?: \w+){0,2}? should\b")


def encoded_error(
    code: ErrorCode, message: str, *, request_id: str, details: Mapping[str, object] | None = None
) -> bytes:
    """The body of any error answer."""
    return json.dumps(error_body(code, message, details, request_id=request_id, now=system_clock())).encode()


def details_of(error: HeadgateError, state: RequestState) -> Mapping[str, object] | None:
    """With the page about the action that they name."""
    return with_help(error.details, help_url_of(state.public_url, (error.details or {}).get("action_id")))


def error_headers(error: HeadgateError) -> dict[str, str]:
    headers: dict[str, str] = {}
    if error.retry_after_seconds is not None:
        headers["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, RateLimitedError) and (limit := (error.details or {}).get("open_approvals")) is not None:
        # Of the limit that refused, not of the route's quota, which is not used up.
        reset_at = int(system_clock().timestamp()) + (error.retry_after_seconds or 0)
        headers |= {"X-RateLimit-Limit": str(limit), "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(reset_at)}
    if isinstance(error, MethodNotAllowedError):
        headers["Allow"] = error.allow
    if error.code is ErrorCode.UNAUTHORIZED:
        # RFC 9110, section 11.6.1: a 401 names a way to authenticate.
        headers["WWW-Authenticate"] = 'Bearer realm="headgate"'
    return headers


async def answer_headgate_error(request: Request, error: Exception) -> Response:
    """One of ours: its code, its message, its status."""
    assert isinstance(error, HeadgateError)  # noqa: S101 - registered for this class only
    if error.code is ErrorCode.INTERNAL_ERROR:
        # A subclass without a code is a defect of ours: what it says is for the log, not for the caller.
        raise error
    state = request_state(request.scope)
    body = encoded_error(error.code, error.message, request_id=state.request_id, details=details_of(error, state))
    return Response(body, error.http_status, error_headers(error), JSON)


async def answer_defect(request: Request, error: Exception) -> Response:
    """Anything else; ``request_context`` logs it."""
    body = encoded_error(ErrorCode.INTERNAL_ERROR, DEFECT, request_id=request_state(request.scope).request_id)
    return Response(body, HTTP_STATUS[ErrorCode.INTERNAL_ERROR], media_type=JSON)


async def answer_validation_error(request: Request, error: Exception) -> Response:
    """FastAPI's: the first field and its reason, and all of them; never the value, which may be a secret."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this class only
    # A parameter that a dependency reads too is told of twice.
    found = dict.fromkeys((_field_of(item), reason_of(item), item["loc"][0]) for item in error.errors())
    problems = [{"field": field, "reason": reason} for field, reason, _ in found]
    in_path = [one for one, (_, _, part) in zip(problems, found, strict=True) if part == "path"]
    if in_path:
        # What cannot be the name of a resource names none: the answer is that of an unknown one.
        return await answer_headgate_error(
            request, NotFoundError(f"{in_path[0]['field']}: {in_path[0]['reason']}", details={**in_path[0]})
        )
    content_type = request.headers.get("content-type", "")
    if any(item["loc"] == ("body",) and isinstance(item.get("input"), bytes) for item in error.errors()):
        # FastAPI parses what says that it is JSON, and nothing else (strict_content_type).
        problems = [{"field": "body", "reason": f"send JSON, with Content-Type: {JSON} (got {content_type[:64]})"}]
    first = problems[0] if problems else {"field": "body", "reason": "malformed"}
    body = encoded_error(
        ErrorCode.VALIDATION_ERROR,
        f"{first['field']}: {first['reason']}",
        request_id=request_state(request.scope).request_id,
        details={**first, "errors": problems},
    )
    return Response(body, HTTP_STATUS[ErrorCode.VALIDATION_ERROR], media_type=JSON)


async def answer_http_exception(request: Request, error: Exception) -> Response:
    """The framework's own: unknown paths and methods, and what it made of an error of ours."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class only
    if isinstance(error.__cause__, HeadgateError):
        return await answer_headgate_error(request, error.__cause__)
    if error.status_code == HTTPStatus.NOT_FOUND and "text/html" in request.headers.get("accept", ""):
        # Somebody typed an address: programs do not ask for pages.
        return page("error.html", {"message": f"There is no page at {request.url.path[:_PATH_SHOWN]}."}, status=404)
    code, message = _BY_STATUS.get(
        error.status_code, (ErrorCode.VALIDATION_ERROR, HTTPStatus(error.status_code).phrase)
    )
    body = encoded_error(code, message, request_id=request_state(request.scope).request_id)
    return Response(body, error.status_code, dict(error.headers or {}), JSON)


def reason_of(problem: Mapping[str, Any]) -> str:
    """What is wrong with a field, to stand after its name; never the value, which may be a secret.

    Pydantic speaks of inputs and strings, and counts the "items" of a text that was looked at before its length was.
    """
    bounds = problem.get("ctx", {})
    unit = "character" if isinstance(problem.get("input"), str) else "item"
    if problem["type"] == "too_short":
        return f"must have at least {_counted(bounds['min_length'], unit)}"
    if problem["type"] == "too_long":
        return f"must have at most {_counted(bounds['max_length'], unit)}"
    if problem["type"] in _REASONS:
        return _REASONS[problem["type"]]
    # Of a check of ours it tells the exception's name first.
    return _SHOULD.sub("must", str(problem["msg"]).removeprefix("Value error, "))


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}{'' if count == 1 else 's'}"


def _field_of(problem: Mapping[str, Any]) -> str:
    """Without the branch of a union of numbers (``at_most.int``); the body, where the body itself is wrong."""
    location: Sequence[object] = problem["loc"]
    if location[-1] in _NUMBERS and str(problem["type"]).startswith(f"{location[-1]}_"):
        location = location[:-1]
    return field_name(location) or str(location[0])


def field_name(location: Sequence[object]) -> str:
    """``("body", "destinations", 0, "host")`` as ``destinations[0].host``; the part of the request is left out,
    and so is the branch of a union that pydantic tried (``str-enum[PolicyMode]``)."""
    name = ""
    for part in location[1:]:
        if isinstance(part, str) and part.endswith("]") and "[" in part:
            continue
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else str(part)
    return name
