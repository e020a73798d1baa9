"""An event loop in a thread of its own: for what runs beside a test that waits."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_END_SECONDS = 30


@contextmanager
def loop_in_thread(name: str) -> Iterator[asyncio.AbstractEventLoop]:
    """A loop that runs for as long as the block. Its tasks that are left at the end are canceled."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=name, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        asyncio.run_coroutine_threadsafe(_cancel_others(), loop).result(_END_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_END_SECONDS)
        loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
