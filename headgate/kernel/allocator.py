"""Sets the C library to keep as little freed memory as it can.

glibc holds freed blocks back in an arena for each thread, and raises the size from which blocks are mapped (and so
unmapped when they are freed) with each large block that it sees (mallopt(3)). A process that once read many large
bodies would keep gigabytes. Where the C library has no such functions (musl, macOS) nothing is done.
"""

import ctypes
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_MAPPED_FROM_BYTES: Final = 256 << 10
_KEPT_BYTES: Final = 8 << 20
_ARENAS: Final = 2


def keep_little() -> None:
    """For a whole process, at its start, before there are threads."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        for option, value in (
            (_M_MMAP_THRESHOLD, _MAPPED_FROM_BYTES),
            (_M_TRIM_THRESHOLD, _KEPT_BYTES),
            (_M_ARENA_MAX, _ARENAS),
        ):
            library.mallopt(option, value)


def give_back() -> None:
    """Returns free pages of all arenas to the system: some milliseconds, so not in the event loop's thread."""
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)
