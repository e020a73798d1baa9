"""What dies is started again; what is stopped stays stopped; nothing outlives the supervisor."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from headgate.kernel.errors import UnavailableError
from headgate.runtime.server_process import Program, RunningProgram
from headgate.runtime.supervisor import Part, Supervisor, together, wait_until
from tests.integration.runtime.processes import eventually, lives

SLEEP = ("/bin/sh", "-c", "exec sleep 100")


def _program(name: str, *command: str, stop_seconds: float = 5.0, log: Path | None = None) -> Program:
    return Program(name, command or SLEEP, {"PATH": "/usr/bin:/bin"}, stop_seconds=stop_seconds, log=log)


async def test_what_is_killed_is_started_again_and_told() -> None:
    told: list[Mapping[str, Sequence[int]]] = []
    supervisor = Supervisor(changed=told.append, jitter=lambda: 0.0)
    await supervisor.start(Part(_program("one")))
    await supervisor.start(Part(_program("two")))
    await supervisor.start(Part(_program("two")))
    before = supervisor.pids
    assert {name: len(pids) for name, pids in before.items()} == {"one": 1, "two": 2}
    os.kill(before["two"][0], signal.SIGKILL)
    await eventually(lambda: bool(told))
    assert supervisor.pids["one"] == before["one"]
    assert before["two"][1] in supervisor.pids["two"]
    assert before["two"][0] not in supervisor.pids["two"]
    assert told[-1] == supervisor.pids
    await supervisor.stop([])
    assert supervisor.pids == {}


async def test_a_death_is_told_before_the_part_is_started_again() -> None:
    deaths: list[tuple[int, int]] = []
    supervisor = Supervisor(jitter=lambda: 0.0)
    await supervisor.start(Part(_program("one"), died=lambda pid, status: deaths.append((pid, status))))
    (pid,) = supervisor.pids["one"]
    os.kill(pid, signal.SIGSEGV)
    await eventually(lambda: supervisor.pids.get("one", [pid]) != [pid])
    assert deaths == [(pid, -signal.SIGSEGV)]
    await supervisor.stop([])


async def test_what_is_prepared_before_a_start_is_prepared_before_every_start() -> None:
    prepared: list[int] = []

    async def before() -> None:
        prepared.append(1)

    supervisor = Supervisor(jitter=lambda: 0.0)
    await supervisor.start(Part(_program("one"), before=before))
    os.kill(supervisor.pids["one"][0], signal.SIGKILL)
    await eventually(lambda: len(prepared) == 2)
    await supervisor.stop([])


@pytest.mark.parametrize("where", ["died", "before", "changed", "ready"])
async def test_a_disk_that_is_full_when_a_part_dies_keeps_it_away_only_as_long(where: str) -> None:
    failing: list[str] = []

    def touch(place: str) -> None:
        if place == where and failing:
            failing.pop()
            raise OSError(errno.ENOSPC, "No space left on device")

    async def before() -> None:
        touch("before")

    async def ready(running: RunningProgram) -> None:
        touch("ready")

    supervisor = Supervisor(changed=lambda pids: touch("changed"), jitter=lambda: 0.0)
    await supervisor.start(Part(_program("one"), ready, before, lambda pid, status: touch("died")))
    (pid,) = supervisor.pids["one"]
    failing += [where]
    os.kill(pid, signal.SIGKILL)
    await eventually(lambda: not failing and supervisor.pids.get("one", [pid]) != [pid])
    await supervisor.stop([])


async def test_a_part_that_keeps_dying_is_tried_less_and_less(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    supervisor = Supervisor(jitter=lambda: 0.0)
    await supervisor.start(Part(_program("one", "/bin/sh", "-c", f"date +%s.%N >> {marks}; sleep 0.05; exit 3")))
    try:
        await eventually(lambda: marks.exists() and len(marks.read_text().split()) > 3)
    finally:
        await supervisor.stop([])
    first, second, third, fourth = (float(one) for one in marks.read_text().split()[:4])
    assert (second - first > 0.1, third - second > 0.2, fourth - third > 0.4) == (True, True, True)


async def test_a_part_that_ends_while_it_starts_says_so_and_is_not_tried_again(tmp_path: Path) -> None:
    async def never(running: RunningProgram) -> bool:
        return False

    async def ready(running: RunningProgram) -> None:
        await wait_until(never, running, seconds=30)

    supervisor = Supervisor()
    program = _program("one", "/bin/sh", "-c", "echo last words; exit 1", log=tmp_path / "log")
    with pytest.raises(UnavailableError, match=r"the one ended while it started; .*\nlast words"):
        await supervisor.start(Part(program, ready))
    assert supervisor.pids == {}


async def test_a_part_that_is_not_ready_in_time_is_ended() -> None:
    seen: list[RunningProgram] = []

    async def never(running: RunningProgram) -> bool:
        seen.append(running)
        return False

    async def ready(running: RunningProgram) -> None:
        await wait_until(never, running, seconds=0.1)

    supervisor = Supervisor()
    with pytest.raises(UnavailableError, match="was not ready within"):
        await supervisor.start(Part(_program("one"), ready))
    assert not seen[0].is_running


async def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(UnavailableError, match="one cannot be started"):
        await Supervisor().start(Part(_program("one", "/no/such/program")))


async def test_of_several_starts_the_first_failure_ends_the_others() -> None:
    supervisor = Supervisor()
    with pytest.raises(UnavailableError, match="bad cannot be started"):
        await together(
            supervisor.start(Part(_program("good"))), supervisor.start(Part(_program("bad", "/no/such/program")))
        )
    await supervisor.stop([])


async def test_groups_stop_one_after_the_other_and_the_stubborn_are_killed(tmp_path: Path) -> None:
    order = tmp_path / "order"
    trap = f"trap 'echo $0 >> {order}; exit 0' TERM; while :; do sleep 0.01; done"
    supervisor = Supervisor()
    await supervisor.start(Part(_program("first", "/bin/sh", "-c", trap, "first")))
    await supervisor.start(Part(_program("second", "/bin/sh", "-c", trap, "second")))
    stubborn = "trap '' TERM; while :; do sleep 0.01; done"
    await supervisor.start(Part(_program("stubborn", "/bin/sh", "-c", stubborn, stop_seconds=0.3)))
    await asyncio.sleep(0.3)  # until the traps are set
    [pid] = supervisor.pids["stubborn"]
    await supervisor.stop([["first"], ["second"]])
    assert order.read_text().split() == ["first", "second"]
    assert not lives(pid)


_SUPERVISOR = """
import asyncio, sys
from headgate.runtime.server_process import Program
from headgate.runtime.supervisor import Part, Supervisor

async def main():
    supervisor = Supervisor()
    for name in ("one", "two", "three"):
        await supervisor.start(Part(Program(name, ("/bin/sh", "-c", "exec sleep 100"), {"PATH": "/usr/bin:/bin"})))
    print(*(pid for pids in supervisor.pids.values() for pid in pids), flush=True)
    await asyncio.sleep(100)

asyncio.run(main())
"""


def test_nothing_outlives_a_supervisor_that_was_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _SUPERVISOR], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        # Log lines come first, on the same stream.
        line = next(line for line in process.stdout if line.split() and all(word.isdigit() for word in line.split()))
        children = [int(word) for word in line.split()]
        assert len(children) == 3
        process.kill()
        process.wait()
    deadline = time.monotonic() + 2
    while any(lives(pid) for pid in children):
        assert time.monotonic() < deadline, "a child outlived the supervisor"
        time.sleep(0.01)
