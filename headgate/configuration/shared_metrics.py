"""Metrics of all processes of an instance on one machine: each writes its own file, whoever is asked adds them up.

prometheus_client's multiprocess mode: the folder is named by an environment variable that must be set before the
library is imported, so this module imports nothing of it.
"""

import os
from pathlib import Path
from typing import Final

_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"


def share_metrics(folder: Path) -> None:
    """From now on this process, and those that it starts, count in ``folder`` (unless the operator names another)."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ.setdefault(_VARIABLE, str(folder))


def forget_metrics(folder: Path) -> None:
    """Start counting anew: what an earlier run left is not ours."""
    for file in folder.glob("*.db"):
        file.unlink(missing_ok=True)
