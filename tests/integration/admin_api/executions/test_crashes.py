"""kill -9 of the worker at every step: exactly one side effect, or an honest failed."""

import json
import os
import signal
import sys
from asyncio import create_subprocess_exec
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

STEPS = (
    ("before", "ExecutionPermits.find"),
    ("before", "AttemptClaims.claim"),
    ("after", "AttemptClaims.claim"),
    ("before", "AttemptMaker.make"),
    ("after", "AttemptMaker.make"),
    ("after", "Settlements.tell"),
    ("after", "ExecuteAction.run"),
)
CLAIMED = {("before", "AttemptMaker.make"), ("after", "AttemptMaker.make")}
CALLS = {
    "create_order": {"item": "{}"},
    "put_order": {"order": "{}", "item": "pen"},  # declared repeatable
}


@pytest.fixture
async def crashed(cluster, data_dir: Path) -> AsyncIterator[Callable[[tuple[str, str]], Awaitable[int]]]:
    """How a worker ended that was to kill itself at this step."""
    script = str(Path(__file__).with_name("crashing_worker.py"))
    # A session of their own, so that no worker that does not die outlives the test.
    workers = await create_subprocess_exec(sys.executable, script, stdin=PIPE, stdout=PIPE, start_new_session=True)
    assert workers.stdin is not None
    assert workers.stdout is not None
    asked, told = workers.stdin, workers.stdout

    async def crash(step: tuple[str, str]) -> int:
        asked.write(json.dumps([cluster.dsn("headgate_worker"), str(data_dir), *step]).encode() + b"\n")
        return int(await told.readline())

    yield crash
    os.killpg(workers.pid, signal.SIGKILL)
    await workers.wait()


@pytest.mark.parametrize("operation", CALLS)
async def test_a_worker_is_killed_at_every_step(
    new_gate, reach, working, service, ended, crashed, operation: str
) -> None:
    gate = await new_gate("package gate\n\nallow if true\n")
    await reach(gate)
    submitted: dict[tuple[str, str], tuple[str, str]] = {}
    for step in STEPS:
        mark = f"{step[0]}{step[1]}"
        params = {name: value.format(mark) for name, value in CALLS[operation].items()}
        body = {"tool": "shop", "operation": operation, "params": params}
        action = (await gate.as_agent.post("/v1/actions", json=body)).json()
        submitted[step] = action["id"], mark
        assert await crashed(step) == -9, step
    async with working():
        ends = {
            step: await ended(gate.as_agent, action_id, within_seconds=90) for step, (action_id, _) in submitted.items()
        }
    for step, action in ends.items():
        mark = submitted[step][1]
        sent = sum(mark in path or mark.encode() in body for _, path, _, body in service.requests)
        told = (step, action["status"], action["execution"]["error"], sent)
        if operation == "put_order":
            assert action["status"] == "completed" and 1 <= sent <= 2, told
        elif step in CLAIMED:
            assert action["status"] == "failed" and "outcome unknown" in action["execution"]["error"], told
            assert sent == (1 if step[0] == "after" else 0), told
        else:
            assert action["status"] == "completed" and sent == 1, told
    # Each attempt, and nothing else, is in the record.
    events = (await gate.person().get("/admin/audit", params={"event_type": "execution.started", "limit": 200})).json()
    assert len(events["data"]) == sum(action["execution"]["attempts"] for action in ends.values())
    running = (await gate.person().get("/v1/executions/stats")).json()
    assert (running["queued"], running["running"]) == (0, 0)
