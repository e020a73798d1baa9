"""The stream of actions: a row when one is recorded and after each change, of one organization, bounded."""

import asyncio
from dataclasses import replace

import pytest
from msgspec import structs

from admin_api.actions import stream_routes
from admin_api.feeds import feed as live_feed
from headgate.agents.scopes import Scope
from headgate.agents.service import create_agent
from headgate.audit.model import SYSTEM
from headgate.kernel.clock import system_clock
from headgate.organizations.change import OrganizationChange
from headgate.organizations.model import Role
from tests.integration.admin_api.event_stream import event_stream

_ADDRESS = "/v1/actions/events"


def _call(operation: str = "line", tool: str = "write") -> dict:
    return {"tool": tool, "operation": operation, "params": {"text": "x\r\ndata: {}"}}


async def _until(events, status: str) -> list[dict]:
    """Up to the first row of this status."""
    found = [await anext(events)]
    while found[-1].get("data", {}).get("status") != status:
        found.append(await anext(events))
    return found


async def test_a_row_comes_when_it_is_recorded_and_when_it_is_decided(gate) -> None:
    person = gate.person()
    async with asyncio.timeout(20), person.stream("GET", _ADDRESS) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = event_stream(stream)
        place = (await anext(events))["id"]
        answer = (await gate.as_agent.post("/v1/actions", json=_call())).json()
        (held,) = await _until(events, "pending_approval")
        assert held["event"] == "action"
        listed = (await person.get("/v1/actions", params={"expand": "all"})).json()["data"]
        assert held["data"] == listed[0]
        await person.post(f"/v1/approvals/{answer['approval_id']}/deny", json={"reason": "no"})
        denied = (await _until(events, "denied"))[-1]
        assert (denied["data"]["id"], denied["data"]["agent_id"]) == (answer["id"], gate.agent_id)
        assert int(denied["id"]) > int(held["id"]) > int(place)

    # It comes back to its place: what is told is how the action stands now.
    async with asyncio.timeout(20), person.stream("GET", _ADDRESS, headers={"Last-Event-ID": place}) as stream:
        events = event_stream(stream)
        await anext(events)
        assert (await anext(events))["data"]["status"] == "denied"


@pytest.mark.parametrize(("tool", "status"), [("read", "approved"), ("wipe", "denied")])
async def test_what_is_decided_at_once(gate, tool, status) -> None:
    async with asyncio.timeout(20), gate.person("v", Role.VIEWER).stream("GET", _ADDRESS) as stream:
        events = event_stream(stream)
        await anext(events)
        answer = (await gate.as_agent.post("/v1/actions", json=_call(tool=tool))).json()
        told = await anext(events)
        assert (told["data"]["id"], told["data"]["status"]) == (answer["id"], answer["status"])
        assert told["data"]["decision"]["decision"] == answer["decision"]["decision"]


async def test_an_agent_hears_of_its_own_and_nobody_of_another_organizations(gate, new_gate) -> None:
    other, now = await new_gate(), system_clock()

    async def colleague(connection):
        change = OrganizationChange(gate.org_id, SYSTEM, None, now, connection)
        return await create_agent(change, name="Colleague", description=None)

    agent, issued = await gate.api.in_transaction(gate.org_id, colleague)
    of_colleague = replace(gate, agent_id=agent.agent_id, agent_key=issued.key.reveal())
    async with (
        asyncio.timeout(20),
        gate.as_agent.stream("GET", _ADDRESS) as own,
        gate.person().stream("GET", _ADDRESS) as everything,
    ):
        mine, all_of_it = event_stream(own), event_stream(everything)
        await anext(mine)
        await anext(all_of_it)
        for one in (other, of_colleague, gate):
            assert (await one.as_agent.post("/v1/actions", json=_call())).status_code == 202
        assert (await anext(mine))["data"]["agent_id"] == gate.agent_id
        told = [(await anext(all_of_it))["data"]["agent_id"] for _ in range(2)]
        assert told == [agent.agent_id, gate.agent_id]


async def test_who_may_not(gate) -> None:
    assert (await gate.client().get(_ADDRESS)).status_code == 401
    assert (await (await gate.key(Scope.AUDIT_READ)).get(_ADDRESS)).status_code == 403


async def test_a_reader_far_behind_is_told_to_read_the_list(gate, monkeypatch) -> None:
    monkeypatch.setattr(live_feed, "_EVENTS_AT_ONCE", 2)
    channel = structs.replace(stream_routes.ACTIONS, skips_behind=3)
    monkeypatch.setattr(stream_routes, "ACTIONS", channel)
    for _ in range(6):
        await gate.as_agent.post("/v1/actions", json=_call(tool="read"))
    async with asyncio.timeout(20), gate.person().stream("GET", _ADDRESS, headers={"Last-Event-ID": "0"}) as stream:
        events = event_stream(stream)
        await anext(events)
        told = [await anext(events)]
        while told[-1]["event"] == "action":
            told.append(await anext(events))
        assert (told[-1]["event"], told[-1]["data"]) == ("actions.skipped", {})
        # And it goes on from the end.
        last = (await gate.as_agent.post("/v1/actions", json=_call())).json()
        assert (await anext(events))["data"]["id"] == last["id"]
