"""/admin/traffic/export: exchanges as files that other tools open; what was masked stays masked."""

import base64
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, Dependencies
from admin_api.errors import JSON
from admin_api.guarded_route import GuardedRoute
from admin_api.pagination import MAX_LIMIT
from admin_api.principal import Principal
from admin_api.services.traffic_review import Asker
from admin_api.traffic.asker import CurrentAsker
from admin_api.traffic.filters import CurrentTraffic, WantedTraffic
from admin_api.traffic.reading import Opened, opened, search
from headgate.audit.model import EventType
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.errors import NotFoundError, ValidationError
from headgate.kernel.ids import IdPrefix, parse_id
from headgate.traffic.curl import curl_command
from headgate.traffic.store import TrafficFilter, get_exchange

router = APIRouter(route_class=GuardedRoute, tags=["traffic"])

_ALL: Final = WantedTraffic(TrafficFilter(), None)

type Format = Literal["har", "flow", "curl"]

_MEDIA: Final[dict[str, tuple[str, str]]] = {
    "har": (JSON, "traffic.har"),
    "flow": ("application/octet-stream", "traffic.flow"),
    "curl": ("text/plain; charset=utf-8", "traffic.sh"),
}


@router.get("/admin/traffic/export", response_class=Response)
async def export(
    wanted: CurrentTraffic,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    asker: CurrentAsker,
    as_format: Annotated[Format, Query(alias="format")] = "har",
    ids: Annotated[
        str | None, Query(max_length=16_384, description="The exact ids, separated by commas, without any filter.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = MAX_LIMIT,
) -> Response:
    """Exports exchanges as HAR, flow file or curl commands. A HAR is an HTTP Archive, a flow file opens with `mitmweb
    -r`, and curl commands have placeholders for masked values.

    Oldest first. The audit log records the export first (`traffic.exported`).
    """
    if ids is not None:
        if wanted != _ALL:
            raise ValidationError(
                "ids: cannot be combined with filters. Name exchanges, or filter them.",
                details={"field": "ids", "reason": "not with filters"},
            )
        chosen = await _these(principal, dependencies, ids)
    else:
        chosen = await _matching(principal, dependencies, wanted, asker, limit)
    told: list[JsonValue] = [one.kept.exchange_id for one in chosen]
    data: JsonObject = {"format": as_format, "exchanges": told, "filter": wanted.expression}
    async with administer(principal, dependencies) as change:
        await change.record(EventType.TRAFFIC_EXPORTED, data)
    media_type, name = _MEDIA[as_format]
    content = await _content(dependencies, asker, as_format, chosen)
    return Response(content, media_type=media_type, headers={"content-disposition": f'attachment; filename="{name}"'})


async def _these(principal: Principal, dependencies: Dependencies, ids: str) -> list[Opened]:
    wanted = list(dict.fromkeys(parse_id(IdPrefix.EXCHANGE, one.strip(), "ids") for one in ids.split(",")))
    if len(wanted) > MAX_LIMIT:
        raise ValidationError(f"ids: at most {MAX_LIMIT}", details={"field": "ids", "reason": "too many"})
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = [await get_exchange(connection, principal.org_id, one) for one in wanted]
    return sorted((opened(one, dependencies) for one in found), key=lambda one: one.kept.exchange_id)


async def _matching(
    principal: Principal, dependencies: Dependencies, wanted: WantedTraffic, asker: Asker, limit: int
) -> list[Opened]:
    searched = await search(principal, dependencies, wanted, asker, limit=limit, cursor=None)
    if not searched.found:
        raise NotFoundError("No captured exchange matches.")
    return list(searched.found)[::-1]


async def _content(dependencies: Dependencies, asker: Asker, as_format: Format, chosen: list[Opened]) -> bytes:
    if as_format == "curl":
        return "".join(f"{curl_command(one.document)}\n" for one in chosen).encode("utf-8", "replace")
    exchanges = [one.for_review() for one in chosen]
    if as_format == "flow":
        return base64.b64decode(await dependencies.review.flow_file(asker, exchanges))
    return canonical_bytes(await dependencies.review.har(asker, exchanges))
