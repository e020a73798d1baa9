"""A feed of states: what has changed since the look before is named, to those who come later everything."""

import json
from contextlib import asynccontextmanager

import pytest

from admin_api.feeds import state_feed
from admin_api.feeds.state_feed import StateChannel
from admin_api.feeds.viewers import Viewer


class _Database:
    @asynccontextmanager
    async def transaction(self, org_id: str):
        yield None


async def _applied(database: _Database, org_id: str) -> None:
    """There is no journal."""


def _named(data: bytes) -> list[str]:
    return json.loads(data.partition(b"data: ")[2])["of"]


@pytest.fixture
def looks(monkeypatch) -> None:
    monkeypatch.setattr(state_feed, "_LOOK_SECONDS", 0)
    monkeypatch.setattr(state_feed, "apply_before_reading", _applied)


@pytest.mark.usefixtures("looks")
async def test_only_what_has_changed_is_named() -> None:
    rounds = [{"a": 1, "b": None}, {"a": 1, "b": 5}, {"a": 2, "b": 6}, {"a": 2, "b": 6}]
    seen: list[dict[str, object]] = []

    async def a(connection: None, org_id: str) -> object:
        assert org_id == "org_1"
        seen.append(rounds[len(seen)])
        return seen[-1]["a"]

    async def b(connection: None, org_id: str) -> object:
        if len(seen) == len(rounds):
            feed.viewers.clear()
        return seen[-1]["b"]

    viewer = Viewer(0, None)
    feed = StateChannel("progress", (("a", a), ("b", b))).feed(_Database(), "org_1", 77)
    feed.viewers.add(viewer)
    await feed.poll()
    assert [_named(await viewer.next(0)) for _ in range(3)] == [["a", "b"], ["b"], ["a", "b"]]
    assert (await viewer.next(0), feed.seq, viewer.seq) == (b"", 3, 3)


async def test_who_comes_later_is_told_of_all_parts() -> None:
    async def state(connection: None, org_id: str) -> object:
        return None

    channel = StateChannel("progress", (("a", state), ("b", state)))
    assert await channel.place(_Database(), "org_1", 12) == (0, 0)
    reached, batch, is_more = await channel.missed(_Database(), "org_1", 0, 3)
    assert (reached, is_more) == (3, False)
    assert _named(batch.after(0, None)) == ["a", "b"]
