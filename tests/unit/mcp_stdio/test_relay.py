"""What the relay passes on, and what it answers instead: the pipes are in memory, the decisions are made here."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, cast

import pytest

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import HeadgateError
from headgate.mcp_stdio.decide import Decisions, DeniedError, Passed, Waiting
from headgate.mcp_stdio.message import NotDecidedError
from headgate.mcp_stdio.proposal import Proposal
from headgate.mcp_stdio.relay import Relay
from headgate.protocols.mcp_tool_list import OfferedTool


class Kept:
    """Lines that were written; ``error``: nobody reads any more."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.error: OSError | None = None

    async def write(self, line: bytes) -> None:
        if self.error is not None:
            raise self.error
        self.lines.append(json.loads(line))


class Decides:
    """In place of ``Decisions``. Operations: ``hold`` waits for ``approved``, ``deny`` is denied, others pass."""

    def __init__(self) -> None:
        self.approved = asyncio.Event()
        self.cancelled: list[str] = []
        self.reported: list[tuple[str, str | None]] = []
        self.offer: dict[str, Any] | HeadgateError = {
            "left_out": [], "changed": [], "first_seen": 0, "withheld": None, "policies": [],
        }  # fmt: skip

    async def decide(self, proposal: Proposal) -> Passed | Waiting:
        if proposal.operation == "deny":
            raise DeniedError("never")
        return Waiting("act_1", "apr_1", "why") if proposal.operation == "hold" else Passed("act_1")

    async def settle(self, proposal: Proposal, waiting: Waiting) -> Passed:
        await self.approved.wait()
        return Passed(waiting.action_id)

    async def cancel(self, action_id: str, proposal: Proposal) -> None:
        self.cancelled.append(action_id)

    async def report(self, action_id: str, *, result: JsonObject, error: str | None) -> None:
        self.reported.append((action_id, error))

    async def offered(self, server: str, tools: Sequence[OfferedTool]) -> dict[str, Any]:
        if isinstance(self.offer, HeadgateError):
            raise self.offer
        return self.offer


class World:
    def __init__(self) -> None:
        self.client, self.server, self.decides, self.warnings = Kept(), Kept(), Decides(), list[str]()
        self.relay = Relay(
            "mcp_files",
            cast("Decisions", self.decides),
            to_client=self.client,
            to_server=self.server,
            warn=self.warnings.append,
            progress_seconds=0.01,
        )

    async def client_says(self, *messages: dict[str, Any]) -> None:
        await self.relay.from_client(_reader(messages))

    async def server_says(self, *messages: dict[str, Any]) -> None:
        await self.relay.from_server(_reader(messages))


def _reader(messages: Sequence[dict[str, Any]]) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    for message in messages:
        reader.feed_data(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    reader.feed_eof()
    return reader


@pytest.fixture
async def world() -> World:
    return World()


def call(number: int, name: str, **meta: object) -> dict[str, Any]:
    params = {"name": name, "arguments": {}, **({"_meta": meta} if meta else {})}
    return {"id": number, "method": "tools/call", "params": params}


def ids(kept: Kept) -> list[object]:
    return [one.get("id") for one in kept.lines]


async def test_a_held_call_lets_others_pass(world: World) -> None:
    await world.client_says(call(1, "hold", progressToken=7), call(2, "read"))
    assert ids(world.server) == [2]
    await asyncio.sleep(0.03)
    assert {one["params"]["message"] for one in world.client.lines} == {"waiting for a decision"}
    world.decides.approved.set()
    await asyncio.sleep(0.01)
    assert ids(world.server) == [2, 1]
    await world.relay.end(client_listens=False)


async def test_a_held_call_that_is_cancelled_goes_nowhere(world: World) -> None:
    cancel = {"method": "notifications/cancelled", "params": {"requestId": 1}}
    await world.client_says(call(1, "hold"), cancel)
    world.decides.approved.set()
    await asyncio.sleep(0.01)
    assert world.server.lines == []
    assert world.decides.cancelled == ["act_1"]
    await world.client_says(cancel)
    assert [one["method"] for one in world.server.lines] == ["notifications/cancelled"], "of another call"


async def test_a_requests_id_is_the_clients_own(world: World) -> None:
    """The server counts from one as well."""
    await world.client_says(call(1, "hold"))
    world.decides.decide = _held_always  # type: ignore[method-assign]
    await world.server_says({"id": 1, "method": "roots/list"})
    world.decides.approved.set()
    await asyncio.sleep(0.01)
    assert [one["method"] for one in world.client.lines] == ["roots/list"]
    assert ids(world.server) == [1]
    await world.client_says({"id": 1, "result": {"roots": []}})
    await asyncio.sleep(0.01)
    assert ids(world.server) == [1, 1]


async def _held_always(proposal: Proposal) -> Waiting:
    return Waiting("act_2", "apr_2", "why")


async def test_a_defect_while_a_call_is_held_is_an_answer(world: World) -> None:
    world.decides.settle = _fails  # type: ignore[method-assign]
    await world.client_says(call(1, "hold"))
    await asyncio.sleep(0.01)
    assert ids(world.client) == [1]
    assert world.server.lines == []


async def _fails(proposal: Proposal, waiting: Waiting) -> Passed:
    raise RuntimeError("a defect")


async def test_an_id_that_waits_is_not_used_twice(world: World) -> None:
    await world.client_says(call(1, "read"), call(1, "read"))
    assert ids(world.server) == [1]
    [refused] = world.client.lines
    assert (refused["id"], refused["error"]["code"]) == (1, -32600)
    await world.server_says({"id": 1, "result": {}})
    await world.client_says(call(1, "read"))
    assert ids(world.server) == [1, 1]


async def test_an_answer_that_nobody_asked_for_is_not_passed_on(world: World) -> None:
    await world.server_says({"id": 1, "result": {}})
    await world.client_says({"id": 1, "result": {}})
    assert (world.client.lines, world.server.lines) == ([], [])
    assert len(world.warnings) == 2


async def test_a_refused_notification_is_told_to_a_person(world: World) -> None:
    world.decides.decide = _refuse  # type: ignore[method-assign]
    await world.client_says({"method": "notifications/progress", "params": {}})
    assert world.server.lines == []
    assert world.warnings == ["notifications/progress was not passed on: the API is away"]


async def _refuse(proposal: Proposal) -> Passed:
    raise NotDecidedError("the API is away")


async def test_a_list_that_nobody_looked_at_is_not_passed_on(world: World) -> None:
    listed = {"id": 1, "result": {"tools": [{"name": "read"}]}}
    for offer in (
        NotDecidedError("the API is away"),
        {"left_out": [], "changed": [], "first_seen": 0, "withheld": "instructions", "policies": []},
    ):
        world.decides.offer = offer
        await world.client_says({"id": 1, "method": "tools/list", "params": {}})
        await world.server_says(listed)
        assert "error" in world.client.lines[-1]
    await world.client_says({"id": 1, "method": "tools/list", "params": {}})
    await world.server_says({"id": 1, "result": {"tools": [{"title": "no name"}]}})
    assert "could not be inspected" in world.client.lines[-1]["error"]["message"]
    await asyncio.sleep(0)
    assert [error is not None for _, error in world.decides.reported] == [True] * 3


async def test_a_server_that_ends(world: World) -> None:
    await world.client_says(call(1, "read"), call(2, "hold"))
    await world.relay.end(client_listens=True)
    assert sorted(cast("list[int]", ids(world.client))) == [1, 2]
    assert world.decides.reported == [("act_1", "outcome unknown: the server ended, and had not answered")]
    assert world.decides.cancelled == ["act_1"]


async def test_a_server_that_does_not_read_any_more(world: World) -> None:
    world.server.error = BrokenPipeError()
    with pytest.raises(BrokenPipeError):
        await world.client_says(call(1, "read"))
    await world.relay.end(client_listens=True)
    assert ids(world.client) == [1], "it was counted before it was written"


async def test_an_approved_call_for_a_server_that_has_gone(world: World) -> None:
    await world.client_says(call(1, "hold"))
    world.server.error = BrokenPipeError()
    world.decides.approved.set()
    await asyncio.sleep(0.01)
    await world.relay.end(client_listens=True)
    assert ids(world.client) == [1]
    assert world.warnings == []


async def test_an_edited_notification_has_no_id(world: World) -> None:
    """JSON-RPC 2.0, section 4.1: a message with ``"id": null`` is a request, which a server may answer or refuse."""
    world.decides.decide = _edit  # type: ignore[method-assign]
    params = {"name": "read", "arguments": {"path": "a"}}
    await world.client_says(
        {"method": "tools/call", "params": params}, {"id": 4, "method": "tools/call", "params": params}
    )
    edited = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "read", "arguments": {"path": "b"}}}
    assert world.server.lines == [edited, {**edited, "id": 4}]
    await asyncio.sleep(0)
    assert world.decides.reported == [("act_1", None)], "no answer ends the notification"


async def _edit(proposal: Proposal) -> Passed:
    return Passed("act_1", {"path": "b"}, taken=True)


async def test_what_was_taken_and_not_passed_on_is_reported(world: World) -> None:
    world.decides.decide = _edit  # type: ignore[method-assign]
    await world.client_says({"id": 1, "method": "resources/read", "params": {"uri": "a"}})
    assert ids(world.client) == [1]
    world.decides.decide = _take  # type: ignore[method-assign]
    world.server.error = BrokenPipeError()
    with pytest.raises(BrokenPipeError):
        await world.client_says({"method": "notifications/initialized"})
    await asyncio.sleep(0)
    [edited, unsent] = world.decides.reported
    assert "only calls of tools can be edited" in (edited[1] or "")
    assert unsent == ("act_1", "not sent: its reader has gone")


async def test_the_answer_ends_every_request_that_was_taken(world: World) -> None:
    world.decides.decide = _take  # type: ignore[method-assign]
    await world.client_says({"id": 1, "method": "resources/read", "params": {"uri": "a"}})
    await world.server_says({"id": 1, "result": {}})
    await asyncio.sleep(0)
    assert world.decides.reported == [("act_1", None)]


async def _take(proposal: Proposal) -> Passed:
    return Passed("act_1", taken=True)
