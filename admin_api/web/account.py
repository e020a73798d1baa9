"""/account: shows the signed-in person, their sessions and their second factor."""

from collections.abc import Mapping

import segno
from fastapi import APIRouter
from markupsafe import Markup
from starlette.responses import Response

from admin_api.mfa import recovery_routes, totp_routes
from admin_api.mfa.person import person_of
from admin_api.mfa.schemas import RecoveryCodeBody, RecoveryCodeStatus, TotpCode, TotpStatus
from admin_api.passkeys import routes as passkey_routes
from admin_api.passkeys.schemas import NewPasskeyBody
from admin_api.sessions.routes import end_others, end_own, own, who
from admin_api.web.api import Api, CurrentApi
from admin_api.web.browser_name import browser_name
from admin_api.web.form import Form, checked, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import ForbiddenError, HeadgateError, ValidationError
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
        return await _page(api, {"message": error.message}, status=error.http_status)
    return _back()


@router.post("/account/second-factor", response_class=Response)
async def second_factor(api: CurrentApi) -> Response:
    """Set up, confirm, step up or remove an authenticator; make or use recovery codes. A secret is in one answer only,
    so that it is the answer of the form and no address shows it."""
    form = await form_of(api.request)
    action = form.text("action")
    try:
        shown = await _act(api, await person_of(api.request), action, form)
    except HeadgateError as error:
        context: dict[str, object] = {"factor_message": error.message, "is_confirming": action == "activate"}
        return await _page(api, context, status=error.http_status)
    return _back() if shown is None else await _page(api, shown)


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
        return await _page(api, {"passkey_message": error.message}, status=error.http_status)
    return _back()


async def _act(api: Api, person: Person, action: str, form: Form) -> Mapping[str, object] | None:
    """Additional content of this response. Raises HeadgateError."""
    if action == "enrol":
        begun = await api.call(totp_routes.enrol, person, api.dependencies)
        return {"enrolment": begun, "qr": qr_code(begun.otpauth_uri), "is_confirming": True}
    if action == "activate":
        await api.call(totp_routes.activate, _code(form), person, api.dependencies, api.request)
    elif action == "step-up":
        await api.call(totp_routes.step_up, _code(form), person, api.dependencies, api.request)
    elif action == "remove":
        await api.call(totp_routes.unenrol, person, api.dependencies)
    elif action == "codes":
        return {"codes": (await api.call(recovery_routes.generate, person, api.dependencies)).codes}
    elif action == "recover":
        body = checked(RecoveryCodeBody, {"code": form.text("code")})
        await api.call(recovery_routes.verify, body, person, api.dependencies)
    else:
        raise ValidationError("action: choose one of the buttons", details={"field": "action"})
    return None


def qr_code(text: str) -> Markup:
    """An inline SVG, dark on light in both themes: scanners need the contrast."""
    made = segno.make(text, error="m", micro=False)
    return Markup(made.svg_inline(scale=4, border=4, dark="black", light="white"))  # noqa: S704 - modules only


def _code(form: Form) -> TotpCode:
    return checked(TotpCode, {"code": "".join(form.text("code").split())})


async def _page(api: Api, more: Mapping[str, object] | None = None, *, status: int = 200) -> Response:
    person = await person_of(api.request)
    sessions = (await api.call(own, api.principal, api.dependencies)).data
    context: dict[str, object] = {
        "who": await api.call(who, api.principal),
        "issuer": person.issuer,
        "sessions": [(one, browser_name(one.user_agent)) for one in sessions],
        "message": None,
        "factor_message": None,
        "enrolment": None,
        "qr": None,
        "is_confirming": False,
        "codes": None,
        "passkey_message": None,
        "may_decide": api.may(Scope.APPROVALS_WRITE),
    }
    context |= await _second_factor(api, person)
    return await shell_page(api, "account.html", "/account", context | dict(more or {}), status=status)


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
        "passkey_origin": None if passkeys is None or elsewhere else passkeys.party.origin,
        "passkeys": [] if passkeys is None else (await api.call(passkey_routes.own, person, api.dependencies)).data,
    }


def _back() -> Response:
    return Response(status_code=303, headers={"Location": "/account"})
