"""One call before it is sent, and what is decided about it without sending: headers, repetition, the answer's value.

Both clients do the I/O around this, and nothing else.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Final, Literal, cast

from headgate.client.answer import Answer as Received
from headgate.client.errors import ApiError, RateLimitedError, UnreachableError, error_of, retry_after_seconds

_REPEATABLE: Final = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
_TRANSIENT: Final = frozenset({502, 503, 504})
_FIRST_PAUSE_SECONDS: Final = 0.2
_SLACK_SECONDS: Final = 15.0
"""How much longer than a long poll its answer may take."""


@dataclass(frozen=True, slots=True)
class Call[Answer]:
    """Made by ``headgate.client.operations``. ``reads``: what the body is; ``seconds``: how long it may take."""

    method: str
    path: str
    parameters: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    reads: Literal["json", "bytes"] = "json"
    seconds: float | None = None

    def within(self, seconds: float) -> "Call[Answer]":
        """The same, given this long."""
        return replace(self, seconds=seconds)

    @property
    def is_repeatable(self) -> bool:
        """Whether sending it twice is as good as once: by its method, or because the body carries a key for that."""
        keyed = isinstance(self.body, dict) and self.body.get("idempotency_key") is not None
        return self.method in _REPEATABLE or keyed

    def request(self) -> dict[str, Any]:
        """As httpx takes it."""
        wanted = {name: _text(value) for name, value in self.parameters.items() if value is not None}
        arguments: dict[str, Any] = {"method": self.method, "url": self.path, "headers": dict(self.headers)}
        if wanted:
            arguments["params"] = wanted
        if self.body is not None:
            arguments["json"] = self.body
        waits = self.parameters.get("wait")
        seconds = self.seconds or (waits + _SLACK_SECONDS if isinstance(waits, int | float) and waits else None)
        if seconds is not None:
            arguments["timeout"] = seconds
        return arguments

    def value(self, answer: Received) -> Answer:
        """Raises ApiError, UnreachableError."""
        if not answer.is_success:
            raise error_of(answer)
        if self.reads == "bytes":
            return cast("Answer", answer.content)
        if not answer.content:
            return cast("Answer", None)
        try:
            return cast("Answer", answer.json())
        except ValueError as error:
            raise UnreachableError(
                f"{answer.url} did not answer with JSON. Is this the address of Headgate's API?"
            ) from error


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a call may wait to be sent again. What is refused for coming too fast was not carried out and is always
    sent again, when the API says so; what failed on the way only where that does no harm."""

    seconds: float = 60.0
    retries: int = 3

    def pause(self, call: Call[Any], answer: Received | None, *, tried: int, waited: float) -> float | None:
        """Seconds until the next try; None: this was the last. ``answer`` None: there was none."""
        status = None if answer is None else answer.status_code
        after = None if answer is None else retry_after_seconds(answer)
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            pause = after or 1.0
        elif tried > self.retries or not call.is_repeatable or (status is not None and status not in _TRANSIENT):
            return None
        else:
            # Full jitter, so that clients that failed together do not come back together.
            pause = after or random.uniform(0, _FIRST_PAUSE_SECONDS * 2**tried)  # noqa: S311 - spreads, hides nothing
        return pause if waited + pause <= self.seconds else None


def unreachable(url: str, error: Exception) -> UnreachableError:
    return UnreachableError(f"the API at {url} does not answer ({str(error) or type(error).__name__})")


def _text(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


__all__ = ["ApiError", "Call", "Patience", "RateLimitedError", "unreachable"]
