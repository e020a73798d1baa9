"""What a response says about its sender's quota (specification, "Limits"; Retry-After: RFC 9110, 10.2.3)."""

from headgate.kernel.errors import RateLimitedError
from headgate.ratelimits.gcra import Verdict


def rate_limit_headers(verdict: Verdict) -> list[tuple[bytes, bytes]]:
    """X-RateLimit-Reset is in seconds since the epoch (semantics.md, "What the contract leaves open")."""
    return [
        (b"x-ratelimit-limit", b"%d" % verdict.limit),
        (b"x-ratelimit-remaining", b"%d" % verdict.remaining),
        (b"x-ratelimit-reset", b"%d" % verdict.reset_at_seconds),
    ]


def require_allowed(verdict: Verdict) -> None:
    """Raises RateLimitedError where the quota is used up."""
    if not verdict.allowed:
        raise RateLimitedError(
            f"more than {verdict.limit} requests: try again in {verdict.retry_after_seconds} s",
            details={"limit": verdict.limit, "reset_at": verdict.reset_at_seconds},
            retry_after_seconds=verdict.retry_after_seconds,
        )
