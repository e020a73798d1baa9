"""/settings/groups: manages the approver groups that policies name as ``group:NAME``."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.approver_groups.routes import GroupBody, NewGroup, create, delete, get, list_all, put
from admin_api.identifiers import GroupName
from admin_api.pages import see_other
from admin_api.pagination import PageRequest
from admin_api.users.schemas import UserAnswer
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, checked, form_of, no_such_button
from admin_api.web.page_route import PageRoute
from admin_api.web.people import active_people
from admin_api.web.settings_tabs import settings_page
from headgate.kernel.errors import HeadgateError, NotFoundError
from headgate.organizations.mail_addresses import lower_ascii

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/settings/groups"
_AT_ONCE: Final = 200


@router.get(_PATH, response_class=Response)
async def groups(api: CurrentApi) -> Response:
    return await _list_page(api)


@router.post(_PATH, response_class=Response)
async def add(api: CurrentApi) -> Response:
    form = await form_of(api.request)
    try:
        body = checked(NewGroup, {"name": form.text("name"), **_values(form)})
        made = await api.call(create, body, Response(), api.principal, api.dependencies)
    except HeadgateError as error:
        return await _list_page(api, form, error)
    return see_other(f"{_PATH}/{made.name}")


@router.get("/settings/groups/{name}", response_class=Response)
async def one(api: CurrentApi, name: GroupName) -> Response:
    return await _one_page(api, name)


@router.post("/settings/groups/{name}", response_class=Response)
async def change(api: CurrentApi, name: GroupName) -> Response:
    """Saves a group, if it is still at the shown version, or deletes it."""
    form = await form_of(api.request)
    try:
        match form.text("act"):
            case "save":
                body, version = checked(GroupBody, _values(form)), f'"{form.text("version")}"'
                await api.call(put, name, body, Response(), api.principal, api.dependencies, version)
            case "delete":
                await api.call(delete, name, api.principal, api.dependencies)
                return see_other(_PATH)
            case other:
                raise no_such_button(other)
    except NotFoundError:
        raise
    except HeadgateError as error:
        return await _one_page(api, name, form, error)
    return see_other(f"{_PATH}/{name}")


def _values(form: Form) -> dict[str, object]:
    """Members are the selected people and the entered addresses, one per line."""
    return {"description": form.optional("description"), "members": [*form.several("members"), *form.lines("others")]}


async def _list_page(api: Api, form: Form | None = None, error: HeadgateError | None = None) -> Response:
    page = PageRequest(_AT_ONCE)
    people = await active_people(api)
    context = {
        "approver_groups": (await api.call(list_all, page, api.principal, api.dependencies)).data,
        "people": people,
        "names": _names(people),
        "marked": set(form.several("members")) if form is not None else set(),
        "typed": {name: form.text(name) if form is not None else "" for name in ("name", "description", "others")},
    }
    return await settings_page(api, "groups.html", _PATH, context, error=error)


async def _one_page(api: Api, name: str, form: Form | None = None, error: HeadgateError | None = None) -> Response:
    """Shows a group. After a refused form: as typed, with its version."""
    group, people = await api.call(get, name, Response(), api.principal, api.dependencies), await active_people(api)
    marked = {one.id for one in people if {one.id, lower_ascii(one.email or "")} & set(group.members)}
    known = {text for one in people for text in (one.id, lower_ascii(one.email or ""))}
    context: dict[str, object] = {
        "group": group,
        "people": people,
        "marked": marked,
        "typed": {
            "description": group.description or "",
            "others": "\n".join(member for member in group.members if member not in known),
        },
        "version": group.version,
    }
    if form is not None and form.text("act") == "save":
        context |= {
            "marked": set(form.several("members")),
            "typed": {one: form.text(one) for one in ("description", "others")},
            "version": form.text("version"),
        }
    return await settings_page(api, "group.html", _PATH, context, error=error)


def _names(people: list[UserAnswer]) -> dict[str, str]:
    """Names of members, by the ids and addresses that a group may use."""
    return {
        key: one.name or one.email or one.subject
        for one in people
        for key in (one.id, lower_ascii(one.email or ""))
        if key
    }
