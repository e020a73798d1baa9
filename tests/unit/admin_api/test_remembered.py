"""Polled by many, made once in a while; a failure is asked again."""

import asyncio

import pytest

from admin_api.health.remembered import Remembered


async def test_it_is_made_once_for_all_who_ask() -> None:
    now, made = [0.0], []

    async def make() -> int:
        await asyncio.sleep(0)
        made.append(None)
        return len(made)

    remembered = Remembered(make, seconds=1.0, monotonic=lambda: now[0])
    assert await asyncio.gather(*(remembered.get() for _ in range(50))) == [1] * 50
    now[0] = 1.0
    assert await asyncio.gather(*(remembered.get() for _ in range(50))) == [2] * 50


async def test_a_failure_is_not_remembered() -> None:
    answers = iter([OSError("gone"), 1])

    async def make() -> int:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    remembered = Remembered(make, seconds=60.0)
    with pytest.raises(OSError, match="gone"):
        await remembered.get()
    assert await remembered.get() == 1
