"""A rotation that kills its own process after so many secrets: ``python -m …  DSN FILE NUMBER``."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from headgate.db.database import Database
from headgate.kernel.secrets import Secret
from headgate.vault import rotation


async def main(dsn: str, file: str, number: int) -> None:
    left = number

    def progress(exchanged: int) -> None:
        nonlocal left
        left -= exchanged
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    rotation._BATCH = 3  # type: ignore[misc] - so that it stops in the middle
    database = Database(Secret(dsn))
    await database.open()
    await rotation.rotate(database, Path(file), progress=progress, settle_seconds=0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
