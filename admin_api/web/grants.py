"""/grants: lists approvals in advance. /grants/{id}: what one lets through, its uses, confirm and revoke."""

from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.grants.routes import confirm, get, list_all, revoke
from admin_api.grants.schemas import GrantAnswer
from admin_api.identifiers import GrantId
from admin_api.pages import see_other
from admin_api.pagination import MAX_LIMIT, ListRequest, PageRequest
from admin_api.policies.routes import list_all as list_policies
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, form_of, no_such_button
from admin_api.web.grant_words import words_of
from admin_api.web.names import names_of
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.agents.store import agent_ids_of
from headgate.grants.model import REASON_MAX_CHARACTERS, GrantStatus
from headgate.kernel.errors import HeadgateError, NotFoundError, ValidationError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/grants"
_AT_ONCE: Final = 50
_EVERY: Final = "all"
_VIEWS: Final = {
    GrantStatus.ACTIVE.value: "Active",
    GrantStatus.EXHAUSTED.value: "Exhausted",
    GrantStatus.EXPIRED.value: "Expired",
    GrantStatus.REVOKED.value: "Revoked",
    _EVERY: "All",
}


@router.get(_PATH, response_class=Response)
async def grants(
    api: CurrentApi,
    view: Annotated[str, Query(max_length=16)] = GrantStatus.ACTIVE.value,
    agent: Annotated[str | None, Query(max_length=128)] = None,
    tool: Annotated[str | None, Query(max_length=64)] = None,
    cursor: GrantId | None = None,
) -> Response:
    """``agent``: its name or its id."""
    if view not in _VIEWS:
        raise NotFoundError(f"Unknown view {view!r}. Views: {', '.join(_VIEWS)}.")
    agent_id = None if agent is None else await _agent_id(api, agent)
    found: list[GrantAnswer] = []
    next_cursor = None
    if agent is None or agent_id is not None:
        page = await api.call(
            list_all,
            ListRequest(_AT_ONCE, cursor=cursor),
            api.principal,
            api.dependencies,
            status=None if view == _EVERY else GrantStatus(view),
            agent_id=agent_id,
            tool=tool,
        )
        found, next_cursor = list(page.data), getattr(page.pagination, "next_cursor", None)
    people = [one.user_id for grant in found for one in grant.granters]
    context = {
        "grants": [(one, None if one.conditions is None else words_of(one.conditions)) for one in found],
        "names": await names_of(api, [*people, *(one.agent_id for one in found)]),
        "view": view,
        "views": _VIEWS,
        "agent": agent or "",
        "tool": tool or "",
        "is_first": cursor is None,
        "next_cursor": next_cursor,
    }
    return await shell_page(api, "grants.html", _PATH, context)


@router.get("/grants/{grant_id}", response_class=Response)
async def one(api: CurrentApi, grant_id: GrantId) -> Response:
    return await _one_page(api, grant_id)


@router.post("/grants/{grant_id}", response_class=Response)
async def change(api: CurrentApi, grant_id: GrantId) -> Response:
    """Confirms or revokes. A revoked grant lets nothing through when the response is sent."""
    form = await form_of(api.request)
    try:
        match form.text("act"):
            case "confirm":
                await api.call(confirm, grant_id, api.principal, api.dependencies)
            case "revoke":
                await api.call(revoke, grant_id, _reason(form), api.principal, api.dependencies)
            case other:
                raise no_such_button(other)
    except NotFoundError:
        raise
    except HeadgateError as error:
        return await _one_page(api, grant_id, form.text("reason"), error)
    return see_other(f"{_PATH}/{grant_id}")


def _reason(form: Form) -> str:
    """Raises ValidationError."""
    reason = form.text("reason")
    if not 0 < len(reason) <= REASON_MAX_CHARACTERS:
        raise ValidationError(
            f"A reason is required, with at most {REASON_MAX_CHARACTERS} characters.", details={"field": "reason"}
        )
    return reason


async def _agent_id(api: Api, name_or_id: str) -> str | None:
    """None: no agent is called so. Raises ValidationError if several are."""
    org_id = api.principal.org_id
    async with api.dependencies.database.transaction(org_id) as connection:
        found = await agent_ids_of(connection, org_id, name_or_id)
    if len(found) > 1:
        raise ValidationError(
            f"{len(found)} agents have the name {name_or_id!r}. Filter by the id of one of them.",
            details={"field": "agent"},
        )
    return next(iter(found), None)


async def _policy_names(api: Api) -> dict[str, str]:
    """Of the first policies: a grant of one that runs later shows its id."""
    if not api.may(Scope.POLICIES_READ):
        return {}
    found = await api.call(list_policies, PageRequest(MAX_LIMIT), api.principal, api.dependencies)
    return {one.id: one.name for one in found.data}


async def _one_page(api: Api, grant_id: str, typed: str = "", error: HeadgateError | None = None) -> Response:
    grant = await api.call(get, grant_id, api.principal, api.dependencies)
    is_active = grant.status == GrantStatus.ACTIVE
    given_by_me = any(one.user_id == api.principal.user_id for one in grant.granters)
    context = {
        "grant": grant,
        "conditions": None if grant.conditions is None else words_of(grant.conditions),
        "names": await names_of(api, [grant.agent_id, grant.revoked_by, *(one.user_id for one in grant.granters)]),
        "policies": await _policy_names(api),
        "is_active": is_active,
        "may_confirm": is_active and not given_by_me and api.may(Scope.APPROVALS_WRITE),
        "may_revoke": is_active and api.may(Scope.APPROVALS_WRITE),
        "may_see_agents": api.may(Scope.ADMIN),
        "may_audit": api.may(Scope.AUDIT_READ),
        "typed": typed,
    }
    return await shell_page(api, "grant.html", _PATH, context, error=error)
