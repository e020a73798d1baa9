"""The API as a person at a terminal needs it: answers, or one sentence that says what to do."""

import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx

from headgate.cli.tables import safe
from headgate.cli.target import Target
from headgate.kernel.errors import HeadgateError, NotFoundError, UnauthorizedError, UnavailableError, ValidationError

_TIMEOUT_SECONDS: Final = 60.0
_LINE_SECONDS: Final = 300.0
_PATIENCE_SECONDS: Final = 60.0
_SHOWN_OTHERWISE: Final = frozenset({"errors", "source", "line", "column", "file"})

type Document = dict[str, Any]
"""An answer of the API, as JSON: shown to a person or passed on, and nothing more."""


class ApiError(HeadgateError):
    """The API refused; the message is its own."""


class ApiClient:
    """One command's calls."""

    def __init__(
        self, target: Target, transport: httpx.BaseTransport | None = None, *, is_patient: bool = False
    ) -> None:
        """``is_patient``: what is refused for coming too fast (429) is sent again when the API says so."""
        self._url = target.api_url
        self._is_patient = is_patient
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

    def get_any(self, path: str) -> Any:
        """Where the answer may be any JSON value."""
        return _value(self._answer("GET", path))

    def get_tagged(self, path: str) -> tuple[Document, str]:
        """The document with its entity tag, for ``put``."""
        answer = self._answer("GET", path)
        return _document(answer), answer.headers.get("etag", "*")

    def put(
        self, path: str, body: object, parameters: Mapping[str, str] | None = None, if_match: str = "*"
    ) -> Document:
        """``if_match``: the entity tag of what is to be replaced; without one, whatever is there."""
        headers = {} if if_match == "*" else {"if-match": if_match}
        return self._send("PUT", path, json=body, params=dict(parameters or {}), headers=headers)

    def post_lines(self, path: str, body: Mapping[str, object]) -> Iterator[str]:
        """An answer that comes line by line, for as long as it takes."""
        timeout = httpx.Timeout(_TIMEOUT_SECONDS, read=_LINE_SECONDS)
        try:
            with self._client.stream("POST", path, json=body, timeout=timeout) as answer:
                if not answer.is_success:
                    answer.read()
                    raise _refusal(answer)
                yield from answer.iter_lines()
        except httpx.HTTPError as error:
            raise UnavailableError(f"the API at {self._url} stopped answering: {error}") from error

    def patch(self, path: str, body: Mapping[str, object]) -> Document:
        return self._send("PATCH", path, json=body)

    def delete(self, path: str, parameters: Mapping[str, str | int | None] | None = None) -> Document:
        wanted = {name: value for name, value in (parameters or {}).items() if value is not None}
        return self._send("DELETE", path, params=wanted)

    def _send(self, method: str, path: str, **rest: Any) -> Document:
        answer = self._answer(method, path, **rest)
        return _document(answer) if answer.content else {}

    def _answer(self, method: str, path: str, **rest: Any) -> httpx.Response:
        try:
            answer = self._client.request(method, path, **rest)
            while self._is_patient and (seconds := _come_back_in(answer)) is not None:
                time.sleep(seconds)
                answer = self._client.request(method, path, **rest)
        except httpx.HTTPError as error:
            raise UnavailableError(
                f"the API at {self._url} does not answer ({str(error) or type(error).__name__}): is the instance"
                " running? (headgate doctor)"
            ) from error
        if answer.is_success:
            return answer
        raise _refusal(answer)


def _come_back_in(answer: httpx.Response) -> float | None:
    """Seconds after which to send it again; None: it is not a matter of time."""
    if answer.status_code != httpx.codes.TOO_MANY_REQUESTS:
        return None
    after = answer.headers.get("retry-after", "")
    return min(float(after), _PATIENCE_SECONDS) if after.isdecimal() else 1.0


def _value(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError as error:
        raise UnavailableError(f"{answer.request.url} did not answer with JSON: is that Headgate's API?") from error


def _document(answer: httpx.Response) -> Document:
    document = _value(answer)
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
    if answer.status_code == httpx.codes.NOT_FOUND:
        return NotFoundError(message)
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
