"""/executions: lists queued, running and completed executions, and retries failed ones."""

from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.actions.timeline import read_timeline
from admin_api.agents.routes import get as get_agent
from admin_api.agents.schemas import AgentAnswer
from admin_api.executions.routes import destinations, get, list_all, process, process_all, retry, stats
from admin_api.executions.schemas import DestinationItem, ProcessBody, RetryBody
from admin_api.identifiers import ActionId, ExecutionId
from admin_api.pages import list_or_item, see_other
from admin_api.pagination import ListRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.call import actors_of
from admin_api.web.call_timeline import Moment, moments_of
from admin_api.web.form import form_of, no_such_button
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.actions.model import ExecutionStatus
from headgate.agents.scopes import Scope
from headgate.kernel.errors import HeadgateError, NotFoundError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/executions"
_PLACE: Final = "/activity"
"""The entry of the navigation: executions stand beside the calls."""
_AT_ONCE: Final = 50
_WINDOW_SECONDS: Final = 3600
_ATTEMPT: Final = ("execution.", "response.")
_VIEWS: Final = {
    "all": "All",
    "queued": "Queued",
    "running": "Running",
    "succeeded": "Succeeded",
    "failed": "Failed",
    "dead": "Dead letters",
}


@router.get(_PATH, response_class=Response)
async def executions(
    api: CurrentApi,
    view: Annotated[str, Query(max_length=16)] = "all",
    tool: Annotated[str | None, Query(max_length=64)] = None,
    action_id: ActionId | None = None,
    cursor: ExecutionId | None = None,
    execution: ExecutionId | None = None,
) -> Response:
    """Lists executions. ``execution`` is shown beside the list."""
    if view not in _VIEWS:
        raise NotFoundError(f"Unknown view {view!r}. Views: {', '.join(_VIEWS)}.")
    return await _list_page(api, view, tool=tool, action_id=action_id, cursor=cursor, shown=execution)


@router.post(_PATH, response_class=Response)
async def run_all(api: CurrentApi) -> Response:
    """Makes all queued executions due now."""
    form = await form_of(api.request)
    if form.text("act") != "process-all":
        raise no_such_button(form.text("act"))
    await api.call(process_all, api.principal, api.dependencies)
    return see_other(f"{_PATH}?view=queued")


@router.get("/executions/{execution_id}", response_class=Response)
async def one(api: CurrentApi, execution_id: ExecutionId) -> Response:
    return await _one_page(api, execution_id)


@router.post("/executions/{execution_id}", response_class=Response)
async def change(api: CurrentApi, execution_id: ExecutionId) -> Response:
    """Retries a failed execution, or runs a queued one now, and returns to the page that the form was on."""
    form = await form_of(api.request)
    try:
        match form.text("act"):
            case "retry":
                body = RetryBody(execution_id=execution_id, reset_attempts=form.text("reset_attempts") == "yes")
                await api.call(retry, body, api.principal, api.dependencies)
            case "process":
                await api.call(process, api.principal, api.dependencies, ProcessBody(execution_id=execution_id))
            case other:
                raise no_such_button(other)
    except NotFoundError:
        raise
    except HeadgateError as error:
        return await _one_page(api, execution_id, error)
    return see_other(list_or_item(_PATH, form.text("list"), execution_id))


async def _list_page(
    api: Api, view: str, *, tool: str | None, action_id: str | None, cursor: str | None, shown: str | None
) -> Response:
    found = await api.call(
        list_all,
        ListRequest(_AT_ONCE, cursor=cursor),
        api.principal,
        api.dependencies,
        status=None if view in ("all", "dead") else ExecutionStatus(view),
        tool=tool,
        action_id=action_id,
        retryable=view == "dead",
    )
    context: dict[str, object] = {
        "executions": found.data,
        "next_cursor": getattr(found.pagination, "next_cursor", None),
        "is_first": cursor is None,
        "cursor": cursor,
        "shown": shown,
        "view": view,
        "views": _VIEWS,
        "tool": tool or "",
        "action_id": action_id,
        "figures": await api.call(stats, api.principal, api.dependencies, window_seconds=_WINDOW_SECONDS),
        "broken": await _broken(api),
        "may_act": api.may(Scope.ADMIN),
        "api_url": api.dependencies.api_url,
    }
    if shown is not None:
        context |= await _one_context(api, shown)
    return await shell_page(api, "executions.html", _PLACE, context)


async def _broken(api: Api) -> list[DestinationItem]:
    """Destinations with an open or half-open circuit breaker."""
    if not api.may(Scope.ADMIN):
        return []
    found = await api.call(destinations, api.principal, api.dependencies)
    return [one for one in found.data if one.breaker != "closed"]


async def _agent(api: Api, agent_id: str) -> AgentAnswer | None:
    """None: the viewer may not look at agents."""
    return await api.call(get_agent, agent_id, api.principal, api.dependencies) if api.may(Scope.ADMIN) else None


async def _attempts(api: Api, action_id: str) -> list[Moment]:
    """Each attempt with its outcome, and the retries that people requested."""
    # Not the whole call: a page that follows its execution asks every second, and bodies may have to be decrypted.
    timeline = await read_timeline(api.dependencies, api.principal.org_id, action_id)
    steps = [one for one in timeline if one.event.startswith(_ATTEMPT)]
    return moments_of(steps, await actors_of(api, steps))


async def _one_context(api: Api, execution_id: str) -> dict[str, object]:
    """Returns the context of execution_article.html."""
    execution = await api.call(get, execution_id, api.principal, api.dependencies)
    return {
        "execution": execution,
        "attempts": await _attempts(api, execution.action_id),
        "agent": await _agent(api, execution.agent_id),
        "may_act": api.may(Scope.ADMIN),
        "may_audit": api.may(Scope.AUDIT_READ),
    }


async def _one_page(api: Api, execution_id: str, error: HeadgateError | None = None) -> Response:
    return await shell_page(api, "execution.html", _PLACE, await _one_context(api, execution_id), error=error)
