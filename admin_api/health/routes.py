"""/health and /ready: for probes and for Prometheus. Open to all: they tell states and counts, no names."""

import json
import os
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.requests import Request
from starlette.responses import Response

from admin_api.dependencies import dependencies_of
from admin_api.errors import JSON
from admin_api.guarded_route import GuardedRoute
from admin_api.health.checks import Health, check_health
from admin_api.health.record_metrics import measure_record

router = APIRouter(route_class=GuardedRoute, tags=["health"])

PROGRAM: Final = "headgate"


def _installed_version() -> str:
    """Of the installed distribution; a checkout that was never installed has none."""
    try:
        return version(PROGRAM)
    except PackageNotFoundError:
        return "0+not.installed"


_VERSION: Final = _installed_version()


@router.get("/health/live", response_class=Response)
async def live(request: Request) -> Response:
    """This process answers; nothing else is asked, so that a database's outage restarts nobody."""
    return _answer({"status": "ok"}, 200)


@router.get("/health", response_class=Response)
async def health(request: Request) -> Response:
    """Each part on which this process depends."""
    return _of(await check_health(dependencies_of(request)))


@router.get("/health/ready", response_class=Response)
async def ready(request: Request) -> Response:
    """Whether this process can decide and record: 503 where it cannot."""
    return _of(await check_health(dependencies_of(request)))


@router.get("/ready", response_class=Response)
async def ready_at_root(request: Request) -> Response:
    """The same as /health/ready."""
    return _of(await check_health(dependencies_of(request)))


@router.get("/health/version", response_class=Response)
async def program_version(request: Request) -> Response:
    """The program's version, and that of the interface."""
    return _answer({"name": PROGRAM, "version": _VERSION, "interface_version": request.app.version}, 200)


@router.get("/health/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """The metrics of this machine's processes in Prometheus' text format; docs/reference/metrics.md explains them."""
    await measure_record(dependencies_of(request).database)
    return Response(generate_latest(_registry()), media_type=CONTENT_TYPE_LATEST)


def _registry() -> CollectorRegistry:
    """Everything that is counted beside this process too, where the processes share a folder."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call] # the library leaves it untyped
    return registry


def _of(health: Health) -> Response:
    return _answer(health.document(), 200 if health.ready else 503)


def _answer(document: dict[str, object], status: int) -> Response:
    return Response(json.dumps(document), status, media_type=JSON)
