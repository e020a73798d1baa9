"""What ``ps`` and ``top`` show of a process that was forked and not started: its parent's command line otherwise."""

import ctypes
from typing import Final

from headgate.kernel.process_stat import stat_field

_PR_SET_NAME: Final = 15


def show_as(title: str) -> None:
    """Writes over our arguments in memory, as ``setproctitle`` does (proc(5): ``arg_start``
    and ``arg_end``). A title that does not fit is cut. Where the kernel does not tell the place,
    the title stays as it is."""
    # Without spaces: before a fork CPython counts threads in /proc/self/stat by its spaces, and would warn of several
    # threads where the niceness is above 1.
    ctypes.CDLL(None).prctl(_PR_SET_NAME, title.replace(" ", "-").encode(), 0, 0, 0)
    start, end = stat_field(48), stat_field(49)
    if 0 < start < end:
        shown = title.encode()[: end - start - 1]
        ctypes.memmove(start, shown.ljust(end - start, b"\0"), end - start)
