"""/health/slo-status, db-stats, redis, memory, circuit-breakers, platform-stats: one part each, cheap to poll.

These routes need no credential, like probes, and then return states and counts only. The operator also sees ``details``
of the installation, and administrators the circuit breakers of their organization.
"""

from typing import Final

from fastapi import APIRouter
from msgspec.structs import asdict
from starlette.requests import Request
from starlette.responses import Response

from admin_api.dependencies import Dependencies, dependencies_of
from admin_api.errors import JSON
from admin_api.executions.schemas import destination_item
from admin_api.guarded_route import GuardedRoute
from admin_api.health.breakers import BreakerKind, ListedBreaker
from admin_api.health.checks import state_of
from admin_api.health.parts import HealthParts
from admin_api.health.process_figures import MemoryAnswer, memory_answer, uptime_seconds
from admin_api.health.schemas import (
    BreakerAnswer,
    BreakersAnswer,
    BurnAnswer,
    DatabaseAnswer,
    DatabaseDetails,
    PlatformAnswer,
    PoolAnswer,
    RedisAnswer,
    SloAnswer,
    SlosAnswer,
    TableAnswer,
)
from admin_api.health.viewer import viewer_of
from admin_api.schema import BaseModel
from admin_api.services.slo import PERIOD_DAYS, SloState, SloStatus
from headgate.executions.limits import load_limits
from headgate.executions.statistics_store import destination_states
from headgate.judges.breaker import BreakerState
from headgate.kernel.errors import UnavailableError
from headgate.kernel.program import PROGRAM_VERSION

router = APIRouter(route_class=GuardedRoute, tags=["health"])

_DESTINATIONS_MAX: Final = 100
_WORST_FIRST: Final = (SloState.CRITICAL, SloState.WARNING, SloState.OK)
# Fetch standard, section 3.2 (CORS protocol): anybody's page may read it; no credentials are involved.
_ANY_ORIGIN: Final = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}
_PREFLIGHT: Final = {
    **_ANY_ORIGIN,
    "Access-Control-Allow-Methods": "GET, OPTIONS",
    "Access-Control-Allow-Headers": "Accept, Content-Type",
    "Access-Control-Max-Age": "86400",
    "Allow": "GET, HEAD, OPTIONS",
}


def parts_of(request: Request) -> HealthParts:
    parts: HealthParts = request.app.state.health_parts
    return parts


@router.get("/health/slo-status", response_class=Response, responses={200: {"model": SlosAnswer}})
async def slo_status(request: Request) -> Response:
    """Gets the service level objectives of Headgate. Includes the burn rates of their error budgets over
    four windows."""
    statuses = parts_of(request).slos.statuses()
    worst = next((state for state in _WORST_FIRST if any(one.state is state for one in statuses)), None)
    return _answer(
        SlosAnswer(
            status="not measured yet" if worst is None else worst.value,
            period_days=PERIOD_DAYS,
            objectives=[_slo(one) for one in statuses],
        )
    )


@router.get("/health/db-stats", response_class=Response, responses={200: {"model": DatabaseAnswer}})
async def db_stats(request: Request) -> Response:
    """Gets figures of the database from this process: its connections, and the events to be sealed. The operator sees
    the sizes of the tables."""
    parts, dependencies = parts_of(request), dependencies_of(request)
    health, backlog = await parts.health.get(), await parts.backlog.get()
    details = None
    if health.database and (await viewer_of(request)).is_operator:
        try:
            sizes = await parts.sizes.get()
        except UnavailableError:
            sizes = None
        if sizes is not None:
            details = DatabaseDetails(
                server_version=sizes.server.version,
                connections=sizes.server.connections,
                most_connections=sizes.server.most_connections,
                database_bytes=sizes.server.database_bytes,
                tables=[TableAnswer(**asdict(table)) for table in sizes.tables],
            )
    return _answer(
        DatabaseAnswer(
            state=state_of(health.database),
            latency_ms=health.database_ms,
            pool=PoolAnswer(**asdict(dependencies.database.pool_figures())),
            unsealed_events=None if backlog is None else backlog.lag.rows,
            oldest_unsealed_seconds=None if backlog is None else round(max(0.0, backlog.lag.oldest_seconds), 3),
            details=details,
        )
    )


@router.get("/health/redis", response_class=Response, responses={200: {"model": RedisAnswer}})
async def redis(request: Request) -> Response:
    """Gets the state of Valkey or Redis, and whether rate limits are shared. Without it each process keeps its own
    limits."""
    parts, dependencies = parts_of(request), dependencies_of(request)
    health = await parts.health.get()
    is_shown = health.valkey is True and (await viewer_of(request)).is_operator
    return _answer(
        RedisAnswer(
            state=state_of(health.valkey),
            latency_ms=health.valkey_ms,
            rate_limits=dependencies.rate_limiter.mode,
            details=await parts.redis.get() if is_shown else None,
        )
    )


@router.get("/health/memory", response_class=Response, responses={200: {"model": MemoryAnswer}})
async def memory(request: Request) -> Response:
    """Gets memory, threads and open files of the responding process."""
    return _answer(memory_answer())


@router.get("/health/circuit-breakers", response_class=Response, responses={200: {"model": BreakersAnswer}})
async def circuit_breakers(request: Request) -> Response:
    """Lists open circuit breakers: language models, as known to this process, and destinations of executions.
    Administrators see the names of their organization."""
    parts = parts_of(request)
    found = [one for source in parts.breakers for one in await source()]
    destinations = await parts.destinations.get()
    counted = {state: sum(one.state is state for one in found) + destinations.get(state, 0) for state in BreakerState}
    org_id = (await viewer_of(request)).administered
    if org_id is not None:
        found += await _destination_breakers(dependencies_of(request), org_id)
    return _answer(
        BreakersAnswer(
            status="degraded" if counted[BreakerState.OPEN] else "ok",
            closed=counted[BreakerState.CLOSED],
            open=counted[BreakerState.OPEN],
            half_open=counted[BreakerState.HALF_OPEN],
            breakers=None
            if org_id is None
            else [
                BreakerAnswer(kind=one.kind, name=one.name, state=one.state) for one in found if one.org_id == org_id
            ],
        )
    )


async def _destination_breakers(dependencies: Dependencies, org_id: str) -> list[ListedBreaker]:
    async with dependencies.database.transaction(org_id) as connection:
        limits = await load_limits(connection, org_id)
        states = await destination_states(connection, org_id, limit=_DESTINATIONS_MAX)
    items = [
        destination_item(one, breaker_failures=limits.breaker_failures, now=dependencies.clock()) for one in states
    ]
    return [ListedBreaker(BreakerKind.DESTINATION, org_id, one.destination, BreakerState(one.breaker)) for one in items]


@router.get("/health/platform-stats", response_class=Response, responses={200: {"model": PlatformAnswer}})
async def platform_stats(request: Request) -> Response:
    """Gets public figures, for any origin: counts, without names."""
    parts = parts_of(request)
    health, backlog, traffic = await parts.health.get(), await parts.backlog.get(), await parts.traffic.get()
    answer = PlatformAnswer(
        status=health.status,
        version=PROGRAM_VERSION,
        uptime_seconds=round(uptime_seconds(), 1),
        decisions=traffic.decisions,
        held_calls=traffic.held_calls,
        open_approvals=None if backlog is None else backlog.open_approvals,
        unsealed_events=None if backlog is None else backlog.lag.rows,
    )
    return Response(answer.model_dump_json(), 200, _ANY_ORIGIN, JSON)


@router.options("/health/platform-stats", response_class=Response)
async def platform_stats_options(request: Request) -> Response:
    """Answers the CORS preflight request for the public figures."""
    return Response(status_code=200, headers=_PREFLIGHT)


def _slo(status: SloStatus) -> SloAnswer:
    return SloAnswer(
        name=status.objective.name,
        description=status.objective.description,
        target=status.objective.target,
        state=status.state.value,
        windows={
            name: BurnAnswer(
                burn_rate=round(burn.burn_rate, 3),
                good=burn.good,
                total=burn.total,
                covered_seconds=round(burn.covered_seconds, 1),
            )
            for name, burn in status.burns.items()
        },
    )


def _answer(body: BaseModel) -> Response:
    return Response(body.model_dump_json(), 200, media_type=JSON)
