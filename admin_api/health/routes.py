"""/health and /ready: for probes and for Prometheus. Open to all: they tell states and counts, no names."""

import json
from typing import Any, Final

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from admin_api.dependencies import dependencies_of
from admin_api.errors import JSON
from admin_api.guarded_route import GuardedRoute
from admin_api.health.checks import check_health
from admin_api.health.record_metrics import measure_record
from admin_api.health.schemas import BuildAnswer, HealthAnswer, LiveAnswer
from admin_api.health.viewer import viewer_of
from admin_api.unheard_proxy import UnheardProxy
from headgate.agents.kill_switch import current_stops
from headgate.configuration.build_information import build_information
from headgate.configuration.metrics_registry import shared_registry
from headgate.kernel.program import PROGRAM, PROGRAM_VERSION
from headgate.monitor.port import MonitorPort

_HEALTH: Final[dict[int | str, dict[str, Any]]] = {200: {"model": HealthAnswer}, 503: {"model": HealthAnswer}}

router = APIRouter(route_class=GuardedRoute, tags=["health"])


@router.get("/health/live", response_class=Response, responses={200: {"model": LiveAnswer}})
async def live(request: Request) -> Response:
    """Reports that this process responds. Checks nothing else, so an outage of the database does not
    restart processes."""
    return _answer({"status": "ok"}, 200)


@router.get("/health", response_class=Response, responses=_HEALTH)
async def health(request: Request) -> Response:
    """Reports the state of each part that this process depends on. Administrators of an organization also see its
    active stops, and the operator sees warnings."""
    dependencies = dependencies_of(request)
    checked = await check_health(dependencies)
    viewer, document = await viewer_of(request), checked.document()
    if checked.database and viewer.administered is not None:
        async with dependencies.database.transaction(viewer.administered) as connection:
            document["stops"] = [stop.record() for stop in await current_stops(connection, viewer.administered)]
    if viewer.is_operator:
        unheard: UnheardProxy = request.app.state.unheard_proxy
        document["warnings"] = [] if unheard.warning is None else [unheard.warning]
    return _answer(document, 200 if checked.ready else 503)


@router.get("/health/ready", response_class=Response, responses=_HEALTH)
async def ready(request: Request) -> Response:
    """Reports whether this process can decide and record. 503 if not."""
    return await _readiness(request)


@router.get("/ready", response_class=Response, responses=_HEALTH)
async def ready_at_root(request: Request) -> Response:
    """Returns the same as /health/ready."""
    return await _readiness(request)


@router.get("/health/version", response_class=Response, responses={200: {"model": BuildAnswer}})
async def program_version(request: Request) -> Response:
    """Gets the version, commit and build date of the program, and the version of the API."""
    build = build_information()
    document: dict[str, object] = {
        "name": PROGRAM,
        "version": PROGRAM_VERSION,
        "interface_version": request.app.version,
        "commit": build.commit,
        "built_at": build.built_at,
    }
    return _answer(document, 200)


@router.get("/metrics", response_class=Response)
async def metrics_at_root(request: Request) -> Response:
    """Returns the same as /health/metrics."""
    return await metrics(request)


@router.get("/health/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Gets the metrics of this machine's processes in the Prometheus text format; docs/reference/metrics.md describes
    them."""
    dependencies = dependencies_of(request)
    await measure_record(dependencies.database, keys_usable=dependencies.vault_watch.usable)
    return Response(generate_latest(shared_registry()), media_type=CONTENT_TYPE_LATEST)


async def _readiness(request: Request) -> Response:
    """503 also while this process drains: a load balancer is to leave it out."""
    checked = await check_health(dependencies_of(request))
    monitor: MonitorPort | None = getattr(request.app.state, "monitor", None)
    is_draining = monitor is not None and monitor.is_draining
    return _answer(checked.document(), 503 if is_draining or not checked.ready else 200)


def _answer(document: dict[str, object], status: int) -> Response:
    return Response(json.dumps(document), status, media_type=JSON)
