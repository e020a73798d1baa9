"""What tests of processes wait for and look at."""

import asyncio
from collections.abc import Callable
from pathlib import Path


async def eventually(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


def lives(pid: int) -> bool:
    """Whether it runs, and is not merely waited for by its parent."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
