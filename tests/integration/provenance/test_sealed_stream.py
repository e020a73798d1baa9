"""The stream by itself, over a real Valkey: what an outage may hold, and that nothing is heard twice."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from headgate.db.valkey import open_valkey
from headgate.kernel.sealed_stream import SealedStream
from headgate.kernel.secrets import Secret

_NAME = "headgate.test-stream"


@pytest.fixture
async def valkey(valkey_url: str) -> AsyncIterator[Redis]:
    client = open_valkey(Secret(valkey_url))
    assert client is not None
    await client.delete(_NAME)
    yield client
    await client.delete(_NAME)
    await client.aclose()


def _stream(valkey: Redis) -> SealedStream:
    return SealedStream(valkey, Secret("a secret"), _NAME, b"test", window_seconds=600)


@contextlib.asynccontextmanager
async def _running(*loops: Any) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(one) for one in loops]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _until(heard: list[Any], count: int) -> None:
    async with asyncio.timeout(20):
        while len(heard) < count:
            await asyncio.sleep(0.01)


async def test_an_outage_holds_a_bounded_part_which_goes_out_in_pieces(valkey: Redis) -> None:
    await valkey.set(_NAME, "no stream")  # the server answers each entry with an error
    one, heard = _stream(valkey), list[Any]()
    async with _running(one.keep_sending()):
        for number in range(100):
            one.tell([number, "x" * (400 << 10)])
        one.tell([100, "short"])  # has its place beside the large ones
        await valkey.delete(_NAME)
        async with _running(_stream(valkey).keep_listening(heard.append)):
            await _until(heard, 21)
            one.tell([101, "later"])
            await _until(heard, 22)
    assert [number for number, _ in heard] == [*range(20), 100, 101]
    assert await valkey.xlen(_NAME) >= 10, "no entry is larger than a mebibyte"


async def test_an_entry_that_was_sent_twice_is_heard_once(valkey: Redis) -> None:
    one, heard = _stream(valkey), list[Any]()
    async with _running(one.keep_sending(), _stream(valkey).keep_listening(heard.append)):
        one.tell(["first"])
        await _until(heard, 1)
        [(_, entry)] = await valkey.xrange(_NAME)
        await valkey.xadd(_NAME, entry)  # as a sender does that did not hear of its success
        one.tell(["second"])
        await _until(heard, 2)
    assert heard == [["first"], ["second"]]
