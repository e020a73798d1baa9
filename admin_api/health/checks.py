"""What this process needs, and whether it is there."""

import asyncio
import time
from collections.abc import Awaitable
from typing import Final, Literal

from msgspec import Struct
from redis.exceptions import RedisError

from admin_api.dependencies import Dependencies
from headgate.break_glass.store import count_to_review
from headgate.kernel.errors import UnavailableError

_DEADLINE_SECONDS: Final = 2.0


class Health(Struct, frozen=True):
    """``valkey`` None: none is configured. Without it everything goes on, more slowly (semantics.md, "Fresh state").

    ``vault``: whether the file of master keys can be read and opens the stored secrets; None: nothing needs it.
    ``open_reviews``: of broken glasses, over all organizations; None: the database does not say.
    """

    database: bool
    recorder: bool
    valkey: bool | None
    database_ms: float | None = None
    valkey_ms: float | None = None
    open_reviews: int | None = None
    vault: bool | None = None

    @property
    def ready(self) -> bool:
        """Whether an action can be decided and recorded."""
        return self.database and self.recorder

    @property
    def status(self) -> Literal["ok", "degraded", "unavailable"]:
        if not self.ready:
            return "unavailable"
        return "degraded" if self.valkey is False or self.vault is False else "ok"

    def document(self) -> dict[str, object]:
        parts = {
            "database": state_of(self.database),
            "recorder": state_of(self.recorder),
            "valkey": state_of(self.valkey),
            "vault": state_of(self.vault),
        }
        return {
            "status": self.status,
            "parts": parts,
            "latency_ms": {"database": self.database_ms, "valkey": self.valkey_ms},
            "break_glass_open_reviews": self.open_reviews,
        }


def state_of(there: bool | None) -> Literal["ok", "unavailable", "not configured"]:
    if there is None:
        return "not configured"
    return "ok" if there else "unavailable"


async def check_health(dependencies: Dependencies) -> Health:
    (open_reviews, database_ms), (valkey, valkey_ms) = await asyncio.gather(
        timed(_open_reviews(dependencies)), timed(check_valkey(dependencies))
    )
    return Health(
        open_reviews is not None,
        dependencies.recorder.ready,
        valkey,
        database_ms,
        valkey_ms,
        open_reviews,
        dependencies.vault_watch.usable,
    )


async def timed[Answer](check: Awaitable[Answer | None]) -> tuple[Answer | None, float | None]:
    """What the check says, and the milliseconds that it took; None where there was no answer."""
    began = time.perf_counter()
    answer = await check
    is_there = answer is not None and answer is not False
    return answer, round((time.perf_counter() - began) * 1000, 3) if is_there else None


async def _open_reviews(dependencies: Dependencies) -> int | None:
    """None: the database is out of reach."""
    try:
        async with asyncio.timeout(_DEADLINE_SECONDS):
            async with dependencies.database.across_organizations() as connection:
                return await count_to_review(connection)
    except (UnavailableError, TimeoutError):
        return None


async def check_valkey(dependencies: Dependencies) -> bool | None:
    if dependencies.valkey is None:
        return None
    try:
        async with asyncio.timeout(_DEADLINE_SECONDS):
            await dependencies.valkey.ping()
    except (RedisError, OSError, TimeoutError):
        return False
    return True
