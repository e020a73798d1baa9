"""A child that is asked case after case, and replaced when it dies or hangs."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from regorus_fuzz.case import Case
from regorus_fuzz.judge import ANSWER_SECONDS_MAX, Finding, Verdict, judge, number

CASES_PER_CHILD = 2_000
"""After which memory that is only kept would hide memory that is lost."""


LOOK_SECONDS = 5.0


def worked_seconds(process_id: int) -> float:
    """The processor's time that a process has had (proc_pid_stat(5))."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Child:
    """One process at a time."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.held_bytes = 0.0
        self.asked = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Kills the process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def start(self) -> subprocess.Popen[str]:
        """A fresh process."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "regorus_fuzz.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.asked = 0
        first = self.answer(self.process)
        self.held_bytes = number(first or {}, "held_bytes")
        return self.process

    def answer(self, process: subprocess.Popen[str]) -> dict[str, object] | None:
        """The next line; None where none comes in time, or the process is gone."""
        if process.stdout is None:
            return None
        worked_before = worked_seconds(process.pid)
        while not select.select([process.stdout], [], [], LOOK_SECONDS)[0]:
            if worked_seconds(process.pid) - worked_before > ANSWER_SECONDS_MAX:
                return None
        line = process.stdout.readline()
        return dict(json.loads(line)) if line else None

    def ask(self, case: Case) -> Verdict:
        """What a case comes to."""
        process = self.process or self.start()
        self.asked += 1
        try:
            if process.stdin is not None:
                process.stdin.write(json.dumps({"policy": case.policy, "input": case.input}) + "\n")
                process.stdin.flush()
        except BrokenPipeError:
            return self.died(process)
        answer = self.answer(process)
        if answer is None:
            return self.died(process)
        verdict = judge(answer, self.held_bytes)
        self.held_bytes = max(self.held_bytes, number(answer, "held_bytes"))
        if self.asked >= CASES_PER_CHILD or verdict.finding is Finding.MEMORY:
            self.stop()
        return verdict

    def died(self, process: subprocess.Popen[str]) -> Verdict:
        """Gone, or silent."""
        code = process.poll()
        try:
            code = process.wait(timeout=1) if code is None else code
        except subprocess.TimeoutExpired:
            self.stop()
            return Verdict(Finding.HANG, f"no answer within {ANSWER_SECONDS_MAX:.0f} s")
        self.stop()
        return Verdict(Finding.CRASH, signal.Signals(-code).name if code < 0 else f"exit status {code}")
