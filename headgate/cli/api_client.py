"""The API as a person at a terminal needs it: answers, or one sentence that says what to do."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from headgate.agents.keys import KEY_PREFIX
from headgate.agents.scopes import Scope, roles_with
from headgate.cli.tables import safe
from headgate.cli.target import Target
from headgate.client.call import Call, Patience
from headgate.client.credential import credential_headers
from headgate.client.errors import ApiError as Refusal
from headgate.client.errors import UnreachableError
from headgate.client.repetition import last_answer
from headgate.kernel.errors import HeadgateError, NotFoundError, UnauthorizedError, UnavailableError, ValidationError

if TYPE_CHECKING:
    from headgate.cli.http_connection import ReceivedAnswer

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
_SHOWN_OTHERWISE: Final = frozenset({"errors", "failing", "source", "line", "column", "file"})


class ApiError(HeadgateError):
    """The API refused; the message is its own."""


class ApiClient:
    """One command's calls, those that programs make too (``headgate.client.operations``)."""

    def __init__(self, target: Target, *, is_patient: bool = False) -> None:
        """``is_patient``: what is refused for coming too fast (429) is sent again when the API says so."""
        from headgate.cli.http_connection import HttpConnection  # noqa: PLC0415 - help needs no HTTP and no TLS

        self._url = target.api_url
        self._patience = _PATIENT if is_patient else _AT_ONCE
        self._is_key = target.token.reveal().startswith(KEY_PREFIX)
        headers = credential_headers(target.token.reveal(), None)
        self._connection = HttpConnection(target.api_url, headers, _TIMEOUT_SECONDS)

    def send[**Arguments, Answer](
        self, operation: Callable[Arguments, Call[Answer]], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Sends one of ``headgate.client.operations``. Raises HeadgateError."""
        return self._send(_call(operation, *args, **kwargs))

    def send_long[**Arguments, Answer](
        self, operation: Callable[Arguments, Call[Answer]], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """As ``send``, for an operation that takes minutes on a large amount of data."""
        return self._send(_call(operation, *args, **kwargs).within(_LONG_SECONDS))

    def tagged[**Arguments, Answer](
        self, operation: Callable[Arguments, Call[Answer]], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> tuple[Answer, str | None]:
        """As ``send``, with the entity tag, for the ``if_match`` of the operation that replaces the answer."""
        call = _call(operation, *args, **kwargs)
        answer = self._answer(call)
        return _value(call, answer), answer.headers.get("etag")

    def pieces[**Arguments](
        self, operation: Callable[Arguments, Call[bytes]], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Iterator[bytes]:
        """A file that may be larger than memory, as it comes."""
        with self._told_of():
            yield from self._connection.pieces(_call(operation, *args, **kwargs).within(_LINE_SECONDS))

    def lines[**Arguments](
        self, operation: Callable[Arguments, Call[bytes]], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Iterator[str]:
        """An answer that comes line by line, for as long as it takes."""
        yield from self._lines(_call(operation, *args, **kwargs).within(_LINE_SECONDS))

    def fields[**Arguments](
        self, operation: Callable[Arguments, Call[bytes]], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Iterator[tuple[str, str]]:
        """Fields of server-sent events, name and value, until the server ends them; comments are left out."""
        for line in self._lines(_call(operation, *args, **kwargs)):
            name, colon, value = line.partition(":")
            if name and colon:
                yield name, value.removeprefix(" ")

    def _lines(self, call: Call[Any]) -> Iterator[str]:
        with self._told_of():
            yield from self._connection.lines(call)

    @contextmanager
    def _told_of(self) -> Iterator[None]:
        """What goes wrong while an answer comes, as a sentence."""
        try:
            yield
        except Refusal as refusal:
            raise _told(refusal, is_key=self._is_key) from refusal
        except UnreachableError as error:
            raise UnavailableError(f"the API at {self._url} stopped answering: {error.__cause__}") from error

    def _send[Answer](self, call: Call[Answer]) -> Answer:
        return _value(call, self._answer(call))

    def _answer(self, call: Call[Any]) -> "ReceivedAnswer":
        try:
            answer = last_answer(call, self._connection.answer, self._patience, time.sleep)
            if not answer.is_success:
                call.value(answer)
        except Refusal as refusal:
            raise _told(refusal, is_key=self._is_key) from refusal
        except UnreachableError as error:
            raise UnavailableError(f"{error}: is the instance running? (headgate doctor)") from error
        return answer


def _call[**Arguments, Answer](
    operation: Callable[Arguments, Call[Answer]], /, *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Call[Answer]:
    """Raises ValidationError for an argument that names no resource."""
    try:
        return operation(*args, **kwargs)
    except ValueError as error:
        raise ValidationError(str(error)) from error


def _value[Answer](call: Call[Answer], answer: "ReceivedAnswer") -> Answer:
    try:
        value = call.value(answer)
    except UnreachableError as error:
        raise UnavailableError(str(error)) from error
    if call.reads == "json" and not isinstance(value, dict | None):
        raise UnavailableError(
            f"{answer.url} did not answer with a JSON object. Is this the address of Headgate's API?"
        )
    return value


def _told(refusal: Refusal, *, is_key: bool) -> HeadgateError:
    """As one sentence that says what to do. ``is_key``: the credential is an API key, not a token."""
    message, details = refusal.message, refusal.details
    if refusal.status == HTTPStatus.UNAUTHORIZED and is_key:
        return UnauthorizedError(message)
    if refusal.status == HTTPStatus.UNAUTHORIZED:
        return UnauthorizedError(
            f"{message.removesuffix('.')}. Tokens are valid for one day: use the runtime file of a running instance, or"
            " create a new HEADGATE_TOKEN (headgate token)"
        )
    if refusal.status == HTTPStatus.NOT_FOUND:
        return NotFoundError(message)
    if refusal.status == HTTPStatus.BAD_REQUEST and details:
        return ValidationError("\n".join([message, *_what_else(details, message)]))
    if (missing := details.get("missing_scope")) in list(Scope):
        message += f"; roles with this scope: {', '.join(roles_with(Scope(missing)))}"
    if "required_aal" in details:
        message += ". Run headgate mfa step-up. Without an authenticator, run headgate mfa enrol first"
    after = refusal.retry_after_seconds
    return ApiError(message, retry_after_seconds=None if after is None else int(after))


def _what_else(details: Mapping[str, Any], message: str) -> Iterator[str]:
    """The details that the message does not say already; a fault in a text with the line, and a mark below it."""
    faults = details.get("errors")
    if isinstance(faults, list) and len(faults) > 1:
        yield from (f"  {safe(fault.get('field'))}: {safe(fault.get('reason'))}" for fault in faults)
    failing = details.get("failing")
    if isinstance(failing, list):  # The message names only the first failing tests.
        lines = [f"{one.get('name')}: {one.get('message')}" for one in failing if isinstance(one, dict)]
        yield from (f"  {safe(line)}" for line in lines if line not in message)
        return
    source, column = details.get("source"), details.get("column")
    if isinstance(source, str) and isinstance(column, int) and source.strip():
        yield f"  {safe(source.expandtabs(1))}"
        yield f"  {' ' * (column - 1)}^"
    if (command := _LISTED_BY.get(str(details.get("expected_prefix")))) is not None:
        yield f"  headgate {command} lists them"
    # Where the message names the place, the field is the API's word for it, and the reason the message's in short.
    placed = "file" in details or message.startswith(f"{details.get('field')}: ")
    for name, value in details.items():
        if name in _SHOWN_OTHERWISE or (placed and name in {"field", "reason"}):
            continue
        names = value if isinstance(value, list) and all(isinstance(one, str) for one in value) else [value]
        if any(str(one) not in message for one in names):
            yield f"  {safe(name)}: {safe(value)}"
