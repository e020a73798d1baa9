"""Answers to questions asked before: the same question at the same time is asked once, and errors are not kept."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec.structs import replace

from headgate.judges.model import Question, Verdict
from headgate.judges.prompt import template_version
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.tasks import TaskSet

ENTRIES_MAX: Final = 4096
LIFETIME_SECONDS: Final = 3600.0


def question_key(question: Question) -> bytes:
    """Everything that an answer depends on; two questions with one key are one question."""
    parts = canonical_bytes(
        [
            question.provider.kind.value,
            question.provider.base_url,
            question.model,
            template_version(),
            question.policy,
            question.threshold,
            list(question.identity),
        ]
    )
    return hashlib.sha256(hashlib.sha256(parts).digest() + hashlib.sha256(question.action).digest()).digest()


class VerdictCache:
    """Of one process; the least recently used entry goes first. ``clock`` counts seconds and never goes back."""

    def __init__(self, clock: Callable[[], float], entries_max: int = ENTRIES_MAX) -> None:
        self._clock = clock
        self._entries_max = entries_max
        self._entries: OrderedDict[bytes, tuple[float, Verdict]] = OrderedDict()
        self._asking: dict[bytes, asyncio.Task[object]] = {}
        self._tasks = TaskSet(lambda name, error: None)  # whoever waits for it is told

    async def verdict(self, question: Question, ask: Callable[[], Awaitable[Verdict]]) -> Verdict:
        """The answer of before, or of ``ask``, which must end by itself. Raises what it raises."""
        key = question_key(question)
        if (known := self._known(key)) is not None:
            return replace(known, cached=True)
        task = self._asking.get(key)
        if task is None:
            task = self._tasks.start(self._ask(key, ask), name="ask_judge")
            if not task.done():  # a loop with eager tasks (mitmproxy's) has perhaps run it to its end already
                self._asking[key] = task
        # Shielded: whoever asked first may go away while others wait for the same answer.
        verdict = await asyncio.shield(task)
        assert isinstance(verdict, Verdict)  # noqa: S101 - what _ask returns
        return verdict

    def peek(self, question: Question) -> Verdict | None:
        """The answer of before, which is not thereby kept any longer."""
        entry = self._entries.get(question_key(question))
        return replace(entry[1], cached=True) if entry is not None and not self._is_over(entry[0]) else None

    async def close(self) -> None:
        await self._tasks.close()

    def _is_over(self, since: float) -> bool:
        return self._clock() - since > LIFETIME_SECONDS

    def _known(self, key: bytes) -> Verdict | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._is_over(entry[0]):
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return entry[1]

    async def _ask(self, key: bytes, ask: Callable[[], Awaitable[Verdict]]) -> Verdict:
        try:
            verdict = await ask()
        finally:
            self._asking.pop(key, None)
        self._entries[key] = (self._clock(), verdict)
        while len(self._entries) > self._entries_max:
            self._entries.popitem(last=False)
        return verdict
