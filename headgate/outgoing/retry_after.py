"""How long a receiver asks its sender to stay away."""

from typing import Final

from headgate.kernel.retry_after import seconds_of
from headgate.outgoing.model import OutgoingResponse

_LONGEST_SECONDS: Final = 3600.0


def retry_after_seconds(response: OutgoingResponse) -> float | None:
    """Retry-After in seconds, an hour at most (RFC 9110, section 10.2.3). A date, its other form, is as good as none:
    the sender's own schedule says when."""
    seconds = seconds_of(response.header("retry-after") or "")
    return None if seconds is None else min(seconds, _LONGEST_SECONDS)
