"""Large explicit actions are read beside the event loop."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any, cast

from headgate.gate.submit_action import INLINE_ACTION_BYTES_MAX, SubmitAction


def _submit_action() -> SubmitAction:
    parts: Any = dict.fromkeys(("pipeline", "callers", "recorder", "database", "clock", "vault", "catalogue"))
    return SubmitAction(**parts, approval_expires_seconds=1, most_open_approvals=None)


async def test_only_large_actions_are_read_in_a_thread_one_at_a_time() -> None:
    submit, threads, running, most = _submit_action(), list[bool](), 0, 0
    identity = cast("Any", SimpleNamespace(org_id="org_a", agent_id="agt_a"))

    def read(body: bytes) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        threads.append(threading.current_thread() is threading.main_thread())
        running -= 1
        return len(body)

    small, large = bytes(INLINE_ACTION_BYTES_MAX), bytes(INLINE_ACTION_BYTES_MAX + 1)
    assert await submit.read(identity, len(small), read, small) == len(small)
    assert await asyncio.gather(*(submit.read(identity, len(large), read, large) for _ in range(8))) == [len(large)] * 8
    assert threads == [True, *[False] * 8]
    assert most == 1
