"""What the health routes work with: remembered for a second or more, so that who polls costs nothing."""

from collections.abc import Mapping

from msgspec import Struct
from redis.exceptions import RedisError

from admin_api.dependencies import Dependencies
from admin_api.health.breakers import BreakerSource, judges_breakers
from admin_api.health.checks import Health, check_health
from admin_api.health.remembered import Remembered
from admin_api.health.schemas import RedisDetails
from admin_api.services.slo_sampler import SloSampler
from headgate.approvals.store import count_open
from headgate.audit.store import JournalLag, journal_lag
from headgate.configuration.metrics_registry import shared_registry
from headgate.db.figures import ServerFigures, TableFigures, server_figures, table_figures
from headgate.executions.model import ExecutionLimits
from headgate.executions.statistics_store import breaker_states
from headgate.judges.breaker import BreakerState
from headgate.kernel.errors import UnavailableError

_PARTS_SECONDS = 1.0
_SIZES_SECONDS = 30.0
_DECIDED = ("headgate_api_decisions", "headgate_proxy_decisions")


class DatabaseSizes(Struct, frozen=True):
    server: ServerFigures
    tables: list[TableFigures]


class Backlog(Struct, frozen=True):
    open_approvals: int
    lag: JournalLag


class Traffic(Struct, frozen=True):
    """``decisions`` since counting began, by what was decided."""

    decisions: dict[str, int]
    held_calls: int


class HealthParts:
    """Of one API process."""

    def __init__(self, dependencies: Dependencies, slos: SloSampler) -> None:
        self._dependencies = dependencies
        self.slos = slos
        self.breakers: tuple[BreakerSource, ...] = (judges_breakers(dependencies.judges),)
        self.destinations: Remembered[Mapping[BreakerState, int]] = Remembered(
            self._destinations, seconds=_PARTS_SECONDS
        )
        self.health: Remembered[Health] = Remembered(lambda: check_health(dependencies), seconds=_PARTS_SECONDS)
        self.sizes: Remembered[DatabaseSizes] = Remembered(self._sizes, seconds=_SIZES_SECONDS)
        self.backlog: Remembered[Backlog | None] = Remembered(self._backlog, seconds=_PARTS_SECONDS)
        self.redis: Remembered[RedisDetails | None] = Remembered(self._redis, seconds=_PARTS_SECONDS)
        self.traffic: Remembered[Traffic] = Remembered(self._traffic, seconds=_PARTS_SECONDS)

    async def _destinations(self) -> Mapping[BreakerState, int]:
        """Of executions, over all organizations; none where the database does not say."""
        try:
            async with self._dependencies.database.across_organizations() as connection:
                counted = await breaker_states(connection, breaker_failures=ExecutionLimits().breaker_failures)
        except UnavailableError:
            return {}
        return {BreakerState(name): number for name, number in counted.items()}

    async def _sizes(self) -> DatabaseSizes:
        async with self._dependencies.database.across_organizations() as connection:
            return DatabaseSizes(await server_figures(connection), await table_figures(connection))

    async def _backlog(self) -> Backlog | None:
        try:
            async with self._dependencies.database.across_organizations() as connection:
                return Backlog(await count_open(connection), await journal_lag(connection))
        except UnavailableError:
            return None

    async def _redis(self) -> RedisDetails | None:
        if self._dependencies.valkey is None:
            return None
        try:
            said = await self._dependencies.valkey.info()
        except (RedisError, OSError, TimeoutError):
            return None
        return RedisDetails(
            server_version=str(said.get("valkey_version") or said.get("redis_version") or "unknown"),
            used_memory_bytes=int(said.get("used_memory", 0)),
            most_memory_bytes=int(said.get("maxmemory", 0)),
            connected_clients=int(said.get("connected_clients", 0)),
            uptime_seconds=int(said.get("uptime_in_seconds", 0)),
            evicted_keys=int(said.get("evicted_keys", 0)),
        )

    async def _traffic(self) -> Traffic:
        decisions: dict[str, int] = {}
        held = 0.0
        for metric in shared_registry().collect():
            for sample in metric.samples:
                if metric.name in _DECIDED and sample.name.endswith("_total"):
                    said = sample.labels["decision"]
                    decisions[said] = decisions.get(said, 0) + int(sample.value)
                elif sample.name == "headgate_proxy_held_requests":
                    held += sample.value
        return Traffic(decisions, int(held))
