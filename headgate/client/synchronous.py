"""The client that waits for each answer."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import httpx

from headgate.client import operations
from headgate.client.call import Call, Patience, unreachable
from headgate.client.connect import POLL_SECONDS, UNDECIDED, connection_arguments
from headgate.client.errors import error_of
from headgate.client.pages import next_page
from headgate.client.repetition import last_answer

if TYPE_CHECKING:
    from headgate.client.types import ActionDetail


class Client:
    """``with Client(url, agent_key=…) as client: client.send(operations.get_action("act_…"))``.

    ``token``: a person's, or an administrator's key; ``agent_key``: an agent's. Proxies that the environment names are
    not used: these are not an agent's calls.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        agent_key: str | None = None,
        patience: Patience | None = None,
        timeout_seconds: float = 60.0,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url = url.rstrip("/")
        self._patience = patience or Patience()
        self._sleep = sleep
        arguments = connection_arguments(self._url, token, agent_key, timeout_seconds)
        self._http = httpx.Client(**arguments, transport=transport)

    def send[Answer](self, call: Call[Answer]) -> Answer:
        """Raises ApiError (a subclass for each status), UnreachableError."""
        return call.value(self.answer(call))

    def answer(self, call: Call[Any]) -> httpx.Response:
        """The last answer, whatever it says, once there is nothing to wait for. Raises UnreachableError."""
        return last_answer(call, self._sent, self._patience, self._sleep)

    def _sent(self, call: Call[Any]) -> httpx.Response:
        try:
            return self._http.request(**call.request())
        except httpx.HTTPError as error:
            raise unreachable(self._url, error) from error

    def entries(self, call: Call[Any]) -> Iterator[Any]:
        """Every entry of a list, page by page. Raises as ``send``."""
        following: Call[Any] | None = call
        while following is not None:
            page: Mapping[str, Any] = self.send(following)
            yield from page["data"]
            following = next_page(following, page)

    def lines(self, call: Call[Any]) -> Iterator[str]:
        """An answer that comes line by line, as server-sent events do. Raises as ``send``; it is not begun again."""
        with self._streamed(call) as answer:
            yield from answer.iter_lines()

    def pieces(self, call: Call[Any]) -> Iterator[bytes]:
        """A file that may be larger than memory, as it comes. Raises as ``send``; it is not begun again."""
        with self._streamed(call) as answer:
            yield from answer.iter_bytes()

    @contextmanager
    def _streamed(self, call: Call[Any]) -> Iterator[httpx.Response]:
        try:
            with self._http.stream(**call.request()) as answer:
                if not answer.is_success:
                    answer.read()
                    raise error_of(answer)
                yield answer
        except httpx.HTTPError as error:
            raise unreachable(self._url, error) from error

    def submit(
        self,
        tool: str,
        operation: str,
        params: Mapping[str, Any],
        *,
        context: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        wait_seconds: float = 0.0,
    ) -> ActionDetail:
        """An action, decided. With an idempotency key of its own unless one is given, so that a repetition after a
        broken connection is the same action. ``wait_seconds``: how long to wait for a person, by long polls."""
        body: dict[str, Any] = {
            "tool": tool,
            "operation": operation,
            "params": dict(params),
            "idempotency_key": idempotency_key or f"py-{uuid.uuid4()}",
        }
        if context is not None:
            body["context"] = dict(context)
        action = self.send(operations.create_action(cast("Any", body)))
        return self.wait_for(action["id"], wait_seconds)

    def wait_for(self, action_id: str, seconds: float) -> ActionDetail:
        """The action once it is decided, or as it is when the time is over."""
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            wait = int(min(max(left, 0), POLL_SECONDS))
            action = self.send(operations.get_action(action_id, wait=wait, expand="all"))
            if action["status"] not in UNDECIDED or left <= 1:
                return action

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
