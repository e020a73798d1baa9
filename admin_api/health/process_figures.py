"""What this process costs the machine: memory, threads, files; from /proc (proc(5)), which is there on Linux."""

import gc
import os
import resource
import threading
import time
from pathlib import Path
from typing import Final

from pydantic import Field

from admin_api.schema import BaseModel
from headgate.kernel.process_stat import stat_field

_CGROUP_LIMITS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNLIMITED_BYTES: Final = 1 << 60


class MemoryAnswer(BaseModel):
    """Of the process that answers. Null: this system does not say."""

    resident_bytes: int | None
    peak_resident_bytes: int | None
    limit_bytes: int | None = Field(description="Of the container (cgroup).")
    used_share: float | None = Field(description="Of the limit; null where there is none.")
    machine_available_bytes: int | None
    threads: int
    open_files: int | None
    most_open_files: int
    collected_objects: list[int] = Field(description="Objects that Python's collector has looked at, by generation.")
    uptime_seconds: float


def memory_answer() -> MemoryAnswer:
    status, machine = _figures(Path("/proc/self/status")), _figures(Path("/proc/meminfo"))
    resident, limit = status.get("VmRSS"), _limit()
    return MemoryAnswer(
        resident_bytes=resident,
        peak_resident_bytes=status.get("VmHWM"),
        limit_bytes=limit,
        used_share=None if resident is None or limit is None else round(resident / limit, 4),
        machine_available_bytes=machine.get("MemAvailable"),
        threads=threading.active_count(),
        open_files=_open_files(),
        most_open_files=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        collected_objects=list(gc.get_count()),
        uptime_seconds=round(uptime_seconds(), 1),
    )


def uptime_seconds() -> float:
    """Since this process began, which the kernel counts in ticks since the machine started. What it has imported may
    be older: a part is forked from a process that has loaded it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - stat_field(22) / os.sysconf("SC_CLK_TCK")


def _figures(file: Path) -> dict[str, int]:
    """Lines such as ``VmRSS:   1234 kB``, in bytes."""
    try:
        lines = file.read_text("ascii", errors="replace").splitlines()
    except OSError:
        return {}
    figures = {}
    for line in lines:
        name, _, rest = line.partition(":")
        number, _, unit = rest.strip().partition(" ")
        if unit == "kB" and number.isdecimal():
            figures[name] = int(number) * 1024
    return figures


def _limit() -> int | None:
    for name in _CGROUP_LIMITS:
        try:
            text = Path(name).read_text("ascii").strip()
        except OSError:
            continue
        if text.isdecimal() and int(text) < _UNLIMITED_BYTES:
            return int(text)
    return None


def _open_files() -> int | None:
    try:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are counted, not used
    except OSError:
        return None
