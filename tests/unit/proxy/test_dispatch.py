"""Chains of hooks: order, failure, deadline."""

import asyncio

import pytest

from proxy import dispatch
from proxy.dispatch import HookChain
from proxy.options import FROZEN


def chain(*functions, stops: bool = True) -> HookChain:
    pairs = tuple((function, asyncio.iscoroutinefunction(function)) for function in functions)
    return HookChain("flow", pairs, any(waits for _, waits in pairs), stops)


class Boom(BaseException):
    pass


def boom(_: object) -> None:
    raise Boom


async def later_boom(_: object) -> None:
    await asyncio.sleep(0)
    raise Boom


@pytest.mark.parametrize("middle", [boom, later_boom])
@pytest.mark.parametrize(("stops", "ran"), [(True, [1]), (False, [1, 2])])
async def test_order_and_failure(stops, ran, middle) -> None:
    calls: list[int] = []
    hooks = chain(lambda _: calls.append(1), middle, lambda _: calls.append(2), stops=stops)
    failure = await hooks.run_waiting(None) if hooks.waits else hooks.run(None)
    assert isinstance(failure, Boom)
    assert calls == ran


async def test_nothing_fails() -> None:
    async def waits(_: object) -> None:
        await asyncio.sleep(0)

    assert chain(lambda _: None).run(None) is None
    assert await chain(waits).run_waiting(None) is None


async def test_a_hook_that_never_ends_is_a_failure(monkeypatch) -> None:
    monkeypatch.setattr(dispatch, "HOOK_DEADLINE_SECONDS", 0.01)

    async def forever(_: object) -> None:
        await asyncio.Event().wait()

    assert isinstance(await chain(forever).run_waiting(None), TimeoutError)


def test_the_deadline_is_below_the_connections() -> None:
    timeout = FROZEN["tcp_timeout"]
    assert isinstance(timeout, int)
    assert timeout > dispatch.HOOK_DEADLINE_SECONDS


def test_a_hook_that_returns_something_is_a_failure() -> None:
    assert isinstance(chain(lambda _: "allow").run(None), TypeError)
