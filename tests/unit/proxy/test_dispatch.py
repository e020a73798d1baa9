"""Chains of hooks: order, failure, deadline."""

import asyncio

import pytest

from proxy import hook_deadlines
from proxy.dispatch import HookChain, Waiting
from proxy.options import FROZEN


def chain(*functions, stops: bool = True, may_wait: bool = True) -> HookChain:
    return HookChain("flow", functions, may_wait, stops)


async def run(hooks: HookChain) -> BaseException | None:
    outcome = hooks.begin(None)
    return await hooks.finish(None, outcome) if isinstance(outcome, Waiting) else outcome


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
    assert isinstance(await run(hooks), Boom)
    assert calls == ran


async def test_nothing_fails() -> None:
    async def waits(_: object) -> None:
        await asyncio.sleep(0)

    assert await run(chain(lambda _: None)) is None
    assert await run(chain(waits)) is None


async def test_a_plain_function_may_wait_where_it_has_to() -> None:
    calls: list[str] = []

    async def later(name: str) -> None:
        await asyncio.sleep(0)
        calls.append(name)

    hooks = chain(lambda _: None, lambda _: later("a"), lambda _: calls.append("b"), lambda _: later("c"))
    assert await run(hooks) is None
    assert calls == ["a", "b", "c"]


async def test_failures_before_and_after_a_wait() -> None:
    async def later(_: object) -> None:
        await asyncio.sleep(0)

    calls: list[int] = []
    for first, last in ((boom, later), (later, boom), (later, later_boom)):
        assert isinstance(await run(chain(first, later, last, lambda _: calls.append(1), stops=False)), Boom)
    assert calls == [1, 1, 1]


def test_a_hook_that_must_not_wait() -> None:
    async def later(_: object) -> None:
        await asyncio.sleep(0)

    assert isinstance(chain(later, may_wait=False).begin(None), TypeError)


async def test_a_hook_that_never_ends_is_a_failure(monkeypatch) -> None:
    monkeypatch.setattr(hook_deadlines, "HOOK_DEADLINE_SECONDS", 0.01)

    async def forever(_: object) -> None:
        await asyncio.Event().wait()

    failure = await run(chain(forever))
    assert isinstance(failure, asyncio.CancelledError)
    assert str(failure) == "the hook did not end in time"


async def test_each_hook_has_a_deadline_of_its_own(monkeypatch) -> None:
    """One timer serves them all: it is set by the first, which has ended when it fires."""
    monkeypatch.setattr(hook_deadlines, "HOOK_DEADLINE_SECONDS", 0.01)
    hooks = chain(asyncio.Event.wait, lambda _: None)

    async def wait_for(event: asyncio.Event) -> BaseException | None:
        outcome = hooks.begin(event)
        assert isinstance(outcome, Waiting)
        return await hooks.finish(event, outcome)

    set_already = asyncio.Event()
    set_already.set()
    for _ in range(2):
        # That it answers with True is a failure too, and another one.
        assert isinstance(await wait_for(set_already), TypeError)
        failures = await asyncio.gather(*(asyncio.create_task(wait_for(asyncio.Event())) for _ in range(3)))
        assert [str(failure) for failure in failures] == ["the hook did not end in time"] * 3


def test_the_deadline_is_below_the_connections() -> None:
    timeout = FROZEN["tcp_timeout"]
    assert isinstance(timeout, int)
    assert timeout > hook_deadlines.HOOK_DEADLINE_SECONDS


async def test_a_hook_that_returns_something_is_a_failure() -> None:
    async def answers(_: object) -> str:
        return "allow"

    assert isinstance(await run(chain(lambda _: "allow")), TypeError)
    assert isinstance(await run(chain(answers)), TypeError)
