"""The client of programs against the API: an action from submission to a decision, lists, errors, both kinds."""

import asyncio

import pytest

from headgate.client import (
    AsyncClient,
    Client,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    operations,
)


def _admin(gate) -> str:
    from headgate.organizations.model import Role  # noqa: PLC0415

    return gate.api.token(gate.org_id, Role.ADMIN, email="alice@example.com")


async def test_an_action_is_submitted_once_and_waited_for(gate) -> None:
    async with (
        AsyncClient(gate.api.url, agent_key=gate.agent_key) as agent,
        AsyncClient(gate.api.url, token=_admin(gate)) as admin,
    ):
        allowed = await agent.submit("read", "file", {"path": "/a"}, idempotency_key="k1")
        again = await agent.submit("read", "file", {"path": "/a"}, idempotency_key="k1")
        assert allowed["id"] == again["id"]
        waiting = asyncio.create_task(agent.submit("write", "file", {"path": "/a"}, wait_seconds=20))
        while not (pending := (await admin.send(operations.list_approvals(status="pending")))["data"]):
            await asyncio.sleep(0.05)
        await admin.send(operations.approve_approval(pending[0]["id"], {"comment": "yes"}))
        decided = await waiting
        assert decided["status"] == "approved"
        held = await agent.submit("write", "file", {"path": "/b"})
        assert held["status"] == "pending_approval"


async def test_lists_errors_and_the_client_that_waits(gate) -> None:
    def act() -> None:
        with Client(gate.api.url, token=_admin(gate)) as admin:
            for number in range(5):
                admin.send(operations.create_agent({"name": f"robot {number}"}))
            ids = [one["id"] for one in admin.entries(operations.list_agents(limit=2))]
            assert len(ids) == len(set(ids)) >= 5
            with pytest.raises(NotFoundError):
                admin.send(operations.get_agent("agt_00000000-0000-7000-8000-000000000000"))
            with pytest.raises(InvalidError) as invalid:
                admin.send(operations.create_agent({"name": ""}))
            assert invalid.value.details["field"] == "name"
            assert (invalid.value.request_id or "").startswith("req_")
        with Client(gate.api.url, agent_key=gate.agent_key) as agent, pytest.raises(ForbiddenError):
            agent.send(operations.list_agents())
        with Client(gate.api.url, agent_key=gate.agent_key) as agent, pytest.raises(ForbiddenError) as forbidden:
            agent.send(operations.list_approvals())
        assert forbidden.value.details["missing_scope"] == "approvals:read"

    await asyncio.to_thread(act)
