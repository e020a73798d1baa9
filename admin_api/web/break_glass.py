"""/break-glass: lets one denied call through, once, and shows each such use until a second person has reviewed it."""

from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.actions.search_routes import search
from admin_api.break_glass.routes import end, list_all, open_glass, review
from admin_api.break_glass.schemas import OpenRequest, ReviewRequest
from admin_api.identifiers import ActionId, BreakGlassId
from admin_api.pages import see_other
from admin_api.pagination import ListRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, checked, form_of
from admin_api.web.names import names_of
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.kernel.errors import HeadgateError, NotFoundError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/break-glass"
_AT_ONCE: Final = 50
_DENIED_SHOWN: Final = 8
_VIEWS: Final = {"review": "To review", "all": "All"}
_TYPED: Final = ("action_id", "reason", "expires_in_seconds", "outcome", "note")


@router.get(_PATH, response_class=Response)
async def break_glass(
    api: CurrentApi,
    view: Annotated[str, Query(max_length=16)] = "review",
    action: ActionId | None = None,
    cursor: BreakGlassId | None = None,
) -> Response:
    """``action``: the denied call that the form names."""
    if view not in _VIEWS:
        raise NotFoundError(f"Unknown view {view!r}. Views: {', '.join(_VIEWS)}.")
    return await _page(api, view=view, cursor=cursor, typed={} if action is None else {"action_id": action})


@router.post(_PATH, response_class=Response)
async def open_one(api: CurrentApi) -> Response:
    """Opens a use. It is in force when the response is sent."""
    form = await form_of(api.request)
    given = {name: form.optional(name) for name in ("action_id", "reason", "expires_in_seconds")}
    try:
        await api.call(open_glass, checked(OpenRequest, given), api.principal, api.dependencies)
    except HeadgateError as error:
        return await _page(api, typed=_typed(form), error=error)
    return see_other(_PATH)


@router.post("/break-glass/{pass_id}", response_class=Response)
async def review_one(api: CurrentApi, pass_id: BreakGlassId) -> Response:
    """Reviews a use, which also ends it."""
    form = await form_of(api.request)
    given = {name: form.optional(name) for name in ("outcome", "note")}
    try:
        await api.call(review, pass_id, checked(ReviewRequest, given), api.principal, api.dependencies)
    except NotFoundError:
        raise
    except HeadgateError as error:
        return await _page(api, typed=_typed(form), reviewed=pass_id, error=error)
    return see_other(f"{_PATH}?view=all")


@router.post("/break-glass/{pass_id}/end", response_class=Response)
async def end_one(api: CurrentApi, pass_id: BreakGlassId) -> Response:
    """Ends a use before its time."""
    try:
        await api.call(end, pass_id, api.principal, api.dependencies)
    except NotFoundError:
        raise
    except HeadgateError as error:
        return await _page(api, error=error)
    return see_other(_PATH)


def _typed(form: Form) -> dict[str, str]:
    return {name: text for name in _TYPED if (text := form.text(name))}


def _problem(error: HeadgateError) -> dict[str, str]:
    """What is wrong, by its field."""
    details = error.details or {}
    return {str(details.get("field")): str(details.get("reason", error.message))}


async def _page(
    api: Api,
    *,
    view: str = "review",
    cursor: str | None = None,
    typed: dict[str, str] | None = None,
    reviewed: str | None = None,
    error: HeadgateError | None = None,
) -> Response:
    """``reviewed``: whose review was refused; None: the form that opens a use was."""
    page = ListRequest(_AT_ONCE, cursor=cursor)
    found = await api.call(list_all, page, api.principal, api.dependencies, open_only=view == "review")
    people = [one.opened_by.id for one in found.data] + [one.review.by.id for one in found.data if one.review]
    may_open = api.may(Scope.BREAK_GLASS)
    context = {
        "glasses": found.data,
        "names": await names_of(api, [*people, *(one.agent_id for one in found.data)]),
        "view": view,
        "views": _VIEWS,
        "is_first": cursor is None,
        "next_cursor": getattr(found.pagination, "next_cursor", None),
        "typed": typed or {},
        "problem": {} if error is None else _problem(error),
        "reviewed": reviewed,
        "may_open": may_open,
        "may_review": api.may(Scope.APPROVALS_WRITE),
        "me": api.principal.user_id,
        "denied": (
            (await api.call(search, api.principal, api.dependencies, decision="deny", limit=_DENIED_SHOWN)).data
            if may_open
            else []
        ),
    }
    return await shell_page(api, "break_glass.html", _PATH, context, error=error)
