"""/overview: shows calls and decisions over a period, and the health of this instance."""

import json
from datetime import datetime
from typing import Annotated, Any, Final

from cryptography.x509 import load_pem_x509_certificate
from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.health.part_routes import db_stats, platform_stats, redis
from admin_api.health.routes import health, program_version
from admin_api.overview.health_routes import get_health
from admin_api.overview.routes import Period
from admin_api.overview.routes import get as get_overview
from admin_api.root.routes import ca_certificate
from admin_api.web.api import Api, CurrentApi
from admin_api.web.lanes import lanes_of
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.kernel.errors import NotFoundError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PERIODS: Final = {Period.HOUR: "1 hour", Period.DAY: "24 hours", Period.WEEK: "7 days", Period.MONTH: "30 days"}
_PARTS: Final = {"health": health, "version": program_version, "platform": platform_stats, "record": db_stats,
                 "valkey": redis}  # fmt: skip


@router.get("/overview", response_class=Response)
async def overview(api: CurrentApi, period: Annotated[Period, Query(alias="range")] = Period.DAY) -> Response:
    found = await api.call(get_overview, api.principal, api.dependencies, period=period)
    context = {
        "found": found,
        "lanes": lanes_of(found, period),
        "period": period,
        "periods": _PERIODS,
        "parts_of_it": {
            name: json.loads(bytes((await api.call(route, api.request)).body)) for name, route in _PARTS.items()
        },
        "work": await api.call(get_health, api.principal, api.dependencies),
        "ca_ends_at": await _ca_ends_at(api),
    }
    return await shell_page(api, "overview.html", "/overview", context)


async def _ca_ends_at(api: Api) -> datetime | None:
    """None: there is no proxy on this host."""
    try:
        answer: Any = await api.call(ca_certificate, api.request)
    except NotFoundError:
        return None
    return load_pem_x509_certificate(answer.body).not_valid_after_utc
