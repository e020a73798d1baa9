"""The API as a person at a terminal needs it: answers, or one sentence that says what to do."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import httpx

from headgate.agents.scopes import Scope, roles_with
from headgate.cli.tables import safe
from headgate.cli.target import Target
from headgate.client.call import Call, Patience
from headgate.client.errors import ApiError as Refusal
from headgate.client.errors import UnreachableError
from headgate.client.synchronous import Client
from headgate.kernel.errors import HeadgateError, NotFoundError, UnauthorizedError, UnavailableError, ValidationError

_TIMEOUT_SECONDS: Final = 60.0
_LONG_SECONDS: Final = 600.0
_LINE_SECONDS: Final = 300.0
_PATIENCE_SECONDS: Final = 3600.0
_AT_ONCE: Final = Patience(seconds=0, retries=0)
_PATIENT: Final = Patience(seconds=_PATIENCE_SECONDS, retries=0)
_LISTED_BY: Final = {
    "act_": "audit list",
    "agt_": "agents list",
    "apr_": "approvals list",
    "brk_": "break-glass list",
    "con_": "connections list",
    "evt_": "audit list",
    "exc_": "traffic list",
    "grt_": "grants list",
    "hld_": "retention holds",
    "key_": "keys list",
    "org_": "org list",
    "pol_": "policy list",
    "rep_": "reports list",
    "usr_": "users list",
    "whk_": "webhooks list",
}
_SHOWN_OTHERWISE: Final = frozenset({"errors", "source", "line", "column", "file"})

type Document = dict[str, Any]
"""An answer of the API, as JSON: shown to a person or passed on, and nothing more."""


class ApiError(HeadgateError):
    """The API refused; the message is its own."""


class ApiClient:
    """One command's calls, by the client that programs use too (``headgate.client``)."""

    def __init__(
        self, target: Target, transport: httpx.BaseTransport | None = None, *, is_patient: bool = False
    ) -> None:
        """``is_patient``: what is refused for coming too fast (429) is sent again when the API says so."""
        self._url = target.api_url
        self._client = Client(
            target.api_url,
            token=target.token.reveal(),
            patience=_PATIENT if is_patient else _AT_ONCE,
            timeout_seconds=_TIMEOUT_SECONDS,
            transport=transport,
        )

    def get(self, path: str, parameters: Mapping[str, str | int | None] | None = None) -> Document:
        return self._send(Call("GET", path, parameters or {}))

    def post(self, path: str, body: Mapping[str, object]) -> Document:
        return self._send(Call("POST", path, body=body))

    def post_long(self, path: str, body: Mapping[str, object]) -> Document:
        """What takes minutes where there is much of it."""
        return self._send(Call("POST", path, body=body, seconds=_LONG_SECONDS))

    def get_bytes(self, path: str) -> bytes:
        """Where the answer is a file."""
        return self._answer(Call("GET", path)).content

    def get_pieces(self, path: str) -> Iterator[bytes]:
        """A file that may be larger than memory, as it comes."""
        with self._told_of():
            yield from self._client.pieces(Call("GET", path, seconds=_LINE_SECONDS))

    def get_any(self, path: str) -> Any:
        """Where the answer may be any JSON value."""
        return _value(self._answer(Call("GET", path)))

    def get_tagged(self, path: str) -> tuple[Document, str]:
        """The document with its entity tag, for ``put``."""
        answer = self._answer(Call("GET", path))
        return _document(answer), answer.headers.get("etag", "*")

    def put(
        self, path: str, body: object, parameters: Mapping[str, str] | None = None, if_match: str = "*"
    ) -> Document:
        """``if_match``: the entity tag of what is to be replaced; without one, whatever is there."""
        headers = {} if if_match == "*" else {"if-match": if_match}
        return self._send(Call("PUT", path, parameters or {}, body, headers))

    def post_lines(self, path: str, body: Mapping[str, object]) -> Iterator[str]:
        """An answer that comes line by line, for as long as it takes."""
        yield from self._lines(Call("POST", path, body=body, seconds=_LINE_SECONDS))

    def stream(self, path: str, headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Fields of server-sent events, name and value, until the server ends them; comments are left out."""
        for line in self._lines(Call("GET", path, headers=headers)):
            name, colon, value = line.partition(":")
            if name and colon:
                yield name, value.removeprefix(" ")

    def patch(self, path: str, body: Mapping[str, object]) -> Document:
        return self._send(Call("PATCH", path, body=body))

    def delete(self, path: str, parameters: Mapping[str, str | int | None] | None = None) -> Document:
        return self._send(Call("DELETE", path, parameters or {}))

    def _lines(self, call: Call[Any]) -> Iterator[str]:
        with self._told_of():
            yield from self._client.lines(call)

    @contextmanager
    def _told_of(self) -> Iterator[None]:
        """What goes wrong while an answer comes, as a sentence."""
        try:
            yield
        except Refusal as refusal:
            raise _told(refusal) from refusal
        except UnreachableError as error:
            raise UnavailableError(f"the API at {self._url} stopped answering: {error.__cause__}") from error

    def _send(self, call: Call[Any]) -> Document:
        answer = self._answer(call)
        return _document(answer) if answer.content else {}

    def _answer(self, call: Call[Any]) -> httpx.Response:
        try:
            answer = self._client.answer(call)
            if not answer.is_success:
                call.value(answer)
        except Refusal as refusal:
            raise _told(refusal) from refusal
        except UnreachableError as error:
            raise UnavailableError(f"{error}: is the instance running? (headgate doctor)") from error
        return answer


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


def _told(refusal: Refusal) -> HeadgateError:
    """As one sentence that says what to do."""
    message, details = refusal.message, refusal.details
    if refusal.status == httpx.codes.UNAUTHORIZED:
        return UnauthorizedError(
            f"{message}. Tokens are valid for a day: use the runtime file of a running instance, or a new"
            " HEADGATE_TOKEN (headgate token)"
        )
    if refusal.status == httpx.codes.NOT_FOUND:
        return NotFoundError(message)
    if refusal.status == httpx.codes.BAD_REQUEST and details:
        return ValidationError("\n".join([message, *_what_else(details, message)]))
    if (missing := details.get("missing_scope")) in list(Scope):
        message += f"; the roles with it: {', '.join(roles_with(Scope(missing)))}"
    if "required_aal" in details:
        message += ": headgate mfa step-up, or headgate mfa enrol where there is no authenticator yet"
    after = refusal.retry_after_seconds
    return ApiError(message, retry_after_seconds=None if after is None else int(after))


def _what_else(details: Mapping[str, Any], message: str) -> Iterator[str]:
    """The details that the message does not say already; a fault in a text with the line, and a mark below it."""
    faults = details.get("errors")
    if isinstance(faults, list) and len(faults) > 1:
        yield from (f"  {safe(fault.get('field'))}: {safe(fault.get('reason'))}" for fault in faults)
    source, column = details.get("source"), details.get("column")
    if isinstance(source, str) and isinstance(column, int) and source.strip():
        yield f"  {safe(source.expandtabs(1))}"
        yield f"  {' ' * (column - 1)}^"
    if (command := _LISTED_BY.get(str(details.get("expected_prefix")))) is not None:
        yield f"  headgate {command} shows them"
    # Where the message names the place, the field is the API's word for it, and the reason the message's in short.
    placed = "file" in details or message.startswith(f"{details.get('field')}: ")
    for name, value in details.items():
        if name in _SHOWN_OTHERWISE or (placed and name in {"field", "reason"}):
            continue
        names = value if isinstance(value, list) and all(isinstance(one, str) for one in value) else [value]
        if any(str(one) not in message for one in names):
            yield f"  {safe(name)}: {safe(value)}"
