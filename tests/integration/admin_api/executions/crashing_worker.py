"""Workers that kill themselves at one step of the first execution they take, one after the other.

Each line of the standard input is ``[dsn, data_dir, moment, step]``: ``before`` or ``after``, and a method of ``STEPS``
by its class and name. The answer is how that worker ended, on the standard output. They are processes of their own,
forked from one that has imported what they need, which takes most of the time of starting one.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from headgate.executor.attempt import AttemptMaker
from headgate.executor.claim import AttemptClaims
from headgate.executor.execute import ExecuteAction
from headgate.executor.permit import ExecutionPermits
from headgate.executor.settle import Settlements
from headgate.kernel.secrets import Secret
from headgate.worker.main import run_until
from headgate.worker.settings import WorkerSettings

STEPS = {one.__name__: one for one in (ExecuteAction, ExecutionPermits, AttemptClaims, AttemptMaker, Settlements)}


def crash_at(moment: str, step: str) -> None:
    owner, _, method = step.partition(".")
    original = getattr(STEPS[owner], method)

    async def crashing(*arguments: Any, **named: Any) -> Any:
        if moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = await original(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)
        return answer

    setattr(STEPS[owner], method, crashing)


def work(dsn: str, data_dir: str, moment: str, step: str) -> None:
    crash_at(moment, step)
    settings = WorkerSettings(Secret(dsn), None, Path(data_dir))
    asyncio.run(run_until(settings, asyncio.Event()))


if __name__ == "__main__":
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # where workers write their log
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            work(*json.loads(line))
            sys.exit("the worker came to an end")
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)
