"""Unwraps master keys with a key management service: one request per process for each wrapped key.

Callers hold an event loop. They wait for the first request of a key, for a limited time, and for no later one. Each
request runs in a thread of its own. If one fails, callers get its failure at once, and the next request starts after a
pause. So a service that is away does not slow a running process, and a process needs no restart when it is back.
"""

import asyncio
import random
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from msgspec import Struct, field

from headgate.kernel.backoff import Backoff
from headgate.kernel.errors import HeadgateError, UnavailableError
from headgate.kernel.secrets import Secret
from headgate.kms.key_services import KeyServices
from headgate.vault.stored_keys import DamagedKeysError, checked
from headgate.vault.wrapped_key import WrappedKey, Wrapping

WAIT_SECONDS: Final = 2.0
COMMAND_WAIT_SECONDS: Final = 30.0
"""For commands, which hold no event loop."""
_PAUSE: Final = Backoff(first_seconds=1.0, cap_seconds=15.0)

type _Asked = tuple[str, WrappedKey]


class _Request(Struct, eq=False):
    """``failures``: of this key until now. ``again_at``: when the next request may start, in seconds of the monotonic
    clock. ``is_waited_for``: a caller has waited for this request."""

    failures: int
    ended: threading.Event = field(default_factory=threading.Event)
    failure: str = "the key management service has not answered yet"
    again_at: float = 0.0
    is_waited_for: bool = False


class Unwrapper:
    """One per process, for all readers of the file of master keys. Keeps unwrapped keys in memory only."""

    def __init__(
        self,
        services: KeyServices,
        *,
        wait_seconds: float = WAIT_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._services = services
        self._wait_seconds = wait_seconds
        self._monotonic = monotonic
        self._keys: dict[_Asked, Secret] = {}
        self._requests: dict[_Asked, _Request] = {}
        self._lock = threading.Lock()

    def unwrap(self, wrapped: Mapping[str, WrappedKey]) -> dict[str, bytes]:
        """Returns the keys by their identifiers. Raises UnavailableError, which names key, service and cause."""
        self._request([one for one in wrapped.items() if one not in self._keys])
        keys: dict[str, bytes] = {}
        for one in wrapped.items():
            key_id, kept = one[0], self._keys.get(one)
            if kept is None:
                raise UnavailableError(
                    f"the master key {key_id!r} cannot be unwrapped with {one[1].wrapping.kms}:"
                    f" {self._requests[one].failure}. Headgate retries automatically"
                )
            keys[key_id] = bytes.fromhex(kept.reveal())
        return keys

    def wrap(self, key_id: str, key: bytes, wrapping: Wrapping) -> WrappedKey:
        """Wraps a key, and unwraps it to check that the service gives it back. Blocks until both have ended. Raises
        UnavailableError."""

        async def wrap() -> WrappedKey:
            context = wrapping.context(key_id)
            wrapped = WrappedKey(wrapping, await self._services.encrypt(wrapping.kms, key, context))
            opened = await self._services.decrypt(wrapping.kms, wrapped.ciphertext, context)
            if Secret(opened.hex()) != Secret(key.hex()):
                raise UnavailableError(
                    f"{wrapping.kms} did not give back the key that it wrapped: use another key of the service"
                )
            return wrapped

        # The caller may be in an event loop, where another cannot run.
        with ThreadPoolExecutor(1) as thread:
            wrapped = thread.submit(asyncio.run, wrap()).result()
        self._keys[key_id, wrapped] = Secret(key.hex())
        return wrapped

    def _request(self, asked: list[_Asked]) -> None:
        until = self._monotonic() + self._wait_seconds
        with self._lock:
            requests = [self._current(one) for one in asked]
        for one in requests:
            if not one.is_waited_for:
                one.ended.wait(max(until - self._monotonic(), 0.0))
                one.is_waited_for = True

    def _current(self, asked: _Asked) -> _Request:
        last = self._requests.get(asked)
        if last is not None and (not last.ended.is_set() or self._monotonic() < last.again_at):
            return last
        made = _Request(0) if last is None else _Request(last.failures, failure=last.failure, is_waited_for=True)
        self._requests[asked] = made
        threading.Thread(target=self._ask, args=(asked, made), name="unwrap", daemon=True).start()
        return made

    def _ask(self, asked: _Asked, request: _Request) -> None:
        key_id, wrapped = asked
        try:
            opened = asyncio.run(
                self._services.decrypt(wrapped.wrapping.kms, wrapped.ciphertext, wrapped.wrapping.context(key_id))
            )
            self._keys[asked] = Secret(checked(key_id, opened).hex())
        except HeadgateError as error:
            request.failure = error.message
        except DamagedKeysError as error:
            request.failure = str(error)
        finally:
            request.failures += 1
            request.again_at = self._monotonic() + _PAUSE.pause_seconds(request.failures, random.random())  # noqa: S311
            request.ended.set()
