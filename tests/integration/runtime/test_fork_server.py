"""A part that is forked is as one that was started alone, and its end is seen however it comes."""

import asyncio
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from headgate.cli.forked_parts import MODULES, TASKS
from headgate.kernel.errors import UnavailableError
from headgate.runtime.fork_server import ForkServer
from headgate.runtime.server_process import Program, RunningProgram
from headgate.runtime.supervisor import Part, Supervisor
from tests.integration.runtime.processes import eventually, lives

_ROOT = Path(__file__).parents[3]
_PROBE = "tests.integration.runtime.forked_probe"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(_ROOT))
    monkeypatch.setenv("HEADGATE_ADMIN_TOKEN", "of the supervisor alone")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ForkServer]:
    server = ForkServer(tmp_path / "metrics", _PROBE)
    yield server
    await server.close()


@pytest.fixture
def part(tmp_path: Path) -> Program:
    return Program("worker", ("worker",), {"PATH": "/usr/bin", "TOLD": str(tmp_path)}, stop_seconds=5)


def _file(pid: int, name: str) -> Path:
    return Path(f"/proc/{pid}/{name}")


def _server_pid() -> int:
    children = [pid for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]
    [pid] = [int(one) for one in children if b"loads the parts" in _file(int(one), "cmdline").read_bytes()]
    return pid


def _is_in_memory(pid: int, text: str) -> bool:
    """proc(5), ``mem``: what a debugger or a core dump shows."""
    regions = [line.split() for line in _file(pid, "maps").read_text().splitlines()]
    with _file(pid, "mem").open("rb", buffering=0) as memory:
        for region in regions:
            if "w" not in region[1]:
                continue
            start, end = (int(one, 16) for one in region[0].split("-"))
            memory.seek(start)
            with suppress(OSError):
                if text.encode() in memory.read(end - start):
                    return True
    return False


async def test_it_is_as_a_process_that_was_started_alone(server: ForkServer, part: Program, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = await server.start(replace(part, environment={"TOLD": str(tmp_path / "other")}))
    running = await server.start(part)
    await eventually((tmp_path / "told").exists)
    told = json.loads((tmp_path / "told").read_text())

    assert told["arguments"] == ["headgate", "worker"]
    assert told["environment"] == {**part.environment, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "metrics")}
    assert (told["leads_session"], told["collects"], told["has_loaded"]) == (True, True, True)
    assert told["title"] == "headgate worker"
    assert told["files"]["0"] == os.devnull
    opened = {file for number, file in told["files"].items() if int(number) > 2}
    assert not [file for file in opened if file.startswith(("socket:", "pipe:", "anon_inode:"))]
    assert running.is_running
    assert other.is_running


async def test_no_secret_is_in_the_memory_of_the_server(
    server: ForkServer, part: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "login-" + uuid4().hex
    await (await server.start(replace(part, environment={**part.environment, "DATABASE": secret}))).stop()
    await server.start(part)

    assert not _is_in_memory(_server_pid(), secret)
    assert not _is_in_memory(_server_pid(), "of the supervisor alone")
    assert _is_in_memory(_server_pid(), "headgate.cli.forked_parts")


async def test_parts_that_share_what_is_made_at_first_use_draw_other_random_numbers(
    server: ForkServer, part: Program, tmp_path: Path
) -> None:
    """A generator that is copied with its state gives two parts the same keys (OpenSSL 3, ``fork_id`` in its DRBG)."""
    drawn = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        await server.start(replace(part, command=("proxy",), environment={"TOLD": str(folder)}))
        await eventually((folder / "told").exists)
        drawn += json.loads((folder / "told").read_text())["drawn"]

    assert len(set(drawn)) == len(drawn) == 4


async def test_the_exit_status_is_told(server: ForkServer, part: Program) -> None:
    at_once = replace(part, environment={**part.environment, "SECONDS": "0"})

    assert await (await server.start(at_once)).wait() == 7


async def test_the_signal_that_ended_it_is_told(server: ForkServer, part: Program) -> None:
    running = await server.start(part)
    os.kill(running.pid, signal.SIGSEGV)

    assert await running.wait() == -signal.SIGSEGV
    await running.stop()  # of what has ended: nothing happens


async def test_it_is_stopped_as_any_program(server: ForkServer, part: Program) -> None:
    running = await server.start(part)
    await running.stop()

    assert running.program is part
    assert not lives(running.pid)


async def test_with_its_server_ends_what_it_forked_and_the_next_start_has_a_server(
    server: ForkServer, part: Program
) -> None:
    running = await server.start(part)
    pid = _server_pid()
    os.kill(pid, signal.SIGKILL)

    assert await running.wait() == -signal.SIGKILL
    await eventually(lambda: not lives(running.pid))
    assert (await server.start(part)).is_running


async def test_a_supervisor_starts_again_what_ended_with_its_server(server: ForkServer, part: Program) -> None:
    supervisor = Supervisor(jitter=lambda: 0.0)
    await supervisor.start(Part(part, start=server.start))
    before = supervisor.pids
    os.kill(_server_pid(), signal.SIGKILL)
    await eventually(lambda: supervisor.pids not in ({}, before))
    await supervisor.stop([])


async def test_what_cannot_be_loaded_does_not_start_and_ends_no_other_part(server: ForkServer, part: Program) -> None:
    running = await server.start(part)
    with pytest.raises(UnavailableError, match=r"api cannot be started: ModuleNotFoundError: .*no_such_module"):
        await server.start(Program("api", ("api",), {}))

    assert (await server.start(part)).is_running
    assert running.is_running


async def test_what_cannot_be_forked_ends_no_other_part(server: ForkServer, part: Program) -> None:
    running = await server.start(part)
    pid = _server_pid()
    used = {int(link.name) for link in _file(pid, "fd").iterdir()}
    free = next(number for number in itertools.count() if number not in used)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (free + 1, 1024))  # for the environment, and no more
    with pytest.raises(UnavailableError, match="worker cannot be started: OSError"):
        await server.start(part)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (1024, 1024))

    assert (await server.start(part)).is_running
    assert running.is_running


async def test_a_signal_to_the_whole_group_leaves_the_parts_their_time(server: ForkServer, part: Program) -> None:
    running = await server.start(part)
    for number in (signal.SIGTERM, signal.SIGINT):
        os.kill(_server_pid(), number)
        await asyncio.sleep(0.05)

    assert running.is_running
    await running.stop()
    assert await running.wait() == -signal.SIGTERM


async def test_a_server_that_does_nothing_is_given_up(
    server: ForkServer, part: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = await server.start(part)
    monkeypatch.setattr("headgate.runtime.fork_server._START_SECONDS", 0.2)
    os.kill(_server_pid(), signal.SIGSTOP)
    with pytest.raises(UnavailableError, match="not forked within"):
        await server.start(part)

    assert await running.wait() == -signal.SIGKILL
    monkeypatch.undo()
    assert (await server.start(part)).is_running


async def test_descriptors_do_not_add_up(server: ForkServer, part: Program) -> None:
    counts = []
    for _ in range(3):
        await (await server.start(part)).stop()
        counts.append([len(list(_file(pid, "fd").iterdir())) for pid in (os.getpid(), _server_pid())])
    os.kill(_server_pid(), signal.SIGKILL)
    with suppress(UnavailableError):  # its end may not be known yet
        await server.start(part)
    await (await server.start(part)).stop()

    assert counts[0] == counts[2]
    assert len(list(_file(os.getpid(), "fd").iterdir())) == counts[0][0]


async def test_what_nobody_waits_for_any_more_does_not_run(server: ForkServer, part: Program) -> None:
    await (await server.start(part)).stop()
    pid = _server_pid()
    os.kill(pid, signal.SIGSTOP)
    starting = asyncio.ensure_future(server.start(part))
    await asyncio.sleep(0.05)
    starting.cancel()
    with suppress(asyncio.CancelledError):
        await starting
    os.kill(pid, signal.SIGCONT)
    running: RunningProgram = await server.start(part)

    forked = Path(f"/proc/{pid}/task/{pid}/children")
    await eventually(lambda: forked.read_text().split() == [str(running.pid)])


async def test_a_task_answers_on_its_standard_output(
    server: ForkServer, part: Program, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = "token-" + uuid4().hex
    answer = await server.ask(replace(part, command=("prepare",), environment={"TOLD": secret}))

    assert answer == f"of the task: {secret}\n".encode()
    assert capfd.readouterr() == ("", "a log line\n")
    assert not _is_in_memory(_server_pid(), secret)


async def test_a_task_that_fails_is_no_answer(server: ForkServer, part: Program) -> None:
    with pytest.raises(UnavailableError, match="the task token ended with exit status 7: see its log on stderr"):
        await server.ask(replace(part, command=("token",)))


async def test_a_task_whose_server_is_killed_is_no_answer(server: ForkServer, part: Program) -> None:
    await server.start(part)
    forked = _file(_server_pid(), f"task/{_server_pid()}/children")
    lasting = replace(part, command=("prepare",), environment={**part.environment, "SECONDS": "100"})
    asking = asyncio.ensure_future(server.ask(lasting))
    await eventually(lambda: len(forked.read_text().split()) == 2)
    os.kill(_server_pid(), signal.SIGKILL)

    with pytest.raises(UnavailableError, match="the task prepare ended with signal 9"):
        await asking


async def test_a_task_ends_with_who_has_asked(server: ForkServer, part: Program) -> None:
    await (await server.start(part)).stop()
    forked = _file(_server_pid(), f"task/{_server_pid()}/children")
    lasting = replace(part, command=("prepare",), environment={**part.environment, "SECONDS": "100"})
    asking = asyncio.ensure_future(server.ask(lasting))
    await eventually(lambda: forked.read_text() != "")
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking

    await eventually(lambda: forked.read_text() == "")


_INSTANCE = f"""
import asyncio, pathlib, sys
from headgate.runtime.fork_server import ForkServer
from headgate.runtime.server_process import Program

async def main():
    server = ForkServer(pathlib.Path(sys.argv[1]), "{_PROBE}")
    running = await server.start(Program("worker", ("worker",), {{"TOLD": sys.argv[1]}}))
    print(running.pid, flush=True)
    await asyncio.sleep(100)

asyncio.run(main())
"""


def test_nothing_outlives_an_instance_that_was_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _INSTANCE, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert lives(pid)
        process.kill()
        process.wait()
    deadline = time.monotonic() + 5
    while lives(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


_LOADED_BEFORE = """
import ast, importlib, inspect, sys
from headgate.cli import forked_parts, parts

for name in forked_parts.MODULES[sys.argv[1]]:
    forked_parts._load(name)
before = set(sys.modules)
functions = [one for one in ast.parse(inspect.getsource(parts)).body if isinstance(one, ast.FunctionDef)]
assert {one.name for one in functions} >= set(sys.argv[2:])
inner = [one for function in functions if function.name in sys.argv[2:] for one in ast.walk(function)]
imported = {one.module for one in inner if isinstance(one, ast.ImportFrom)}
for module in imported:
    importlib.import_module(module)
print(*sorted(set(sys.modules) - before))
"""


@pytest.mark.parametrize(("part", "functions"), [("api", ["api"]), ("proxy", ["_serve_proxy"]), ("worker", ["worker"])])
def test_a_forked_part_imports_nothing_that_it_would_have_for_itself(part: str, functions: list[str]) -> None:
    """Each process would load it once more, and hold it in memory of its own."""
    given = [*functions, "_begin", "_upstream_proxy", "_unwrapper"]
    command = [sys.executable, "-c", _LOADED_BEFORE, part, *given]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.split() == []


async def test_what_the_parts_load_starts_no_thread(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A lock that a thread holds when another thread forks stays locked for ever in the copy (fork(2))."""
    server = ForkServer(tmp_path / "metrics")
    await server.load(*MODULES)
    environment = {"HEADGATE_DATA_DIR": str(tmp_path / "data")}
    parts = sorted(set(MODULES) - set(TASKS))
    for name in parts:
        running = await server.start(Program(name, (name,), environment))
        assert await running.wait() == 1  # it has no database
    for task in TASKS:
        assert b"failed" in await server.ask(Program(task, (task,), {**environment, "HEADGATE_LOG_LEVEL": "no level"}))
    pid = _server_pid()

    assert len(list(_file(pid, "task").iterdir())) == 1
    assert capfd.readouterr().err.count("no database") == len(parts) == 3
    await server.close()
