"""Claude Code as people install it, behind the gate: its model calls pass, what its tools send waits for a person."""

import asyncio
import json
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.clients import Administrator
from tests.e2e.instance import Instance
from tests.e2e.upstream import Upstream
from tests.integration.judges.model_server import ModelServer, run_model_server

PROGRAM = Path(__file__).parents[1] / "coding_agents" / "node_modules" / ".bin" / "claude"
SETTINGS = {
    "ANTHROPIC_API_KEY": "sk-ant-of-a-test",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",  # its provider stands here; nothing else is to be reached
    "CLAUDE_CODE_MAX_RETRIES": "0",
}
type Claude = Callable[[], "Future[subprocess.CompletedProcess[str]]"]


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[ModelServer]:
    with run_model_server(tmp_path) as server:
        yield server


@pytest.fixture
def claude(instance: Instance, provider: ModelServer, tmp_path: Path) -> Iterator[Claude]:
    """Starts it with a task, in a home and a folder of its own."""
    assert PROGRAM.exists(), "run make tests, or npm ci in tests/coding_agents, to install it"
    variables = SETTINGS | {"ANTHROPIC_BASE_URL": provider.url, "HOME": str(tmp_path)}
    environment = [f"{name}={value}" for name, value in variables.items()]
    words = ["--", "env", *environment, str(PROGRAM), "-p", "Pay.", "--allowedTools", "Bash"]
    with ThreadPoolExecutor(1) as pool:
        yield lambda: pool.submit(instance.try_command, "run", *words)


def _calls_tool(provider: ModelServer, upstream: Upstream, path: str) -> None:
    """The model asks for one call of curl, and ends when it has its result."""
    command = f"curl -sS -X POST -d amount=5 {upstream.url}{path}"
    tool = {"name": "Bash", "arguments": json.dumps({"command": command, "description": "Pay"})}
    asyncio.run(provider.answers({"toolCalls": [tool]}, "That is what it said."))


def _result(provider: ModelServer) -> str:
    """What the model was told that its tool had answered."""
    newest: Any = asyncio.run(provider.journal())[-1]
    (result,) = [message["content"] for message in newest["body"]["messages"] if message["role"] == "tool"]
    return str(result)


def test_a_call_of_a_tool_waits_and_goes_on(
    administrator: Administrator, upstream: Upstream, provider: ModelServer, claude: Claude
) -> None:
    path = "/patient/claude-approved"
    _calls_tool(provider, upstream, path)
    running = claude()
    waiting = administrator.pending(path)
    assert upstream.of(path) == []
    assert administrator.approve(waiting["id"]).status_code == 200
    done = running.result(90)
    assert (done.returncode, done.stdout.strip()) == (0, "That is what it said."), done
    assert [received.body for received in upstream.of(path)] == [b"amount=5"]
    assert json.loads(_result(provider)) == {"method": "POST", "path": path, "size": len("amount=5")}
    of_model = [one for one in administrator.actions_of("/v1/messages") if one["tool"] == "llm"]
    assert {one["decision"]["reason"] for one in of_model} == {"a completion by 127.0.0.1"}


def test_the_model_reads_why_a_person_said_no(
    administrator: Administrator, upstream: Upstream, provider: ModelServer, claude: Claude
) -> None:
    path = "/patient/claude-denied"
    _calls_tool(provider, upstream, path)
    running = claude()
    assert administrator.deny(administrator.pending(path)["id"], "not this month").status_code == 200
    assert running.result(90).returncode == 0
    assert upstream.of(path) == []
    refusal = json.loads(_result(provider))["error"]
    assert (refusal["code"], refusal["message"]) == ("APPROVAL_DENIED", "a reviewer denied this call: not this month")
