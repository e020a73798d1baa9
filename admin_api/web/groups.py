"""/settings/groups: manages the approver groups that policies name as ``group:NAME``."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.approver_groups.routes import GroupBody, NewGroup, create, delete, get, list_all, put
from admin_api.identifiers import GroupName
from admin_api.pagination import PageRequest
from admin_api.users.routes import list_all as list_users
from admin_api.users.schemas import UserAnswer
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, checked, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.settings_tabs import back_to, settings_page
from headgate.kernel.errors import HeadgateError, NotFoundError, ValidationError

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
    return back_to(f"{_PATH}/{made.name}")


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
                return back_to(_PATH)
            case other:
                raise ValidationError(f"Unknown action {other[:32]!r}. Use a form button.")
    except NotFoundError:
        raise
    except HeadgateError as error:
        return await _one_page(api, name, form, error)
    return back_to(f"{_PATH}/{name}")


def _values(form: Form) -> dict[str, object]:
    """Members are the selected people and the entered addresses, one per line."""
    written = [line.strip() for line in form.text("others").splitlines() if line.strip()]
    return {"description": form.optional("description"), "members": [*form.several("members"), *written]}


async def _people(api: Api) -> list[UserAnswer]:
    page = PageRequest(_AT_ONCE, 0, exact_total=False, camel=False)
    found = await api.call(list_users, page, api.principal, api.dependencies)
    return [one for one in found.data if one.deactivated_at is None]


async def _list_page(api: Api, form: Form | None = None, error: HeadgateError | None = None) -> Response:
    page = PageRequest(_AT_ONCE, 0, exact_total=False, camel=False)
    people = await _people(api)
    context = {
        "approver_groups": (await api.call(list_all, page, api.principal, api.dependencies)).data,
        "people": people,
        "names": _names(people),
        "marked": set(form.several("members")) if form is not None else set(),
        "typed": {name: form.text(name) if form is not None else "" for name in ("name", "description", "others")},
        "message": None if error is None else error.message,
    }
    return await settings_page(api, "groups.html", _PATH, context, status=200 if error is None else error.http_status)


async def _one_page(api: Api, name: str, form: Form | None = None, error: HeadgateError | None = None) -> Response:
    """Shows a group. After a refused form: as typed, with its version."""
    group, people = await api.call(get, name, Response(), api.principal, api.dependencies), await _people(api)
    marked = {one.id for one in people if {one.id, (one.email or "").casefold()} & set(group.members)}
    known = {text for one in people for text in (one.id, (one.email or "").casefold())}
    context: dict[str, object] = {
        "group": group,
        "people": people,
        "marked": marked,
        "typed": {
            "description": group.description or "",
            "others": "\n".join(member for member in group.members if member not in known),
        },
        "version": group.version,
        "message": None if error is None else error.message,
    }
    if form is not None and form.text("act") == "save":
        context |= {
            "marked": set(form.several("members")),
            "typed": {one: form.text(one) for one in ("description", "others")},
            "version": form.text("version"),
        }
    return await settings_page(api, "group.html", _PATH, context, status=200 if error is None else error.http_status)


def _names(people: list[UserAnswer]) -> dict[str, str]:
    """Names of members, by the ids and addresses that a group may use."""
    return {
        key: one.name or one.email or one.subject
        for one in people
        for key in (one.id, (one.email or "").casefold())
        if key
    }
