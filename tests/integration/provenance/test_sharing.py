"""What processes tell each other of what agents were shown, over a real Valkey: the others learn it, a process that
starts later learns it too, and neither a lost server nor a forged entry ends anything."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from headgate.db.valkey import open_valkey
from headgate.kernel.secrets import Secret
from headgate.protocols.draft import ActionDraft, make_draft
from headgate.protocols.draft import Source as WayIn
from headgate.provenance.memory import ValueMemory, index_key
from headgate.provenance.model import ProvenanceRules, Source, SourceKind
from headgate.provenance.sharing import STREAM, SharedMemory
from headgate.provenance.values import values_of

SECRET = Secret("postgresql://somebody:something@somewhere/db")
PAGE = Source(SourceKind.RESPONSE, trusted=False, action_id="act_1", host="news.example")
EVE = "eve@evil.example"


@pytest.fixture
async def valkey(valkey_url: str) -> AsyncIterator[Redis]:
    client = open_valkey(Secret(valkey_url))
    assert client is not None
    await client.delete(STREAM)
    yield client
    await client.delete(STREAM)
    await client.aclose()


@contextlib.asynccontextmanager
async def process(valkey: Redis, secret: Secret = SECRET) -> AsyncIterator[ValueMemory]:
    shared = SharedMemory(valkey, secret)
    memory = ValueMemory(index_key(secret), share=shared.tell)
    loops = [asyncio.create_task(shared.keep_sending()), asyncio.create_task(shared.keep_listening(memory))]
    try:
        yield memory
    finally:
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)


def _call(**params: str) -> ActionDraft:
    return make_draft(tool="mail", operation="send", params=dict(params), source=WayIn.API)


def show(memory: ValueMemory, text: str = EVE) -> None:
    memory.show("org_1", "agt_1", text.encode(), PAGE, memory.number(PAGE))


def origin(memory: ValueMemory, text: str = EVE) -> object:
    return memory.origins("org_1", "agt_1", ProvenanceRules(), values_of(_call(to=text))).get("params.to")


async def until_known(memory: ValueMemory, text: str = EVE) -> object:
    async with asyncio.timeout(20):
        while (found := origin(memory, text)) is None:
            await asyncio.sleep(0.01)
    return found


async def test_another_process_learns_it(valkey: Redis) -> None:
    async with process(valkey) as one, process(valkey) as other:
        show(one)
        assert await until_known(other) == {
            "source": "response", "trusted": False, "action_id": "act_1", "host": "news.example",
        }  # fmt: skip


async def test_a_process_that_starts_later_learns_it(valkey: Redis) -> None:
    async with process(valkey) as one:
        show(one)
        async with asyncio.timeout(20):
            while not await valkey.xlen(STREAM):
                await asyncio.sleep(0.01)
    async with process(valkey) as other:
        assert await until_known(other) is not None


async def test_nothing_in_the_stream_tells_a_value(valkey: Redis) -> None:
    async with process(valkey) as one, process(valkey) as other:
        show(one)
        await until_known(other)
    entries = repr(await valkey.xrange(STREAM))
    assert "evil" not in entries
    assert "news.example" not in entries


@pytest.mark.parametrize("sealed", [b"", b"short", b"x" * 200])
async def test_a_forged_entry_is_passed_over(valkey: Redis, sealed: bytes) -> None:
    async with process(valkey) as one, process(valkey) as other:
        await valkey.xadd(STREAM, {"from": "nobody", "sealed": sealed})
        await valkey.xadd(STREAM, {"other": "members"})
        show(one)
        assert await until_known(other) is not None


async def test_another_secret_reads_nothing(valkey: Redis) -> None:
    async with process(valkey) as one, process(valkey) as witness, process(valkey, Secret("another")) as stranger:
        show(one)
        await until_known(witness)
        assert stranger.values == 0


async def test_what_a_server_did_not_take_is_told_when_it_does(valkey: Redis) -> None:
    """What a stranger showed during an outage would stay unknown to the other processes for eight hours."""
    await valkey.set(STREAM, "no stream")  # the server answers each entry with an error
    async with process(valkey) as one, process(valkey) as other:
        show(one)
        await asyncio.sleep(0.2)
        assert origin(other) is None
        await valkey.delete(STREAM)
        assert await until_known(other) is not None


async def test_a_server_that_does_not_answer_costs_only_the_sharing() -> None:
    gone = open_valkey(Secret("redis://127.0.0.1:1/0"))
    assert gone is not None
    async with process(gone) as alone:
        show(alone)
        await asyncio.sleep(0.2)
        assert origin(alone) is not None
        show(alone, "carol@evil.example")
        assert origin(alone, "carol@evil.example") is not None
    await gone.aclose()
