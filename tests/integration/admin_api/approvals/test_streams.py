"""Long polling of one approval, and the stream of all: as it happens, resumable, bounded, of one organization."""

import asyncio
import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from admin_api import live_stream
from admin_api.feeds import feed as live_feed
from admin_api.feeds import viewers
from admin_api.feeds.frames import Batch, Frame, batch_of
from admin_api.feeds.viewers import Places, Viewer
from admin_api.http_protocol import ArrivalLimits, BoundedProtocol
from admin_api.web import shell
from headgate.agents.scopes import Scope
from headgate.kernel.errors import UnavailableError
from headgate.organizations.model import Role
from tests.integration.admin_api.event_stream import event_stream

_WRITE = {"tool": "write", "operation": "line", "params": {"text": "x"}}


async def _held(gate, **params: object) -> str:
    answer = await gate.as_agent.post("/v1/actions", json=_WRITE | {"params": params or {"text": "x"}})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["approval_id"])


async def test_a_wait_ends_with_the_decision(gate) -> None:
    approval_id = await _held(gate)
    person = gate.person()
    began = time.monotonic()
    waiting = asyncio.create_task(person.get(f"/v1/approvals/{approval_id}", params={"wait": 30}, timeout=40))
    await asyncio.sleep(0.3)
    await person.post(f"/v1/approvals/{approval_id}/approve")
    answer = await waiting
    assert answer.json()["status"] == "approved"
    assert time.monotonic() - began < 5


async def test_a_wait_ends_with_its_time(gate) -> None:
    approval_id = await _held(gate)
    answer = await gate.person().get(f"/v1/approvals/{approval_id}", params={"wait": 1})
    assert answer.json()["status"] == "pending"
    assert (await gate.person().get(f"/v1/approvals/{approval_id}", params={"wait": 61})).status_code == 400


async def test_what_happens_is_told_and_nothing_twice(gate) -> None:
    await _held(gate, text="before")
    person = gate.person()
    async with asyncio.timeout(20), person.stream("GET", "/v1/approvals/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = event_stream(stream)
        place = (await anext(events))["id"]
        approval_id = await _held(gate, text="line\r\ndata: {}")
        asked = await anext(events)
        assert (asked["event"], asked["data"]["approval_id"]) == ("approval.requested", approval_id)
        await person.post(f"/v1/approvals/{approval_id}/deny", json={"reason": "no\n\nevent: approval.approved"})
        denied = await anext(events)
        assert (denied["event"], denied["data"]["data"]["reason"]) == (
            "approval.denied", "no\n\nevent: approval.approved",
        )  # fmt: skip
        assert int(denied["id"]) > int(asked["id"]) > int(place)
        assert denied["data"]["actor"]["type"] == "user"

    # It comes back with what it has seen last: only what came after is told.
    later = await _held(gate, text="later")
    headers = {"Last-Event-ID": asked["id"]}
    async with asyncio.timeout(20), person.stream("GET", "/v1/approvals/events", headers=headers) as stream:
        events = event_stream(stream)
        await anext(events)
        told = [await anext(events), await anext(events)]
    assert [(one["event"], one["data"]["approval_id"]) for one in told] == [
        ("approval.denied", approval_id), ("approval.requested", later),
    ]  # fmt: skip


async def test_of_ones_own_organization_only(gate, new_gate) -> None:
    other = await new_gate()
    async with asyncio.timeout(20), gate.person().stream("GET", "/v1/approvals/events") as stream:
        events = event_stream(stream)
        await anext(events)
        await _held(other)
        mine = await _held(gate)
        assert (await anext(events))["data"]["approval_id"] == mine


async def test_who_may_not(gate) -> None:
    assert (await gate.as_agent.get("/v1/approvals/events")).status_code == 403
    assert (await gate.client().get("/v1/approvals/events")).status_code == 401


@pytest.mark.parametrize("last", ["x", "-1", "1.5", "9" * 19])
async def test_what_is_no_place(gate, last) -> None:
    answer = await gate.person("v", Role.VIEWER).get("/v1/approvals/events", headers={"Last-Event-ID": last})
    assert answer.status_code == 400


@pytest.mark.parametrize("after", ["x", "-1", "1.5", "9" * 19])
async def test_what_is_no_place_to_begin_after(gate, after) -> None:
    answer = await gate.person("v", Role.VIEWER).get("/v1/approvals/events", params={"after": after})
    assert answer.status_code == 400


async def test_a_stream_begins_after_the_place_that_a_client_names_until_it_comes_back(gate) -> None:
    person = gate.person()
    async with asyncio.timeout(20), person.stream("GET", "/v1/approvals/events") as stream:
        place = (await anext(event_stream(stream)))["id"]
    first, second = await _held(gate), await _held(gate)
    async with asyncio.timeout(20), person.stream("GET", "/v1/approvals/events", params={"after": place}) as stream:
        events = event_stream(stream)
        assert (await anext(events))["id"] == place
        seen, then = await anext(events), await anext(events)
    assert [one["data"]["approval_id"] for one in (seen, then)] == [first, second]
    given = {"params": {"after": place}, "headers": {"Last-Event-ID": seen["id"]}}
    async with asyncio.timeout(20), person.stream("GET", "/v1/approvals/events", **given) as stream:
        events = event_stream(stream)
        await anext(events)
        assert (await anext(events))["data"]["approval_id"] == second


async def test_a_page_names_the_place_before_all_that_it_may_not_show(gate, monkeypatch) -> None:
    """What is recorded before a page is asked for is on it. What is recorded while it is read may be missing."""
    await _held(gate)
    while_it_is_read: list[str] = []
    count = shell.open_requests

    async def count_and_hold(*given: Any, **named: Any) -> str:
        found = await count(*given, **named)
        while_it_is_read.append(await _held(gate))
        return found

    monkeypatch.setattr(shell, "open_requests", count_and_hold)
    person = gate.person()
    shown = (await person.get("/account")).text
    place = re.search(r'<body class="shell" data-place="(\d+)">', shown)
    assert place is not None
    assert re.search(r'id="waiting"[^>]*>1<', shown)
    async with asyncio.timeout(20), person.stream("GET", "/v1/approvals/events", params={"after": place[1]}) as stream:
        events = event_stream(stream)
        await anext(events)
        assert [(await anext(events))["data"]["approval_id"]] == while_it_is_read


async def test_there_are_so_many_at_once(gate, monkeypatch) -> None:
    streams = Places(most=1)
    monkeypatch.setattr(gate.api.dependencies.feeds, "places", streams)
    person = gate.person()
    async with asyncio.timeout(20):
        async with person.stream("GET", "/v1/approvals/events") as stream:
            events = event_stream(stream)  # kept: forgotten, it would close the stream
            await anext(events)
            refused = await person.get("/v1/approvals/events")
            assert (refused.status_code, "retry-after" in refused.headers) == (503, True)
        # The client has gone: its place is free.
        while streams._open:
            await asyncio.sleep(0.05)
        async with person.stream("GET", "/v1/approvals/events") as stream:
            assert stream.status_code == 200


async def test_a_person_and_an_organization_have_so_many(gate, new_gate, monkeypatch) -> None:
    places = Places(most_of_organization=3, most_of_person=2)
    monkeypatch.setattr(gate.api.dependencies.feeds, "places", places)
    alice, bob, stranger = gate.person(), gate.person("bob"), (await new_gate()).person()
    of_alice = await gate.key(Scope.APPROVALS_READ, user_id=(await alice.get("/auth/session")).json()["user_id"])
    async with asyncio.timeout(20), AsyncExitStack() as stack:
        for one, status in [(alice, 200), (of_alice, 200), (alice, 429), (bob, 200), (bob, 429), (stranger, 200)]:
            stream = await stack.enter_async_context(one.stream("GET", "/v1/approvals/events"))
            assert stream.status_code == status
            if status == 429:
                message = json.loads(await stream.aread())["error"]["message"]
                assert message.startswith("You have 2 event" if one is alice else "Your organization has 3 event")
                assert stream.headers["retry-after"] == "10"


async def test_there_are_so_many_however_they_come(gate, monkeypatch) -> None:
    """All at the same moment: each looks whether there is room before any of them is open."""
    monkeypatch.setattr(gate.api.dependencies.feeds, "places", Places(most=2))
    person = gate.person()
    all_answered = asyncio.Barrier(6)

    async def status() -> int:
        async with person.stream("GET", "/v1/approvals/events") as stream:
            await all_answered.wait()
            return stream.status_code

    async with asyncio.timeout(20):
        assert sorted(await asyncio.gather(*(status() for _ in range(6)))) == [200, 200, 503, 503, 503, 503]


async def test_who_is_shut_out_sees_no_more(gate, monkeypatch) -> None:
    """Not in five minutes: whoever may not ask any more is not told any more."""
    monkeypatch.setattr(live_stream, "_ASK_AGAIN_SECONDS", 0.2)
    eve, root = gate.person("eve", Role.VIEWER), gate.person("root")
    user = (await eve.get("/auth/session")).json()["user_id"]
    async with asyncio.timeout(10), eve.stream("GET", "/v1/approvals/events") as stream:
        events = event_stream(stream)
        await anext(events)
        await _held(gate)
        while (await anext(events)).get("event") is None:
            pass
        assert (await root.post(f"/admin/users/{user}/deactivate")).status_code == 200
        await asyncio.sleep(1)
        await _held(gate, again=True)
        assert [one async for one in events if one.get("event") is not None] == []


async def test_who_is_shut_out_while_catching_up_sees_no_more(gate, monkeypatch) -> None:
    """A long past is read in stretches, and each of them is asked for again."""
    monkeypatch.setattr(live_stream, "_ASK_AGAIN_SECONDS", 0.0)

    async def without_end(_org_id: str, _channel: object, seq: int, _reached: int) -> tuple[int, Batch, bool]:
        return seq, batch_of([Frame(1 << 50, None, b"event: old\n\n")]), True

    monkeypatch.setattr(gate.api.dependencies.feeds, "catch_up", without_end)
    await _held(gate)
    eve, root = gate.person("eve", Role.VIEWER), gate.person("root")
    user = (await eve.get("/auth/session")).json()["user_id"]
    headers = {"Last-Event-ID": "0"}
    async with asyncio.timeout(20), eve.stream("GET", "/v1/approvals/events", headers=headers) as stream:
        events = event_stream(stream)
        assert [(await anext(events)).get("event") for _ in range(3)] == [None, "old", "old"]
        assert (await root.post(f"/admin/users/{user}/deactivate")).status_code == 200
        async for _ in events:
            pass


async def test_viewers_of_an_organization_share_one_poller_which_ends_with_the_last(gate) -> None:
    feeds, person = gate.api.dependencies.feeds, gate.person()
    async with asyncio.timeout(20):
        async with AsyncExitStack() as stack:
            streams = [
                event_stream(await stack.enter_async_context(person.stream("GET", "/v1/approvals/events")))
                for _ in range(5)
            ]
            for one in streams:
                await anext(one)
            approval_id = await _held(gate)
            told = [await anext(one) for one in streams]
            assert {one["data"]["approval_id"] for one in told} == {approval_id}
            assert len({one["id"] for one in told}) == 1
            assert [org for org, _ in feeds._open].count(gate.org_id) == 1
        while any(org == gate.org_id for org, _ in feeds._open):
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(("cause", "reason"), [(UnavailableError("away"), "unavailable"), (KeyError(), "failed")])
async def test_a_poller_that_fails_ends_its_streams_and_says_so(gate, monkeypatch, cause, reason) -> None:
    async def look(*_: object) -> None:
        raise cause

    person = gate.person()
    async with asyncio.timeout(20):
        async with person.stream("GET", "/v1/approvals/events") as stream:
            events = event_stream(stream)
            place = await anext(events)
            with monkeypatch.context() as patched:
                patched.setattr(live_feed, "look", look)
                ended = [one async for one in events]
        assert ended == [{"event": "feed.ended", "data": {"reason": reason}}]
        # The client comes back to its place, and a poller is there again.
        approval_id = await _held(gate)
        headers = {"Last-Event-ID": place["id"]}
        async with person.stream("GET", "/v1/approvals/events", headers=headers) as stream:
            events = event_stream(stream)
            await anext(events)
            assert (await anext(events))["data"]["approval_id"] == approval_id


async def test_who_reads_nothing_loses_the_place(gate, monkeypatch) -> None:
    """Its queue is bounded; others go on."""
    monkeypatch.setattr(viewers, "_BATCHES_MAX", 0)
    person = gate.person()
    async with asyncio.timeout(20), person.stream("GET", "/v1/approvals/events") as stream:
        events = event_stream(stream)
        await anext(events)
        await _held(gate)
        assert [one async for one in events] == [{"event": "feed.ended", "data": {"reason": "slow"}}]


@contextmanager
def _silent_client(gate) -> Iterator[socket.socket]:
    """It asks for a stream and reads nothing."""
    url = httpx.URL(gate.api.url)
    token = gate.person().headers["authorization"]
    head = f"GET /v1/approvals/events HTTP/1.1\r\nHost: {url.netloc.decode()}\r\nAuthorization: {token}\r\n\r\n"
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
        client.connect((url.host, url.port))
        client.sendall(head.encode())
        yield client


async def _only_viewer(gate) -> Viewer:
    feeds = gate.api.dependencies.feeds
    while not feeds.places._open:
        await asyncio.sleep(0.05)
    feed = next(one for (org, _), one in feeds._open.items() if org == gate.org_id)
    (viewer,) = feed.viewers
    return viewer


async def test_a_client_that_does_not_read_is_cut_off_without_further_events(gate, monkeypatch) -> None:
    monkeypatch.setattr(BoundedProtocol, "limits", replace(ArrivalLimits(), read_seconds=0.2))
    streams = Places()
    monkeypatch.setattr(gate.api.dependencies.feeds, "places", streams)
    with _silent_client(gate) as client:
        async with asyncio.timeout(30):
            viewer = await _only_viewer(gate)

            async def hand_out() -> None:
                viewer.put(batch_of([Frame(1 << 50, None, b":" * (16 << 20) + b"\n\n")]))

            await gate.api.inside(hand_out())
            while streams._open:
                await asyncio.sleep(0.05)
        # Aborted: what was not sent yet is dropped.
        received = 0
        with suppress(ConnectionResetError):
            while data := client.recv(1 << 20):
                received += len(data)
        assert received < 16 << 20


async def test_a_client_that_does_not_read_is_cut_off(gate, monkeypatch) -> None:
    monkeypatch.setattr(viewers, "_LEAVE_SECONDS", 0.1)
    monkeypatch.setattr(viewers, "_BATCHES_MAX", 1)
    streams = Places()
    monkeypatch.setattr(gate.api.dependencies.feeds, "places", streams)
    with _silent_client(gate):
        async with asyncio.timeout(60):
            viewer = await _only_viewer(gate)
            large = batch_of([Frame(1 << 50, None, b":" * (8 << 20) + b"\n\n")])

            async def hand_out() -> None:
                viewer.put(large)

            while streams._open:
                await gate.api.inside(hand_out())
                await asyncio.sleep(0.05)
        assert viewer.ended == "slow"
