"""Recovery codes at rest: Argon2id (RFC 9106), in a few threads and never in the event loop.

19 MiB, two passes, one lane: the least that OWASP's Password Storage Cheat Sheet names, and enough for 60 random bits.
All codes of a batch share its salt, so that a verification costs one hash whatever the batch holds. At most
``_THREADS`` hashes run and ``_MOST_WAITING`` wait, in each process: beyond, the answer is 503 and not a queue without
an end, and the memory that Argon2 takes is bounded. The library gives the interpreter's lock free while it computes.
"""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from argon2.low_level import Type, hash_secret_raw

from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret

SALT_BYTES: Final = 16
_MEMORY_KIB: Final = 19 * 1024
_PASSES: Final = 2
_LANES: Final = 1
_HASH_BYTES: Final = 32
_THREADS: Final = 2
_MOST_WAITING: Final = 100


def new_salt() -> bytes:
    return os.urandom(SALT_BYTES)


def hash_code(code: Secret, salt: bytes) -> bytes:
    """Some tens of milliseconds of one core."""
    return hash_secret_raw(
        code.reveal().encode(),
        salt,
        time_cost=_PASSES,
        memory_cost=_MEMORY_KIB,
        parallelism=_LANES,
        hash_len=_HASH_BYTES,
        type=Type.ID,
    )


class Hasher:
    """One for a process."""

    def __init__(self, *, most_waiting: int = _MOST_WAITING) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="argon2")
        self._most_waiting = most_waiting
        self._waiting = 0

    async def hash_codes(self, codes: Sequence[Secret], salt: bytes) -> list[bytes]:
        """Raises UnavailableError where too many wait already."""
        if self._waiting + len(codes) > self._most_waiting:
            raise UnavailableError("Too many codes are being checked. Try again.", retry_after_seconds=2)
        self._waiting += len(codes)
        try:
            loop = asyncio.get_running_loop()
            return await asyncio.gather(*(loop.run_in_executor(self._threads, hash_code, one, salt) for one in codes))
        finally:
            self._waiting -= len(codes)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
