"""/agents: lists agents, connects new ones, and shows one agent with its keys and recent activity."""

from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.agents.history_routes import activity, figures, model_usage
from admin_api.agents.key_routes import create as create_key
from admin_api.agents.key_routes import list_all as list_keys
from admin_api.agents.key_routes import revoke as revoke_key
from admin_api.agents.routes import create, deactivate, get, list_all, rotate
from admin_api.agents.schemas import KeyRotation, NewAgent, StatusReason
from admin_api.agents.status_routes import resume, suspend
from admin_api.identifiers import AgentId
from admin_api.keys.schemas import IssuedKeyAnswer, NewAgentKey
from admin_api.pages import see_other
from admin_api.pagination import ListRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.connect import snippets
from admin_api.web.form import Form, checked, form_of, no_such_button
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.kernel.errors import ConflictError, HeadgateError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/agents"
_AT_ONCE: Final = 50
_NEWEST: Final = 25


@router.get(_PATH, response_class=Response)
async def agents(
    api: CurrentApi,
    q: Annotated[str | None, Query(max_length=128)] = None,
    cursor: AgentId | None = None,
) -> Response:
    found = await api.call(
        list_all,
        ListRequest(_AT_ONCE, cursor=cursor),
        api.principal,
        api.dependencies,
        q=q or None,
    )
    context = {"agents": found.data, "q": q or "", "next_cursor": getattr(found.pagination, "next_cursor", None)}
    return await shell_page(api, "agents.html", _PATH, context)


@router.get("/agents/new", response_class=Response)
async def new(api: CurrentApi) -> Response:
    return await _new_page(api)


@router.post("/agents/new", response_class=Response)
async def connect(api: CurrentApi) -> Response:
    """Creates an agent and shows its key, once: the response is the page, because a redirect cannot carry the key."""
    form = await form_of(api.request)
    values = {name: form.optional(name) for name in ("name", "description", "owner")}
    try:
        await _check_new_name(api, values["name"])
        created = await api.call(create, checked(NewAgent, values), api.principal, api.dependencies)
    except HeadgateError as error:
        return await _new_page(api, form, error)
    return await _agent_page(api, created.id, issued=created.api_key, status=201)


async def _check_new_name(api: Api, name: str | None) -> None:
    """The page of a new agent is the answer to its form: a reload sends the form again. Raises ConflictError."""
    found = await api.call(list_all, ListRequest(_AT_ONCE), api.principal, api.dependencies, q=name)
    if any(one.name == name and one.status != "deactivated" for one in found.data):
        raise ConflictError(
            f"An agent with the name {name!r} exists. Choose another name, or open the agent and create a key."
        )


@router.get("/agents/{agent_id}", response_class=Response)
async def one(api: CurrentApi, agent_id: AgentId) -> Response:
    return await _agent_page(api, agent_id)


@router.post("/agents/{agent_id}", response_class=Response)
async def change(api: CurrentApi, agent_id: AgentId) -> Response:
    """Handles the forms of an agent's page. A response with a new key shows it, once."""
    form = await form_of(api.request)
    try:
        issued = await _act(api, agent_id, form)
    except HeadgateError as error:
        return await _agent_page(api, agent_id, error=error)
    if issued is not None:
        return await _agent_page(api, agent_id, issued=issued, status=201)
    return see_other(f"/agents/{agent_id}")


async def _act(api: Api, agent_id: str, form: Form) -> IssuedKeyAnswer | None:
    principal, dependencies = api.principal, api.dependencies
    reason = checked(StatusReason, {"reason": form.optional("reason")})
    match form.text("act"):
        case "suspend":
            await api.call(suspend, agent_id, principal, dependencies, reason)
        case "resume":
            await api.call(resume, agent_id, principal, dependencies, reason)
        case "deactivate":
            await api.call(deactivate, agent_id, principal, dependencies)
        case "create-key":
            body = checked(NewAgentKey, {"name": form.optional("name")})
            return await api.call(create_key, agent_id, principal, dependencies, body)
        case "rotate-key":
            rotation = checked(
                KeyRotation, {"key_id": form.optional("key_id"), "overlap_seconds": form.optional("overlap_seconds")}
            )
            return (await api.call(rotate, agent_id, principal, dependencies, rotation)).api_key
        case "revoke-key":
            await api.call(revoke_key, agent_id, form.text("key_id"), principal, dependencies)
        case other:
            raise no_such_button(other)
    return None


async def _new_page(api: Api, form: Form | None = None, error: HeadgateError | None = None) -> Response:
    typed = {name: "" if form is None else form.text(name) for name in ("name", "description", "owner")}
    return await shell_page(api, "agent_new.html", _PATH, {"typed": typed}, error=error)


async def _agent_page(
    api: Api,
    agent_id: str,
    *,
    issued: IssuedKeyAnswer | None = None,
    error: HeadgateError | None = None,
    status: int = 200,
) -> Response:
    principal, dependencies = api.principal, api.dependencies
    keys = ListRequest(_AT_ONCE)
    agent = await api.call(get, agent_id, principal, dependencies)
    context: dict[str, object] = {
        "agent": agent,
        "keys": (await api.call(list_keys, agent_id, keys, principal, dependencies)).data,
        "timeline": (await api.call(activity, agent_id, principal, dependencies, limit=_NEWEST)).data,
        "figures": await api.call(figures, agent_id, principal, dependencies),
        "used": (await api.call(model_usage, agent_id, principal, dependencies)).today,
        "issued": issued,
        "snippets": snippets(
            proxy_url=dependencies.proxy_url,
            api_url=dependencies.api_url,
            key=None if issued is None else issued.key,
        ),
    }
    return await shell_page(api, "agent.html", _PATH, context, error=error, status=status)
