"""Calls a platform's JSON API through the shared outgoing client."""

import time
from typing import Final

from msgspec import Struct

from headgate.deliveries.excerpt import excerpt_of
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.clear_text import rules_for
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.model import OutgoingError, OutgoingLimits, OutgoingRequest, OutgoingResponse
from headgate.outgoing.retry_after import retry_after_seconds

_LONGEST_WAIT_SECONDS: Final = 3600.0
_AGAIN: Final = frozenset({401, 403, 408, 409, 423, 425, 429})
"""Refusals that an administrator or time can fix: a renewed token, a granted right."""
_PLAIN: Final = ("content-type", "application/json")


class PlatformError(Exception):
    """``failure`` is the outgoing client's code, or ``status``. ``is_final``: a retry is useless."""

    def __init__(
        self,
        failure: str,
        *,
        status: int | None = None,
        excerpt: str | None = None,
        retry_after_seconds: float | None = None,
        is_final: bool = False,
    ) -> None:
        super().__init__(failure if status is None else f"{failure} {status}")
        self.failure = failure
        self.status = status
        self.excerpt = excerpt
        self.retry_after_seconds = retry_after_seconds
        self.is_final = is_final


class Answer(Struct, frozen=True):
    """``document`` is None where the body is empty."""

    status: int
    document: JsonValue
    response: OutgoingResponse

    @property
    def members(self) -> JsonObject:
        """Raises PlatformError if the body is not an object."""
        if not isinstance(self.document, dict):
            raise PlatformError("unexpected_answer", status=self.status)
        return self.document


class PlatformApi(Struct, frozen=True):
    """``base_url`` without a trailing slash; ``headers`` carry the credential."""

    client: OutgoingClient
    base_url: str
    headers: tuple[tuple[str, str], ...]
    rules: DestinationRules
    deadline_seconds: float = 20.0

    async def call(
        self, method: str, path: str, body: JsonValue = None, *, accepted: tuple[int, ...] = (200, 201, 202, 204)
    ) -> Answer:
        """``path`` begins with a slash, its values percent-encoded. Raises PlatformError for any other status."""
        headers = (("accept", "application/json"), *self.headers)
        given = {name.lower() for name, _ in self.headers}
        if "accept" in given:
            headers = headers[1:]
        request = OutgoingRequest(
            method,
            self.base_url + path,
            headers if body is None else (*headers, _PLAIN),
            b"" if body is None else canonical_bytes(body),
        )
        try:
            response = await self.client.send(
                request,
                rules_for(self.base_url, self.rules),
                OutgoingLimits(connect_seconds=5.0, deadline_seconds=self.deadline_seconds),
            )
        except OutgoingError as error:
            raise PlatformError(error.failure.value, status=error.status, excerpt=error.message) from error
        if response.status not in accepted:
            raise _refused(response)
        try:
            document = parse_strict(response.body) if response.body else None
        except ValidationError as error:
            raise PlatformError("unexpected_answer", status=response.status) from error
        return Answer(response.status, document, response)


def _refused(response: OutgoingResponse) -> PlatformError:
    """A client error is final unless it asks to wait; a server error is not (RFC 9110, section 15)."""
    is_final = 400 <= response.status < 500 and response.status not in _AGAIN
    return PlatformError(
        "status",
        status=response.status,
        excerpt=excerpt_of(response.body),
        retry_after_seconds=_wait_seconds(response),
        is_final=is_final,
    )


def _wait_seconds(response: OutgoingResponse) -> float | None:
    """Retry-After; else the reset time of an exhausted quota, as GitHub reports it
    (https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api)."""
    reset = response.header("x-ratelimit-reset") or ""
    is_used_up = response.header("x-ratelimit-remaining") == "0" and not response.header("retry-after")
    if is_used_up and reset.isascii() and reset.isdigit():
        return min(max(int(reset[:12]) - time.time(), 1.0), _LONGEST_WAIT_SECONDS)
    return retry_after_seconds(response)


def text_at(document: JsonValue, *path: str) -> str | None:
    """The text at this path of members, if any."""
    found = document
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, str) else None


def list_at(document: JsonValue, *path: str) -> list[JsonValue]:
    """The list at this path of members; empty if there is none."""
    found = document
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, list) else []
