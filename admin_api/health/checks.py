"""What this process needs, and whether it is there."""

import asyncio
from dataclasses import dataclass
from typing import Final

from redis.exceptions import RedisError

from admin_api.dependencies import Dependencies
from headgate.kernel.errors import UnavailableError

_DEADLINE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Health:
    """``valkey`` None: none is configured. Without it everything goes on, more slowly (semantics.md, "Fresh state")."""

    database: bool
    recorder: bool
    valkey: bool | None

    @property
    def ready(self) -> bool:
        """Whether an action can be decided and recorded."""
        return self.database and self.recorder

    def document(self) -> dict[str, object]:
        degraded = self.valkey is False
        status = ("degraded" if degraded else "ok") if self.ready else "unavailable"
        parts = {
            "database": _state(self.database),
            "recorder": _state(self.recorder),
            "valkey": "not configured" if self.valkey is None else _state(self.valkey),
        }
        return {"status": status, "parts": parts}


def _state(there: bool) -> str:
    return "ok" if there else "unavailable"


async def check_health(dependencies: Dependencies) -> Health:
    database, valkey = await asyncio.gather(_database(dependencies), _valkey(dependencies))
    return Health(database, dependencies.recorder.ready, valkey)


async def _database(dependencies: Dependencies) -> bool:
    try:
        async with asyncio.timeout(_DEADLINE_SECONDS):
            async with dependencies.database.across_organizations() as connection:
                await connection.execute("SELECT 1")
    except (UnavailableError, TimeoutError):
        return False
    return True


async def _valkey(dependencies: Dependencies) -> bool | None:
    if dependencies.valkey is None:
        return None
    try:
        async with asyncio.timeout(_DEADLINE_SECONDS):
            await dependencies.valkey.ping()
    except (RedisError, OSError, TimeoutError):
        return False
    return True
