"""/activity: lists calls as they arrive, newest first, with a filter line."""

import re
from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Query
from msgspec.structs import asdict
from starlette.responses import Response

from admin_api.actions.search_routes import FoundActionsAnswer, search
from admin_api.identifiers import ActionId
from admin_api.overview.routes import Period
from admin_api.overview.routes import get as get_overview
from admin_api.pages import see_other
from admin_api.web.api import Api, CurrentApi
from admin_api.web.call import call_context
from admin_api.web.call_filter import NAMES, VALUES, CallFilter, moment_of, parse_call_filter
from admin_api.web.lanes import lanes_of
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.kernel.errors import HeadgateError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_AT_ONCE: Final = 100
_IDS: Final = {"act": "/calls/", "apr": "/inbox/", "agt": "/agents/", "pol": "/policies/"}
_ID: Final = re.compile(r"(act|apr|agt|pol)_[0-9a-f-]{36}")


@router.get("/activity", response_class=Response)
async def activity(
    api: CurrentApi,
    q: Annotated[str, Query(max_length=2_000)] = "",
    cursor: ActionId | None = None,
    call: ActionId | None = None,
) -> Response:
    """Lists calls. An identifier redirects to its object. ``call`` is shown beside the list."""
    if (named := _ID.fullmatch(q.strip())) is not None:
        return see_other(_IDS[named[1]] + named[0])
    wanted, found, refused = CallFilter(), None, None
    try:
        wanted = parse_call_filter(q)
        found = await _search(api, wanted, cursor)
    except HeadgateError as error:
        refused = error
    hour = None
    if cursor is None and not q:
        hour = await api.call(get_overview, api.principal, api.dependencies, period=Period.HOUR)
    context: dict[str, object] = {
        "q": q,
        "chips": {name: value for name, value in asdict(wanted).items() if value is not None},
        "found": found,
        "known": _known(found),
        "cursor": cursor,
        "shown": call,
        "is_first": cursor is None,
        "lanes": lanes_of(hour, Period.HOUR) if hour is not None else (),
        "hour": hour,
        "may_audit": api.may(Scope.AUDIT_READ),
    }
    if call is not None:
        context |= await call_context(api, call)
    return await shell_page(api, "activity.html", "/activity", context, error=refused)


def _known(found: FoundActionsAnswer | None) -> Sequence[str]:
    """Completions of the filter: its names, their values, and the values of the listed calls."""
    seen = [
        f'{name}:"{value}"' if " " in value else f"{name}:{value}"
        for one in (found.data if found else ())
        for name, value in (
            ("agent", one.agent_name),
            ("tool", one.tool),
            ("operation", one.operation),
            ("host", one.request_line.host if one.request_line else None),
            *(("tag", tag) for tag in one.tags or ()),
        )
        if value and value.isprintable() and '"' not in value
    ]
    return [*(f"{name}{'~' if name == 'path' else ':'}" for name in NAMES), *VALUES, *dict.fromkeys(seen)]


async def _search(api: Api, wanted: CallFilter, cursor: str | None) -> FoundActionsAnswer:
    now = api.dependencies.clock()
    return await api.call(
        search,
        api.principal,
        api.dependencies,
        agent=wanted.agent,
        status=wanted.status,
        tool=wanted.tool,
        operation=wanted.operation,
        tag=wanted.tag,
        decision=wanted.decision,
        host=wanted.host,
        method=wanted.method,
        path=wanted.path,
        text=wanted.text,
        start_date=moment_of(wanted.since, now),
        end_date=moment_of(wanted.until, now),
        limit=_AT_ONCE,
        cursor=cursor,
    )
