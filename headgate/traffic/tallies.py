"""How many exchanges of each organization a process has begun to capture, where it survives the process.

One row an organization in a small file: its id, how many were begun, how many are settled (written to the spool, as an
exchange or as a loss). What a process that was killed had begun and not settled is what it lost. The file is locked as
long as its process lives, which is how others know that it does. Plain writes: a page that cannot be written is an
error here, and would be a signal to the process with a mapped file.
"""

import fcntl
import os
import struct
from pathlib import Path
from typing import Final

_ROW: Final = struct.Struct("<41s7xQQ")
_NUMBER: Final = struct.Struct("<Q")
_BEGUN_AT: Final = 48
_SETTLED_AT: Final = 56


class Tallies:
    """Of this process. ``before``: those of a file that has gone, which this one goes on with. Raises OSError where the
    file cannot be made."""

    def __init__(self, path: Path, before: "Tallies | None" = None) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        self._rows: dict[str, int] = {}
        self._begun: dict[str, int] = {}
        self._settled: dict[str, int] = {}
        if before is not None:
            self._settled = before._settled.copy()
            for org_id, count in before._begun.copy().items():
                self._begun[org_id] = count - 1
                self.begin(org_id)

    @property
    def is_there(self) -> bool:
        """Whether others can still find it."""
        return os.fstat(self._descriptor).st_nlink > 0

    def begin(self, org_id: str) -> None:
        """One more. Raises OSError; it is counted all the same."""
        count = self._begun[org_id] = self._begun.get(org_id, 0) + 1
        row = self._rows.get(org_id)
        if row is None:
            row = len(self._rows) * _ROW.size
            os.pwrite(self._descriptor, _ROW.pack(org_id.encode(), count, self._settled.get(org_id, 0)), row)
            self._rows[org_id] = row
        else:
            os.pwrite(self._descriptor, _NUMBER.pack(count), row + _BEGUN_AT)

    def next_settled(self, org_id: str, exchanges: int = 1) -> int:
        """The number of the frame that settles so many; ``settle`` says that it is written."""
        number = self._settled[org_id] = self._settled.get(org_id, 0) + exchanges
        return number

    def settle(self) -> None:
        """All numbers given out so far are in the spool. Raises OSError."""
        for org_id, row in self._rows.copy().items():
            os.pwrite(self._descriptor, _NUMBER.pack(self._settled.get(org_id, 0)), row + _SETTLED_AT)

    def close(self) -> None:
        """A file in which nothing was counted would start a masker that finds nothing."""
        if not self._rows and self.is_there:
            self.path.unlink(missing_ok=True)
        os.close(self._descriptor)


def read_tallies(path: Path) -> dict[str, tuple[int, int]]:
    """Begun and settled, by organization. Raises OSError."""
    data = path.read_bytes()
    rows = (_ROW.unpack_from(data, at) for at in range(0, len(data) - _ROW.size + 1, _ROW.size))
    return {org.rstrip(b"\0").decode("ascii", "replace"): (begun, settled) for org, begun, settled in rows if org[0]}
