"""A worker of reports that is killed in the middle of its first ones: ``python … DSN FOLDER KILLS``.

It dies while it feeds the child, after the first window, as often as KILLS says; FOLDER remembers.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from headgate.db.database import Database
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.queue.model import Work
from headgate.queue.runner import JobRunner
from headgate.reports.frames import ChainRow
from headgate.reports.make_report import MakeReport
from headgate.reports.render_process import RenderProcess
from headgate.reports.service import MAKE_REPORT


class Doomed(RenderProcess):
    async def feed(self, rows: list[ChainRow]) -> None:
        await super().feed(rows)
        folder = Path(sys.argv[2])
        deaths = len(list(folder.iterdir()))  # noqa: ASYNC240 - nothing else runs here
        if deaths < int(sys.argv[3]):
            (folder / str(deaths)).touch()
            os.kill(os.getpid(), signal.SIGKILL)


async def main() -> None:
    import headgate.reports.make_report as module  # noqa: PLC0415 - to put the doomed one in

    module.RenderProcess = Doomed  # type: ignore[misc] - the very same but for its end
    database = Database(Secret(sys.argv[1]))
    await database.open()
    maker = MakeReport(database, system_clock, None)
    await JobRunner(Secret(sys.argv[1]), [Work(MAKE_REPORT, maker.run, maker.abandon)]).run(asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main())
