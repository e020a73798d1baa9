"""The guide's programs, with agent frameworks as people install them: what their tools send waits for a person."""

import asyncio
import gc
import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.clients import Administrator
from tests.e2e.instance import Instance
from tests.e2e.tls_front import tls_front
from tests.e2e.tool_server import serving
from tests.e2e.upstream import Upstream
from tests.e2e.waiting import wait_for
from tests.integration.judges.model_server import ModelServer, run_model_server

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "agent-frameworks.md").read_text("utf-8")
PROGRAMS: dict[str, str] = dict(re.findall(r"`(\w+\.\w+)`:\n\n```\w+\n(.*?)```", GUIDE, re.DOTALL))
OF_MCP = "mcp_agent.py"
BY_HAND = {"crew_agent.py"}
PACKAGES = ROOT / "tests" / "agent_frameworks" / "node_modules"
INTERPRETERS = {".py": ROOT / ".frameworks" / "bin" / "python", ".mjs": PACKAGES / ".bin" / "node"}
LAST_WORDS = "Paid what could be paid."
# The third invoice is held for as long as the instance says: 2 seconds.
POLICY = """package e2e.frameworks

require_approval contains "a payment" if {
    startswith(input.http.path, "/frameworks/")
    not endswith(input.http.path, "/43/payment")
}

approval := {"hold_seconds": 90}
"""
SAVING = """package e2e.saving

require_approval contains "a reviewer decides" if input.mcp.name == "save_file"

approval := {"hold_seconds": 90}
"""
MCP_PATIENCE_SECONDS = 5  # of the OpenAI Agents SDK, by default
type Start = Callable[..., "Future[subprocess.CompletedProcess[str]]"]


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    with run_model_server(tmp_path_factory.mktemp("model_server")) as server:
        yield server


@pytest.fixture
def start(
    instance: Instance,
    provider: ModelServer,
    upstream: Upstream,
    certificates: tuple[Path, Path],
    tmp_path: Path,
) -> Iterator[Start]:
    """Runs a program of the guide in a folder of its own, where no network but the gate's can be reached."""
    (tmp_path / "node_modules").symlink_to(PACKAGES)
    with ThreadPoolExecutor(1) as pool, tls_front(provider.url, certificates[1]) as models:

        def run(name: str, **more: str) -> "Future[subprocess.CompletedProcess[str]]":
            program = tmp_path / name
            program.write_text(PROGRAMS[name])
            interpreter = INTERPRETERS[program.suffix]
            assert interpreter.exists(), "run make tests to install the frameworks"
            variables = {
                "OPENAI_BASE_URL": f"{models}/v1",
                "OPENAI_API_KEY": "sk-of-a-test",
                "OPENAI_AGENTS_DISABLE_TRACING": "1",
                "BILLING_URL": f"{upstream.url}/frameworks/{program.stem}",
                "HOME": str(tmp_path),
                **more,
            }
            words = ["env", *(f"{variable}={value}" for variable, value in variables.items())]
            return pool.submit(instance.try_command, "run", "--isolate", "--", *words, str(interpreter), str(program))

        yield run


async def _bookkeeper(provider: ModelServer) -> None:
    """A model that pays three invoices one after the other, and repeats a payment that waits for an approval."""

    def pays(number: int) -> dict[str, object]:
        return {"toolCalls": [{"name": "pay_invoice", "arguments": json.dumps({"number": number})}]}

    await provider.reset()
    await provider.answers(pays(42), toolResultContains="/41/payment")
    await provider.answers(pays(43), toolResultContains="already paid by check")
    await provider.answers(pays(43), toolResultContains="APPROVAL_PENDING")
    await provider.answers(LAST_WORDS, toolResultContains="/43/payment")
    await provider.answers(pays(41), userMessage="Pay the invoices 41, 42 and 43.")


def _results(provider: ModelServer) -> list[str]:
    """What the model was told that its tool had answered."""
    asked: Any = asyncio.run(provider.journal())
    return [str(message["content"]) for message in asked[-1]["body"]["messages"] if message["role"] == "tool"]


def _newest(instance: Instance) -> str:
    return str(instance.rows("SELECT coalesce(max(action_id), '') AS newest FROM actions")[0]["newest"])


def _sent_since(instance: Instance, administrator: Administrator, newest: str) -> list[tuple[str, str, str]]:
    """Tool, path and reason of everything that agents have sent since, oldest first."""
    administrator.get("/v1/actions?limit=1")  # applies the journal
    rows = instance.rows(
        "SELECT action_id, request::json #>> '{http,path}' AS path FROM actions WHERE action_id > %s ORDER BY 1", newest
    )
    actions = [(administrator.action(row["action_id"]), row["path"]) for row in rows]
    return [(action["tool"], path, action["decision"]["reason"]) for action, path in actions]


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - BY_HAND - {OF_MCP}))
def test_payments_are_held_approved_denied_and_repeated(
    instance: Instance,
    administrator: Administrator,
    upstream: Upstream,
    provider: ModelServer,
    start: Start,
    name: str,
) -> None:
    first, second, third = (f"/frameworks/{Path(name).stem}/invoices/{number}/payment" for number in (41, 42, 43))
    asyncio.run(_bookkeeper(provider))
    newest = _newest(instance)
    with administrator.policy(POLICY, priority=500):
        running = start(name)
        held = administrator.pending(first)
        assert upstream.of(first) == []
        assert administrator.approve(held["id"]).status_code == 200
        assert administrator.deny(administrator.pending(second)["id"], "already paid by check").status_code == 200
        repeated = administrator.pending(third)
        wait_for(lambda: "APPROVAL_PENDING" in _results(provider)[-1], "the model is told that the payment waits")
        assert administrator.approve(repeated["id"]).status_code == 200
        done = running.result(90)
    assert (done.returncode, done.stdout.strip()) == (0, LAST_WORDS), done
    assert [len(upstream.of(path)) for path in (first, second, third)] == [1, 0, 1]
    told = _results(provider)
    assert '"code": "APPROVAL_DENIED", "message": "a reviewer denied this call: already paid by check"' in told[1]
    assert "Send the same request again to go on waiting" in told[2]
    # Nothing else was sent: no telemetry, no completion by another way than the gate.
    sent = _sent_since(instance, administrator, newest)
    assert {path for tool, path, _ in sent if tool != "llm"} == {first, second, third}
    completions = [reason for tool, _, reason in sent if tool == "llm"]
    assert completions == ["a completion by 127.0.0.1"] * len(asyncio.run(provider.journal()))


# The SDK leaves streams of its server open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_calls_of_an_mcp_server_are_held_approved_and_denied(
    administrator: Administrator,
    certificates: tuple[Path, Path],
    provider: ModelServer,
    start: Start,
) -> None:
    async def clerk() -> None:
        def saves(path: str) -> dict[str, object]:
            return {"toolCalls": [{"id": path, "name": "save_file", "arguments": json.dumps({"path": path})}]}

        await provider.reset()
        await provider.answers(saves("/second"), toolCallId="/first")
        await provider.answers(LAST_WORDS, toolCallId="/second")
        await provider.answers(saves("/first"), userMessage="Save both reports.")

    asyncio.run(clerk())
    with serving(certificates[1]) as server, administrator.policy(SAVING, priority=500):
        running = start(OF_MCP, FILES_URL=server.url)
        first = administrator.pending("/first")
        time.sleep(MCP_PATIENCE_SECONDS + 1)
        assert server.calls == []
        assert administrator.approve(first["id"]).status_code == 200
        assert administrator.deny(administrator.pending("/second")["id"], "not to eve").status_code == 200
        done = running.result(90)
    gc.collect()  # so that what the SDK left open is found in this test
    assert (done.returncode, done.stdout.strip()) == (0, LAST_WORDS), done
    assert server.calls == ["/first"]
    assert "a reviewer denied this call: not to eve" in _results(provider)[1]
