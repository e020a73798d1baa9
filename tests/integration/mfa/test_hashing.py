"""Argon2 beside the event loop, and no more of it than there is room for."""

import asyncio
import time

import pytest

from headgate.kernel.errors import UnavailableError
from headgate.mfa.codes import new_codes
from headgate.mfa.hashing import Hasher, hash_code, new_salt


def test_a_hash_takes_its_time_and_depends_on_code_and_salt() -> None:
    [code, other], salt = new_codes(2), new_salt()
    began = time.perf_counter()
    hashed = hash_code(code, salt)
    assert time.perf_counter() - began > 0.005
    assert hashed == hash_code(code, salt)
    assert len({hashed, hash_code(other, salt), hash_code(code, new_salt())}) == 3


async def test_the_loop_goes_on_meanwhile() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    ticking = asyncio.create_task(tick())
    await (hasher := Hasher()).hash_codes(new_codes(20), new_salt())
    ticking.cancel()
    assert ticks > 40, "more than one before and one after each of the codes"
    hasher.close()


async def test_too_many_are_refused_and_the_room_is_free_again() -> None:
    hasher = Hasher(most_waiting=10)
    codes, salt = new_codes(10), new_salt()
    first = asyncio.create_task(hasher.hash_codes(codes, salt))
    await asyncio.sleep(0)
    with pytest.raises(UnavailableError):
        await hasher.hash_codes(codes[:1], salt)
    await first
    assert len(await hasher.hash_codes(codes[:1], salt)) == 1
    hasher.close()
