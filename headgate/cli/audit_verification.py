"""``headgate audit verify`` by the API: on a terminal, it shows how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from headgate.cli.api_client import ApiClient, ApiError
from headgate.cli.progress import progress_bar
from headgate.client import operations
from headgate.kernel.errors import UnavailableError

if TYPE_CHECKING:
    from headgate.client.types import VerifyRequest

_POLL_SECONDS_MAX: Final = 3.0
"""A person may send 50 administrative requests a minute."""


def verify_by_api(client: ApiClient, body: VerifyRequest) -> Mapping[str, Any]:
    """The answer of POST /admin/audit/verify. Raises HeadgateError."""
    if not sys.stderr.isatty():
        return client.send_long(operations.verify_audit, body)
    try:
        started = client.send(operations.verification_audit, body)
    except ApiError:  # one runs already, which may be about other checkpoints or another time
        return client.send_long(operations.verify_audit, body)
    now, shown, wait_seconds = started, 0, 0.2
    with progress_bar(started["events"], "events") as progress:
        while now["state"] == "running":
            time.sleep(wait_seconds)
            wait_seconds = min(wait_seconds * 1.5, _POLL_SECONDS_MAX)
            now = client.send(operations.get_audit_verification)
            if now["started_at"] != started["started_at"]:
                raise UnavailableError("another verification was started after this one. Run the command again.")
            progress(now["verified"] - shown)
            shown = now["verified"]
    if now["result"] is None:
        raise UnavailableError(now["failure"] or "the API was stopped meanwhile. Run the command again.")
    return now["result"]
