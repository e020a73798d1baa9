"""The body of every refusal: the nested shape of the specification's section "Errors"."""

from collections.abc import Mapping
from datetime import datetime

from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ErrorCode


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
