"""Whether a process listens on a port: asked of the kernel, so that no connection is made and none is mistaken
for another process' that shares the port (proc(5): /proc/pid/net/tcp, /proc/pid/fd)."""

import os
from pathlib import Path
from typing import Final

_LISTEN: Final = "0A"


def listens_on(pid: int, port: int) -> bool:
    """False for a process that is gone."""
    try:
        with os.scandir(f"/proc/{pid}/fd") as descriptors:
            sockets = {name for entry in descriptors if (name := _target(entry)).startswith("socket:")}
        # The tables are the whole machine's, and slow to read: not before the process has any socket.
        return bool(sockets) and any(
            sockets & _listening(Path(f"/proc/{pid}/net/{table}"), port) for table in ("tcp", "tcp6")
        )
    except OSError:
        return False


def _listening(table: Path, port: int) -> set[str]:
    if not table.exists():
        return set()
    rows = (line.split() for line in table.read_text("ascii").splitlines()[1:])
    return {f"socket:[{row[9]}]" for row in rows if row[3] == _LISTEN and int(row[1].rpartition(":")[2], 16) == port}


def _target(entry: "os.DirEntry[str]") -> str:
    try:
        return os.readlink(entry.path)  # noqa: PTH115 - not a path: "socket:[4711]"
    except OSError:
        return ""
