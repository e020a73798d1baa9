"""How long a hook may wait, by one timer for all that wait: it is set again for the oldest when it fires.

A timer for each request, cancelled a moment later, stays in the event loop's heap and is sorted with the others.
"""

import asyncio
from typing import Any, Final

HOOK_DEADLINE_SECONDS: Final = 540.0
"""Below mitmproxy's ``tcp_timeout`` (600 s), which would cut the connection under a hook that still waits."""

_TOO_LONG: Final = "the hook did not end in time"


class HookDeadlines:
    """Ends the tasks of one hook that wait too long."""

    __slots__ = ("_due", "_timer")

    def __init__(self) -> None:
        self._due: dict[asyncio.Task[Any], float] = {}  # all wait equally long, so the oldest comes first
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, task: asyncio.Task[Any]) -> None:
        loop = asyncio.get_running_loop()
        self._due[task] = due = loop.time() + HOOK_DEADLINE_SECONDS
        if self._timer is None:
            self._timer = loop.call_at(due, self._end_overdue)

    def end(self, task: asyncio.Task[Any]) -> None:
        self._due.pop(task, None)

    def _end_overdue(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        for task, due in list(self._due.items()):
            if due > now:
                self._timer = loop.call_at(due, self._end_overdue)
                break
            del self._due[task]
            task.cancel(_TOO_LONG)
