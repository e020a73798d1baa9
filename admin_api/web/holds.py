"""/audit/holds: places and lifts legal holds."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.identifiers import LegalHoldId
from admin_api.pages import see_other
from admin_api.retention.routes import get_holds, hold, lift
from admin_api.retention.schemas import HoldRequest, LiftRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, checked, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.kernel.errors import HeadgateError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/audit/holds"


@router.get(_PATH, response_class=Response)
async def holds(api: CurrentApi) -> Response:
    return await _page(api)


@router.post(_PATH, response_class=Response)
async def place(api: CurrentApi) -> Response:
    """Places a hold. It is in force when the response is sent."""
    form = await form_of(api.request)
    given = {"scope": form.text("scope"), "target": form.optional("target"), "reason": form.text("reason")}
    try:
        await api.call(hold, checked(HoldRequest, given), api.principal, api.dependencies)
    except HeadgateError as error:
        return await _page(api, error, form)
    return see_other(_PATH)


@router.post("/audit/holds/{hold_id}", response_class=Response)
async def end(api: CurrentApi, hold_id: LegalHoldId) -> Response:
    """Lifts a hold. It stays in the list, with both reasons."""
    form = await form_of(api.request)
    try:
        body = checked(LiftRequest, {"reason": form.text("reason")})
        await api.call(lift, hold_id, body, api.principal, api.dependencies)
    except HeadgateError as error:
        return await _page(api, error, form, hold_id)
    return see_other(_PATH)


async def _page(
    api: Api, error: HeadgateError | None = None, form: Form | None = None, hold_id: str | None = None
) -> Response:
    """``hold_id``: of the form that was refused; None: of the one that places a hold."""
    found = await api.call(get_holds, api.principal, api.dependencies, in_force=False)
    context = {
        "holds": sorted(found.data, key=lambda one: one.lifted_at is not None),
        "refused": hold_id,
        "typed": {name: "" if form is None else form.text(name) for name in ("scope", "target", "reason")},
    }
    return await shell_page(api, "holds.html", "/audit", context, error=error)
