"""The body of every refusal: the nested shape of the specification's section "Errors"."""

from collections.abc import Mapping
from datetime import datetime

from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ErrorCode


def help_url_of(public_url: str | None, action_id: object) -> str | None:
    """The page that explains the decision about a recorded action; None without an action, or an address."""
    return f"{public_url}/calls/{action_id}" if public_url is not None and isinstance(action_id, str) else None


def error_help_url(public_url: str | None, code: ErrorCode) -> str | None:
    """The page that explains a code; for refusals of what is not recorded as an action."""
    return None if public_url is None else f"{public_url}/errors/{code}"


def with_help(details: Mapping[str, object] | None, help_url: str | None) -> Mapping[str, object] | None:
    """``details`` and ``help_url``, if there is one."""
    return details if help_url is None else {**(details or {}), "help_url": help_url}


def error_body(
    code: ErrorCode, message: str, details: Mapping[str, object] | None, *, request_id: str, now: datetime
) -> dict[str, object]:
    """``{"error": {code, message, details, timestamp, requestId}}``; ``details`` is left out where there are none."""
    error: dict[str, object] = {"code": code.value, "message": message}
    if details:
        error["details"] = dict(details)
    error["timestamp"] = rfc3339(now)
    error["requestId"] = request_id
    return {"error": error}
