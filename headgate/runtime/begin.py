"""The start of a part in two steps: it loads its modules while its servers start, and then waits to be told.

Loading is most of the time that a part needs. The parent holds the other end of the child's standard input.
"""

import os
from collections.abc import Mapping
from typing import Final

BEGIN: Final = b"\n"
_WAITS: Final = "HEADGATE_WAITS_TO_BEGIN"


def with_wait(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child that calls ``wait_to_begin``."""
    return {**environment, _WAITS: "1"}


def wait_to_begin() -> None:
    """Waits until the parent says so, if it asked for the wait. Exits with status 1 if the parent ends first."""
    if os.environ.pop(_WAITS, None) and os.read(0, len(BEGIN)) != BEGIN:
        os._exit(1)
