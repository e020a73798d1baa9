"""The official Python SDK of MCP through the gate: it lists, calls, is held, and is told of what failed."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamable_http_client

from tests.e2e.clients import Administrator, Agent
from tests.e2e.tool_server import serving

# The SDK leaves streams of its own open.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

PATH = "/a/file"
POLICY = """package e2e.files

allow if startswith(input.operation, "mcp_")

allow if input.mcp.name == "fail"

require_approval contains "a reviewer decides" if input.mcp.name == "save_file"

approval := {"hold_seconds": 60}
"""


@pytest.fixture(scope="module")
def server(certificates: tuple[Path, Path]) -> Iterator[tuple[str, list[str]]]:
    with serving(certificates[1]) as started:
        yield started


@asynccontextmanager
async def session(agent: Agent, url: str) -> AsyncIterator[ClientSession]:
    proxy = httpx.Proxy(agent.proxy_url, auth=("agent", agent.key))
    async with (
        httpx.AsyncClient(proxy=proxy, verify=agent.trust, trust_env=False, timeout=60) as client,
        streamable_http_client(url, http_client=client) as (incoming, outgoing, _),
        ClientSession(incoming, outgoing) as opened,
    ):
        await opened.initialize()
        yield opened


async def test_a_held_call_tells_how_far_it_is_and_completes(
    administrator: Administrator, agent: Agent, server: tuple[str, list[str]]
) -> None:
    url, calls = server
    progress: list[str | None] = []

    async def tell(done: float, total: float | None, text: str | None) -> None:
        progress.append(text)

    with administrator.policy(POLICY, priority=1):
        async with session(agent, url) as opened:
            assert {tool.name for tool in (await opened.list_tools()).tools} == {"save_file", "fail"}
            call = asyncio.create_task(
                opened.call_tool("save_file", {"path": PATH}, timedelta(seconds=60), progress_callback=tell)
            )
            approval = await asyncio.to_thread(administrator.pending, PATH)
            async with asyncio.timeout(30):
                while not progress:
                    await asyncio.sleep(0.1)
            assert calls == []
            await asyncio.to_thread(administrator.approve, approval["id"])
            result = await call
    assert not result.isError
    assert calls == [PATH]
    assert set(progress) == {"waiting for a decision"}


async def test_a_denied_call_and_one_that_fails(
    administrator: Administrator, agent: Agent, server: tuple[str, list[str]]
) -> None:
    url, calls = server
    before = len(calls)
    with administrator.policy(POLICY, priority=1):
        async with session(agent, url) as opened:
            call = asyncio.create_task(opened.call_tool("save_file", {"path": PATH}))
            approval = await asyncio.to_thread(administrator.pending, PATH)
            await asyncio.to_thread(administrator.deny, approval["id"], "not to eve")
            with pytest.raises(McpError, match="not to eve"):
                await call
            assert (await opened.call_tool("fail")).isError
    assert len(calls) == before
    failed = [one for one in administrator.actions_of("/mcp") if one["operation"] == "fail"]
    assert administrator.settled(failed[0]["id"])["status"] == "failed"


async def test_a_tool_whose_every_call_is_denied_is_not_offered(
    administrator: Administrator, agent: Agent, server: tuple[str, list[str]]
) -> None:
    url, _ = server
    denied = POLICY.replace("e2e.files", "e2e.fewer_files") + '\ndeny contains "never" if input.mcp.name == "fail"\n'
    with administrator.policy(denied, priority=1) as policy:
        async with session(agent, url) as opened:
            assert [tool.name for tool in (await opened.list_tools()).tools] == ["save_file"]
            with pytest.raises(McpError, match="never"):
                await opened.call_tool("fail")
    listed = [one for one in administrator.actions_of("/mcp") if one["operation"] == "mcp_tools_list"][-1]
    result = administrator.settled(listed["id"])["execution"]["result"]
    assert result["inspection"] == {
        "withheld": False,
        "nlp": [],
        "tools": {
            "listed": 2,
            "left_out": 1,
            "first_left_out": [{"name": "fail", "policy_id": policy["id"], "reason": "never"}],
        },
    }
