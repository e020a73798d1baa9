"""What processes use of the machine, from proc(5)."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def processor_seconds(pid: int, *, ended_children: bool = False) -> float:
    """User and system time. Raises OSError where it has ended."""
    fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if ended_children else 13])) / os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> Iterator[int]:
    """A process and what has come of it."""
    yield pid
    with suppress(OSError):  # it has ended meanwhile
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield from tree(int(child))


def tree_processor_seconds(pid: int) -> float:
    """Of all that run, with the children of theirs that have ended."""
    spent = 0.0
    for one in tree(pid):
        with suppress(OSError):
            spent += processor_seconds(one, ended_children=True)
    return spent


def memory_mib(pid: int, figure: str) -> float:
    """``figure`` of ``/proc/PID/status``: VmRSS, VmHWM."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{figure}:")) / 1024


def memory_sizes_kib(pid: int) -> dict[str, int]:
    """The figures of ``/proc/PID/smaps_rollup`` by name (Pss, Pss_Shmem). Raises OSError where it has ended."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {line.split(":")[0]: int(line.split()[1]) for line in lines}
