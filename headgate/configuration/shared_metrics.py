"""Metrics of all processes of an instance on one machine: each writes its own file, whoever is asked adds them up.

prometheus_client's multiprocess mode: the folder is named by an environment variable that must be set before the
library is imported, so this module imports nothing of it.

The library maps its files, and makes them sparse. On a full disk the first write to a page that has no block is a
SIGBUS (mmap(2)), which ends the process in the middle of whatever it does; so a process takes its blocks before.
"""

import os
from pathlib import Path
from typing import Final

from headgate.kernel.errors import UnavailableError

VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
_KINDS: Final = ("counter", "histogram", "gauge_livemax", "gauge_livesum", "gauge_mostrecent")
"""A file for each in every process, named as the library names them: a test holds them against what there is."""
_FILE_BYTES: Final = 1 << 20
"""Sixteen times what the library begins with; a process with more series than that gets a larger one, sparse again."""


def share_metrics(folder: Path) -> None:
    """From now on this process, and those that it starts, count in ``folder`` (unless the operator names another).

    Raises UnavailableError where the disk has no room for the counters.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    named = Path(os.environ.setdefault(VARIABLE, str(folder)))
    try:
        for kind in _KINDS:
            with (named / f"{kind}_{os.getpid()}.db").open("ab") as file:
                os.posix_fallocate(file.fileno(), 0, _FILE_BYTES)
    except OSError as error:
        raise UnavailableError(f"no room for metrics in {named}: {error.strerror}; make room there") from error


def forget_process(folder: Path, pid: int) -> None:
    """Deletes the gauges of a process that has ended, and keeps its counters: as ``mark_process_dead`` of
    prometheus_client, without loading that library (6 MB)."""
    for file in folder.glob(f"gauge_live*_{pid}.db"):
        file.unlink(missing_ok=True)


def forget_metrics(folder: Path) -> None:
    """Start counting anew: what an earlier run left is not ours."""
    for file in folder.glob("*.db"):
        file.unlink(missing_ok=True)
