"""The classifiers of a process: loaded when one is first asked, loaded again when its files change, asked in turns."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.classifiers.folder import ClassifierFolder, Stamp, classifier_folder
from headgate.classifiers.model import Classification
from headgate.classifiers.session import ClassifierSession, Run
from headgate.judges.model import JudgeError
from headgate.kernel.fair_turns import FairTurns
from headgate.kernel.tasks import TaskSet

CLASSIFICATIONS_AT_ONCE: Final = 2
LOADED_MAX: Final = 4
RETRY_SECONDS: Final = 5.0
"""What could not be loaded is left alone so long, unless its files change."""

_LOOK_SECONDS: Final = 1.0


class _Entry(Struct, frozen=True):
    """``loaded``: the session, or why there is none."""

    stamp: Stamp
    loaded: ClassifierSession | JudgeError
    looked_at: float
    loaded_at: float


class Classifiers:
    """``root``: the operator's folder. ``clock`` counts seconds and never goes back."""

    def __init__(self, root: Path | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._clock = clock
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._looking: dict[str, asyncio.Task[object]] = {}
        self._tasks = TaskSet(lambda name, error: None)  # the error reaches the waiting callers
        self._turns = FairTurns(CLASSIFICATIONS_AT_ONCE, "local classifiers")
        self._runs: set[Run] = set()
        self._reading = ThreadPoolExecutor(1, "load-classifier")

    async def classify(self, org_id: str, policy_id: str, name: str, texts: Sequence[str]) -> Classification:
        """Cancelling the wait also ends the work. Raises JudgeError, and UnavailableError where too many wait."""
        session = await self.session(name)
        run = Run()
        async with self._turns.turn(org_id, policy_id) as turn:
            self._runs.add(run)
            try:
                return await turn.in_thread(session.classify, texts, run)
            except asyncio.CancelledError:
                run.cancel()
                raise
            finally:
                self._runs.discard(run)

    async def session(self, name: str) -> ClassifierSession:
        """The classifier, as its files are now. Raises JudgeError where it cannot be asked."""
        entry = self._entries.get(name)
        if entry is None or self._clock() - entry.looked_at > _LOOK_SECONDS:
            task = self._looking.get(name)
            if task is None:
                task = self._tasks.start(self._look(name), name="load_classifier")
                if not task.done():  # a loop with eager tasks (mitmproxy's)
                    self._looking[name] = task
                    task.add_done_callback(lambda _: self._looking.pop(name, None))
            looked = await asyncio.shield(task)  # loading goes on, for those who ask next
            assert isinstance(looked, _Entry)  # noqa: S101 - what _look returns
            entry = looked
        if isinstance(entry.loaded, JudgeError):
            raise JudgeError(entry.loaded.failure, entry.loaded.message)
        return entry.loaded

    async def close(self) -> None:
        for run in self._runs:
            run.cancel()
        await self._tasks.close()
        self._turns.close()
        self._reading.shutdown(wait=False, cancel_futures=True)

    async def _look(self, name: str) -> _Entry:
        """Of a failure too. A folder that is not there is not kept: it costs nothing to look again."""
        before = self._entries.pop(name, None)
        entry = await asyncio.to_thread(self._looked, name, before)
        if isinstance(entry, ClassifierFolder):
            entry = await asyncio.get_running_loop().run_in_executor(self._reading, self._read, entry)
        if entry.stamp:
            self._entries[name] = entry  # the newest stands last
        loaded = [known for known, one in self._entries.items() if isinstance(one.loaded, ClassifierSession)]
        for known in loaded[:-LOADED_MAX]:
            del self._entries[known]
        return entry

    def _looked(self, name: str, before: _Entry | None) -> _Entry | ClassifierFolder:
        """The folder, where it is to be loaded: not by the thread that looks, which others wait for."""
        now = self._clock()
        try:
            folder = classifier_folder(self._root, name)
            stamp = folder.stamp()
        except JudgeError as error:
            return _Entry((), error, now, now)
        if before is None or before.stamp != stamp:
            return folder
        is_left_alone = isinstance(before.loaded, ClassifierSession) or now - before.loaded_at < RETRY_SECONDS
        return replace(before, looked_at=now) if is_left_alone else folder

    def _read(self, folder: ClassifierFolder) -> _Entry:
        stamp: Stamp = ()
        try:
            stamp = folder.stamp()  # of before: what changes while it is read is read again
            loaded: ClassifierSession | JudgeError = ClassifierSession(folder)
        except JudgeError as error:
            loaded = error
        return _Entry(stamp, loaded, self._clock(), self._clock())
