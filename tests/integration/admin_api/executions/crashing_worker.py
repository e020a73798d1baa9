"""A worker that kills itself at one step of the first execution it takes: ``DSN DATA_DIR STEP``.

STEP is ``before`` or ``after`` and a method of ``STEPS``, by its class and name.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from headgate.kernel.secrets import Secret
from headgate.worker.main import run_until
from headgate.worker.settings import WorkerSettings
from headgate.workflows.claim_attempt import AttemptClaims
from headgate.workflows.execute_action import ExecuteAction
from headgate.workflows.make_attempt import AttemptMaker
from headgate.workflows.permit_execution import ExecutionPermits
from headgate.workflows.settle_execution import Settlements

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


if __name__ == "__main__":
    dsn, data_dir, moment, step = sys.argv[1:]
    crash_at(moment, step)
    settings = WorkerSettings(Secret(dsn), None, Path(data_dir))
    asyncio.run(run_until(settings, asyncio.Event()))
