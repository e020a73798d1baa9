"""The API as a person at a terminal needs it: answers, or one sentence that says what to do."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx

from headgate.cli.tables import safe
from headgate.cli.target import Target
from headgate.kernel.errors import HeadgateError, UnauthorizedError, UnavailableError, ValidationError

_TIMEOUT_SECONDS: Final = 60.0
_SHOWN_OTHERWISE: Final = frozenset({"errors", "source", "line", "column", "file"})

type Document = dict[str, Any]
"""An answer of the API, as JSON: shown to a person or passed on, and nothing more."""


class ApiError(HeadgateError):
    """The API refused; the message is its own."""


class ApiClient:
    """One command's calls."""

    def __init__(self, target: Target, transport: httpx.BaseTransport | None = None) -> None:
        self._url = target.api_url
        # Not by way of the proxy that this shell's variables may name: these are not an agent's calls.
        self._client = httpx.Client(
            base_url=target.api_url,
            headers={"authorization": f"Bearer {target.token.reveal()}"},
            timeout=_TIMEOUT_SECONDS,
            trust_env=False,
            transport=transport,
        )

    def get(self, path: str, parameters: Mapping[str, str | int | None] | None = None) -> Document:
        wanted = {name: value for name, value in (parameters or {}).items() if value is not None}
        return self._send("GET", path, params=wanted)

    def post(self, path: str, body: Mapping[str, object]) -> Document:
        return self._send("POST", path, json=body)

    def delete(self, path: str) -> Document:
        return self._send("DELETE", path)

    def _send(self, method: str, path: str, **rest: Any) -> Document:
        try:
            answer = self._client.request(method, path, **rest)
        except httpx.HTTPError as error:
            raise UnavailableError(
                f"the API at {self._url} does not answer ({str(error) or type(error).__name__}): is the instance"
                " running? (headgate doctor)"
            ) from error
        if answer.is_success:
            return _document(answer) if answer.content else {}
        raise _refusal(answer)


def _document(answer: httpx.Response) -> Document:
    try:
        document = answer.json()
    except ValueError as error:
        raise UnavailableError(f"{answer.request.url} did not answer with JSON: is that Headgate's API?") from error
    if not isinstance(document, dict):
        raise UnavailableError(f"{answer.request.url} did not answer with an object: is that Headgate's API?")
    return document


def _refusal(answer: httpx.Response) -> HeadgateError:
    try:
        error = answer.json()["error"]
        message, details = str(error["message"]), error.get("details")
    except (ValueError, KeyError, TypeError):
        message, details = f"{answer.request.url} answered {answer.status_code}", None
    if answer.status_code == httpx.codes.UNAUTHORIZED:
        return UnauthorizedError(
            f"{message}. Tokens are valid for a day: use the runtime file of a running instance, or a new"
            " HEADGATE_TOKEN (headgate token)"
        )
    if answer.status_code == httpx.codes.BAD_REQUEST and details:
        return ValidationError("\n".join([message, *_what_else(details, message)]))
    after = answer.headers.get("retry-after", "")
    return ApiError(message, retry_after_seconds=int(after) if after.isascii() and after.isdigit() else None)


def _what_else(details: object, message: str) -> Iterator[str]:
    """The details that the message does not say already; a fault in a text with the line, and a mark below it."""
    if not isinstance(details, dict):
        return
    faults = details.get("errors")
    if isinstance(faults, list) and len(faults) > 1:
        yield from (f"  {safe(fault.get('field'))}: {safe(fault.get('reason'))}" for fault in faults)
    source, column = details.get("source"), details.get("column")
    if isinstance(source, str) and isinstance(column, int):
        yield f"  {safe(source.expandtabs(1))}"
        yield f"  {' ' * (column - 1)}^"
    for name, value in details.items():
        if name not in _SHOWN_OTHERWISE and str(value) not in message:
            yield f"  {safe(name)}: {safe(value)}"
