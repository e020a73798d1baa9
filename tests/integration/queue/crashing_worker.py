"""A worker process whose one job kills it: ``python crashing_worker.py DSN QUEUE JOB FILE``. Each run adds a line."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from headgate.kernel.backoff import Backoff
from headgate.kernel.secrets import Secret
from headgate.queue.model import Job, JobReference, Work
from headgate.queue.runner import JobRunner


async def main(dsn: str, queue: str, name: str, path: str) -> None:
    async def die(reference: JobReference) -> None:
        with Path(path).open("a") as lines:  # noqa: ASYNC230 - nothing else runs here
            lines.write(f"{reference.subject_id} {reference.attempt}\n")
        os.kill(os.getpid(), signal.SIGKILL)

    job = Job(name, queue=queue, backoff=Backoff(first_seconds=0.05, cap_seconds=0.1, most_attempts=3))
    await JobRunner(Secret(dsn), [Work(job, die)]).run(asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
