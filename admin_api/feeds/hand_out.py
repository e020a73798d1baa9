"""Hands one batch to all viewers of a feed."""

import asyncio
from collections.abc import Sequence
from typing import Final

from admin_api.feeds.frames import Batch
from admin_api.feeds.viewers import Viewer

_WOKEN_AT_ONCE: Final = 20
"""Then other requests have their turn of the event loop."""


async def hand_out(batch: Batch, viewers: Sequence[Viewer]) -> None:
    """Puts the batch into each viewer's queue, and lets other requests run in between."""
    for at, one in enumerate(viewers):
        one.put(batch)
        if at % _WOKEN_AT_ONCE == _WOKEN_AT_ONCE - 1:
            await asyncio.sleep(0)
