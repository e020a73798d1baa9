"""The gate's end of the spool: a folder of encrypted files, written by the processes of one machine.

``NAME.counts`` (``tallies``) says how much a process has begun; ``NAME-000001.open`` is the file that it writes, locked
while it does, and ``.ready`` one that it has finished. Everything is 0600 in a folder of 0700. Nothing is synced: what
is written survives the process, and what a machine loses with its power was never promised.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

import structlog

from headgate.kernel.clock import Clock, rfc3339
from headgate.kernel.errors import HeadgateError, UnavailableError
from headgate.traffic.model import Loss
from headgate.traffic.segment import FrameKind
from headgate.traffic.spool_file import SpoolFile
from headgate.traffic.tallies import Tallies
from headgate.vault.service import Vault

_log = structlog.get_logger(__name__)

COUNTS: Final = ".counts"
SEGMENT_BYTES: Final = 4 << 20
SPOOL_LIMIT_BYTES: Final = 256 << 20
_LOOK_SECONDS: Final = 0.5
_COMPLAIN_SECONDS: Final = 10.0

type Encoded = tuple[str, bytes]
"""An exchange's organization, and its bytes (``wire``)."""


class SpoolWriter:
    """Of one process. ``begin`` is called where requests are served, the rest in one other thread. Nothing here raises
    for a disk, or a key: what cannot be written is counted, and the count is written when it can be."""

    def __init__(
        self,
        folder: Path,
        vault: Vault,
        clock: Clock,
        *,
        limit_bytes: int = SPOOL_LIMIT_BYTES,
        lost: Callable[[Loss, int], None] = lambda cause, exchanges: None,
    ) -> None:
        """``lost`` is told of each that is given up."""
        self._folder = folder
        self._vault = vault
        self._clock = clock
        self._limit_bytes = limit_bytes
        self._told = lost
        self._source = f"{os.getpid()}-{os.urandom(6).hex()}"
        self._segments = 0
        self._segment: SpoolFile | None = None
        self._tallies: Tallies | None = None
        self._losses: Counter[tuple[str, Loss]] = Counter()
        self._lost_since: datetime | None = None
        self._used_bytes = 0
        self._look_again_at = 0.0
        self._complain_again_at = 0.0
        self._retired: list[Tallies] = []
        self.is_used = False

    @property
    def used_bytes(self) -> int:
        """Of the whole folder, the last time that this process looked."""
        return self._used_bytes

    def begin(self, org_id: str) -> None:
        """An exchange of this organization is going to be captured: from here on it is written, or counted as lost."""
        try:
            if self._tallies is None:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._tallies = Tallies(self._folder / (self._source + COUNTS))
                self.is_used = True
            self._tallies.begin(org_id)
        except OSError:
            pass  # the writing will fail too, and say so

    def lose(self, org_id: str, cause: Loss, exchanges: int = 1) -> None:
        """Exchanges that were begun and will not come."""
        self._told(cause, exchanges)
        self._losses[org_id, cause] += exchanges
        self._lost_since = self._lost_since or self._clock()

    def write(self, exchanges: Sequence[Encoded]) -> None:
        """Write what came, and what was lost meanwhile."""
        self._look_after_files()
        try:
            segment = self._segment or self._next_segment()
        except UnavailableError as error:
            self._give_up(exchanges, Loss.KEY_MISSING, error)
            return
        except OSError as error:
            self._give_up(exchanges, Loss.SPOOL_GONE, error)
            return
        if exchanges and self._is_full():
            self._give_up(exchanges, Loss.SPOOL_FULL, None)
            exchanges = ()
        self._write(segment, exchanges)
        if segment.size >= SEGMENT_BYTES:
            self.finish()

    def finish(self) -> None:
        """Hand over what has been written so far, and see how much lies there."""
        if self.is_used:
            self._used_bytes = self._look_around()
        if self._segment is None or not (self._segment.exchanges or self._segment.losses):
            return
        segment, self._segment = self._segment, None
        try:
            segment.finish()
        except OSError as error:
            self._lost_with(segment, error)

    def close(self) -> None:
        """The process ends in order: everything is settled, and others may read it."""
        if self.is_used or self._losses:
            self.write(())
            self.finish()
        if self._segment is not None:
            self._segment.abandon()
            self._segment = None
        for tallies in (*self._retired, self._tallies):
            if tallies is not None:
                tallies.close()
        self._retired, self._tallies = [], None

    def _write(self, segment: SpoolFile, exchanges: Sequence[Encoded]) -> None:
        tallies = self._tallies
        if tallies is None or not (exchanges or self._losses):
            return
        losses, self._losses = self._losses, Counter()
        since, self._lost_since = self._lost_since or self._clock(), None
        frames = [
            segment.sealer.frame(FrameKind.EXCHANGE, org_id, tallies.next_settled(org_id), content)
            for org_id, content in exchanges
        ]
        for (org_id, cause), count in losses.items():
            content = _loss_content(cause, count, since, self._clock())
            frames.append(segment.sealer.frame(FrameKind.LOSS, org_id, tallies.next_settled(org_id, count), content))
        try:
            segment.write(b"".join(frames))
        except OSError as error:
            # Their numbers come again: none of them was written.
            for (org_id, _), count in losses.items():
                tallies.next_settled(org_id, -count)
            for org_id, _ in exchanges:
                tallies.next_settled(org_id, -1)
            self._losses, self._lost_since = losses, since
            self._segment = None
            self._close_broken(segment)
            self._give_up(exchanges, Loss.SPOOL_GONE, error)
            return
        self._used_bytes += sum(map(len, frames))
        segment.exchanges.update(org_id for org_id, _ in exchanges)
        segment.losses.extend((org_id, cause, count) for (org_id, cause), count in losses.items())
        with suppress(OSError):
            tallies.settle()

    def _close_broken(self, segment: SpoolFile) -> None:
        """What was whole in it before may still be read."""
        try:
            if segment.exchanges or segment.losses:
                segment.finish()
            else:
                segment.abandon()
        except OSError as error:
            self._lost_with(segment, error)

    def _look_after_files(self) -> None:
        """Where somebody took the files away, what was in them is lost, and others are made."""
        if self._segment is not None and not self._segment.is_there:
            segment, self._segment = self._segment, None
            self._lost_with(segment, None)
            os.close(segment.descriptor)
        if self._tallies is None or not self._tallies.is_there:
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                source = f"{os.getpid()}-{os.urandom(6).hex()}"
                made = Tallies(self._folder / (source + COUNTS), self._tallies)
                if self._tallies is not None:
                    # Not closed yet: who serves requests may just be counting in it.
                    self._retired.append(self._tallies)
                self._source, self._tallies, self.is_used = source, made, True
            except OSError as error:
                _log.error("capture_spool_gone", error=str(error))

    def _lost_with(self, segment: SpoolFile, error: OSError | None) -> None:
        _log.error("capture_spool_file_gone", file=segment.path.name, error=None if error is None else str(error))
        gone = [(org_id, Loss.SPOOL_GONE, count) for org_id, count in segment.exchanges.items()]
        for org_id, cause, count in [*gone, *segment.losses]:
            if self._tallies is not None:
                self._tallies.next_settled(org_id, -count)
            self.lose(org_id, cause, count)

    def _next_segment(self) -> SpoolFile:
        if self._tallies is None:
            raise OSError("the spool's folder is not there")
        self._segments += 1
        self._segment = SpoolFile(self._folder, f"{self._source}-{self._segments:06}", self._vault)
        return self._segment

    def _give_up(self, exchanges: Sequence[Encoded], cause: Loss, error: HeadgateError | OSError | None) -> None:
        for org_id, _ in exchanges:
            self.lose(org_id, cause)
        if exchanges and time.monotonic() >= self._complain_again_at:
            self._complain_again_at = time.monotonic() + _COMPLAIN_SECONDS
            _log.error("capture_not_written", cause=cause.value, exchanges=len(exchanges), error=str(error or ""))

    def _is_full(self) -> bool:
        """By a look around every half second, and what was written since."""
        now = time.monotonic()
        if now >= self._look_again_at:
            self._used_bytes = self._look_around()
            self._look_again_at = now + _LOOK_SECONDS
        return self._used_bytes >= self._limit_bytes

    def _look_around(self) -> int:
        used = 0
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    used += entry.stat().st_size
        return used


def _loss_content(cause: Loss, exchanges: int, since: datetime, until: datetime) -> bytes:
    return json.dumps([cause.value, exchanges, rfc3339(since), rfc3339(until)]).encode()
