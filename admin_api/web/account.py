"""/account: shows the signed-in person, their sessions and their second factor."""

from collections.abc import Mapping

import segno
from fastapi import APIRouter
from markupsafe import Markup
from starlette.responses import Response

from admin_api.mfa import recovery_routes, totp_routes
from admin_api.mfa.person import person_of
from admin_api.mfa.schemas import RecoveryCodeBody, RecoveryCodeStatus, TotpCode, TotpStatus
from admin_api.pages import see_other
from admin_api.passkeys import routes as passkey_routes
from admin_api.passkeys.available import is_at_origin
from admin_api.passkeys.schemas import NewPasskeyBody
from admin_api.sessions.routes import end_others, end_own, other_organizations, own, who
from admin_api.web.api import Api, CurrentApi
from admin_api.web.browser_name import browser_name
from admin_api.web.form import Form, checked, form_of, no_such_button
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import ForbiddenError, HeadgateError
from headgate.mfa.model import Person

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/account", response_class=Response)
async def account(api: CurrentApi) -> Response:
    """Shows the page of the signed-in person."""
    return await _page(api)


@router.post("/account/sessions", response_class=Response)
async def end_sessions(api: CurrentApi) -> Response:
    """Ends one session, or all other sessions."""
    form = await form_of(api.request)
    try:
        session = form.text("session")
        if session == "others":
            await api.call(end_others, api.request, api.principal, api.dependencies)
        else:
            await api.call(end_own, session, api.request, api.principal, api.dependencies)
    except HeadgateError as error:
        return await _page(api, error=error)
    return see_other("/account")


@router.post("/account/second-factor", response_class=Response)
async def second_factor(api: CurrentApi) -> Response:
    """Set up, confirm, step up or remove an authenticator; make or use recovery codes. A secret is in one answer only,
    so that it is the answer of the form and no address shows it."""
    form = await form_of(api.request)
    action = form.text("action")
    try:
        shown = await _act(api, await person_of(api.request), action, form)
    except HeadgateError as error:
        context = {"place": "second-factor", "is_confirming": action == "activate"}
        return await _page(api, context, error=error)
    return see_other("/account") if shown is None else await _page(api, shown)


@router.post("/account/passkeys", response_class=Response)
async def passkeys(api: CurrentApi) -> Response:
    """Adds a passkey that the browser created, or removes one."""
    form = await form_of(api.request)
    try:
        person = await person_of(api.request)
        if (removed := form.optional("remove")) is not None:
            await api.call(passkey_routes.remove, removed, person, api.dependencies)
        else:
            made = parse_strict(form.text("response").encode()) if form.text("response") else None
            body = checked(NewPasskeyBody, {"name": form.text("name"), "response": made})
            await api.call(passkey_routes.add, body, person, api.dependencies)
    except HeadgateError as error:
        return await _page(api, {"place": "passkeys"}, error=error)
    return see_other("/account")


async def _act(api: Api, person: Person, action: str, form: Form) -> Mapping[str, object] | None:
    """Additional content of this response. Raises HeadgateError."""
    match action:
        case "enrol":
            begun = await api.call(totp_routes.enrol, person, api.dependencies)
            return {"enrolment": begun, "qr": qr_code(begun.otpauth_uri), "is_confirming": True}
        case "activate":
            await api.call(totp_routes.activate, _code(form), person, api.dependencies, api.request)
        case "step-up":
            await api.call(totp_routes.step_up, _code(form), person, api.dependencies, api.request)
        case "remove":
            await api.call(totp_routes.unenrol, person, api.dependencies)
        case "codes":
            return {"codes": (await api.call(recovery_routes.generate, person, api.dependencies)).codes}
        case "recover":
            body = checked(RecoveryCodeBody, {"code": form.text("code")})
            await api.call(recovery_routes.verify, body, person, api.dependencies)
        case other:
            raise no_such_button(other)
    return None


def qr_code(text: str) -> Markup:
    """An inline SVG, dark on light in both themes: scanners need the contrast."""
    made = segno.make(text, error="m", micro=False)
    return Markup(made.svg_inline(scale=4, border=4, dark="black", light="white"))  # noqa: S704 - modules only


def _code(form: Form) -> TotpCode:
    return checked(TotpCode, {"code": "".join(form.text("code").split())})


async def _page(api: Api, more: Mapping[str, object] | None = None, *, error: HeadgateError | None = None) -> Response:
    """``more``: what this answer shows besides; its ``place`` is the section whose form was refused."""
    person = await person_of(api.request)
    sessions = (await api.call(own, api.principal, api.dependencies)).data
    context: dict[str, object] = {
        "who": await api.call(who, api.principal),
        "issuer": person.issuer,
        "others": (await api.call(other_organizations, person, api.dependencies)).data,
        "sessions": [(one, browser_name(one.user_agent)) for one in sessions],
        "place": "sessions",
        "enrolment": None,
        "qr": None,
        "is_confirming": False,
        "codes": None,
        "may_decide": api.may(Scope.APPROVALS_WRITE),
    }
    context |= await _second_factor(api, person)
    return await shell_page(api, "account.html", "/account", context | dict(more or {}), error=error)


async def _second_factor(api: Api, person: Person) -> dict[str, object]:
    """``elsewhere``: why the factor is not managed here."""
    factor: TotpStatus | None = None
    left: RecoveryCodeStatus | None = None
    elsewhere = ""
    try:
        factor = await api.call(totp_routes.status, person, api.dependencies)
    except ForbiddenError as error:
        elsewhere = error.message
    if api.principal.aal == "aal2":
        left = await api.call(recovery_routes.status, person, api.dependencies)
    passkeys = api.dependencies.passkeys
    return {
        "factor": factor,
        "codes_left": left,
        "elsewhere": elsewhere,
        "has_passkeys": passkeys is not None and not elsewhere,
        "is_at_origin": is_at_origin(api.dependencies, api.request),
        "passkeys": [] if passkeys is None else (await api.call(passkey_routes.own, person, api.dependencies)).data,
    }
