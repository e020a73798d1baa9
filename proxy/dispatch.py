"""Runs the addons' hooks, and is the place where an exception denies.

mitmproxy logs what a hook raises and goes on, which forwards the request. Here a hook that raises, whatever it
raises, refuses its request or closes its connection. And mitmproxy walks all addons for each hook, sends an
``update`` event after it and starts a task for it, which is half of its CPU; here a table is built once, and a
task is started only for a hook that waits.

Stands on internals of mitmproxy; ``tests/unit/proxy/test_internals.py`` fails when they change.
"""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from dataclasses import fields
from traceback import format_exc, format_exception
from types import CoroutineType
from typing import Any, Final

import msgspec
import structlog
from mitmproxy import hooks, http
from mitmproxy.addonmanager import AddonManager, traverse
from mitmproxy.connection import Client
from mitmproxy.http import HTTPFlow
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from addons.metrics import GATE_FAILURES
from addons.refusal import refusal_response
from addons.verdict import flow_state
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import UnavailableError
from proxy.hook_deadlines import HookDeadlines

_log = structlog.get_logger(__name__)

DECIDING: Final = frozenset({"requestheaders", "request", "http_connect", "server_connect"})
"""Hooks before the request goes upstream: the first that fails ends the chain, and refuses."""

SYNC_ONLY: Final = frozenset(
    {"responseheaders", "server_connect", "server_connected", "server_connect_error", "next_layer", "client_connected"}
)
"""Hooks that must not wait: the response would pile up meanwhile, or the dial in progress belongs to their task."""

GATE_FAILED: Final = "the gate failed"


class Waiting(msgspec.Struct, frozen=True):
    """A chain that has come to a hook that waits: what to wait for, where to go on, what has failed so far."""

    coroutine: Coroutine[Any, Any, object]
    next: int
    failure: BaseException | None


class HookChain(msgspec.Struct, frozen=True):
    """The functions of one hook, in the order of the addons. ``field`` names the hook's one argument.

    A function acts and returns nothing, or returns a coroutine to wait for: a coroutine function always does, a
    plain function where it has to. Only then a task is started.
    """

    field: str
    functions: tuple[Callable[[Any], object], ...]
    may_wait: bool
    stops_at_failure: bool
    deadlines: HookDeadlines = msgspec.field(default_factory=HookDeadlines)

    def begin(
        self, data: object, first: int = 0, failure: BaseException | None = None
    ) -> BaseException | Waiting | None:
        """Run until a function waits or the chain ends. The first exception is returned, never raised."""
        for index in range(first, len(self.functions)):
            function = self.functions[index]
            try:
                result = function(data)
                if result is None:
                    continue
                if type(result) is CoroutineType:
                    if self.may_wait:
                        return Waiting(result, index + 1, failure)
                    result.close()
                raise TypeError(f"{function.__qualname__} returned something that this hook cannot wait for")
            # A hook may raise anything, cancellation and exit included, and each has to deny.
            except BaseException as error:  # noqa: BLE001
                failure = failure or error
                if self.stops_at_failure:
                    break
        return failure

    async def finish(self, data: object, waiting: Waiting) -> BaseException | None:
        """Wait, within HOOK_DEADLINE_SECONDS for each function, and run the rest. As ``begin``."""
        task = _current_task()
        outcome: BaseException | Waiting | None = waiting
        while isinstance(outcome, Waiting):
            failure = outcome.failure
            # Cancels, and so fails, like asyncio.timeout.
            self.deadlines.begin(task)
            try:
                if await outcome.coroutine is not None:
                    raise TypeError("a hook returned something: a hook only acts")
            except BaseException as error:  # noqa: BLE001 - as in begin
                failure = failure or error
                if self.stops_at_failure:
                    return failure
            finally:
                self.deadlines.end(task)
            outcome = self.begin(data, outcome.next, failure)
        return outcome


def _current_task() -> asyncio.Task[Any]:
    """Every hook that waits runs in a task; outside of one, nothing could end it."""
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a hook waits outside of a task")
    return task


class GateAddonManager(AddonManager):
    """mitmproxy's manager with a table of hooks, built when a hook first fires."""

    def __init__(self, master: Any) -> None:  # mitmproxy's master and manager name each other untyped
        super().__init__(master)  # type: ignore[no-untyped-call] # untyped in mitmproxy
        self._table: dict[str, HookChain | None] = {}

    def register(self, addon: Any) -> Any:
        for one in traverse([addon]):
            for name in SYNC_ONLY:
                if inspect.iscoroutinefunction(getattr(one, name, None)):
                    raise TypeError(f"{type(one).__name__}.{name} must be a plain function")
        self._table.clear()
        return super().register(addon)  # type: ignore[no-untyped-call] # untyped in mitmproxy

    def remove(self, addon: Any) -> None:
        self._table.clear()
        super().remove(addon)  # type: ignore[no-untyped-call] # untyped in mitmproxy

    def hook_chain(self, hook: hooks.Hook) -> HookChain | None:
        """The chain of this kind of hook, or None where no addon has one."""
        try:
            return self._table[hook.name]
        except KeyError:
            self._table[hook.name] = chain = self._build(hook)
            return chain

    def _build(self, hook: hooks.Hook) -> HookChain | None:
        functions = tuple(function for addon in self.chain for _, function in self._iter_hooks(addon, hook))
        if not functions:
            return None
        (argument,) = fields(hook)  # type: ignore[arg-type] # every hook is a dataclass; mitmproxy says so elsewhere
        return HookChain(argument.name, functions, hook.name not in SYNC_ONLY, hook.name in DECIDING)

    async def trigger_event(self, event: hooks.Hook) -> None:
        """Lifecycle events of the process. What fails in ``running`` ends the start, in ``done`` only itself."""
        for addon in self.chain:
            try:
                await self.invoke_addon(addon, event)
            except Exception:
                if not isinstance(event, hooks.DoneHook):
                    raise
                _log.error("addon_failed_to_stop", addon=type(addon).__name__, traceback=format_exc())

    def trigger(self, event: hooks.Hook) -> None:
        """``configure``: what it raises reaches whoever changed the option (mitmproxy would only log it)."""
        for addon in self.chain:
            self.invoke_addon_sync(addon, event)


def fail_closed(name: str, data: object, failure: BaseException, close: Callable[[str], None]) -> None:
    """Deny what the hook ``name`` was about, because a function of its chain raised ``failure``.

    Raises what must end the process (SystemExit, KeyboardInterrupt), after denying.
    """
    GATE_FAILURES.labels(hook=name).inc()
    # The text of the traceback, not exc_info: a renderer that shows local variables would show credentials.
    _log.error("gate_failed", hook=name, error=repr(failure), traceback="".join(format_exception(failure)))
    if name == "server_connect" and isinstance(data, ServerConnectionHookData):
        data.server.error = GATE_FAILED
    elif name in DECIDING and isinstance(data, HTTPFlow):
        _refuse(data)
    elif name == "client_connected" and isinstance(data, Client):
        data.error = GATE_FAILED
    else:
        close(GATE_FAILED)
    if isinstance(failure, SystemExit | KeyboardInterrupt):
        raise failure


def _refuse(flow: HTTPFlow) -> None:
    """Refuse over whatever was decided: a chain that failed has decided nothing."""
    error = UnavailableError(
        "the gate failed while it decided about this request; nothing was forwarded",
        details={"cause": "gate_failed"},
        retry_after_seconds=5,
    )
    flow.response = refusal_response(
        error, request_id=flow.id, now=system_clock(), head=flow.request.data.method == b"HEAD"
    )
    try:
        state = flow_state(flow)
    except RuntimeError:
        return  # not the gate's own layer, and the response above stands
    state.refusal = error
    state.allowed = state.lifted = False


def skip_type_checks() -> None:
    """Take mitmproxy's checks of its own dataclasses off the hot path: 11 % of its CPU, and no input is checked."""
    if __debug__:
        http.MessageData.__post_init__ = _nothing  # type: ignore[method-assign] # there only without -O


def _nothing(_: object) -> None:
    """In place of ``MessageData.__post_init__``."""
