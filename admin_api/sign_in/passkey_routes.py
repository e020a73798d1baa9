"""/auth/passkey and /auth/invitation: signing in with a passkey, and joining with the first one. Without a provider."""

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from admin_api.dependencies import CurrentDependencies, dependencies_of
from admin_api.guarded_route import GuardedRoute
from admin_api.metrics import LOGINS
from admin_api.own_form import require_own_form
from admin_api.pages import pages
from admin_api.passkeys.available import passkeys_at, passkeys_of
from admin_api.passkeys.schemas import InvitedBody, PasskeyOptions
from admin_api.sign_in.answers import cookies_for, refused
from admin_api.sign_in.desk import browser_of, open_for
from admin_api.sign_in.return_address import own_path
from admin_api.web.form import form_of
from headgate.kernel.canonical_json import JsonValue, parse_strict
from headgate.kernel.errors import HeadgateError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.passkeys.service import PASSKEY_LEVEL
from headgate.sessions.model import hash_secret
from headgate.workflows.manage_members import accept_with_passkey, find_open_invitation

router = APIRouter(route_class=GuardedRoute, tags=["sign-in"])

_MOST_NAME_CHARACTERS: Final = 128
_ANSWERS: Final = {**pages(400, 401, 403, 409, 503), 303: {"description": "Signed in: on to the dashboard"}}
_FORM: Final = "application/x-www-form-urlencoded"


def _form_body(*names: str) -> dict[str, object]:
    schema = {
        "type": "object",
        "required": ["response"],
        "properties": {name: {"type": "string"} for name in ("response", *names)},
        "example": {"response": '{"id": "…"}'},
    }
    return {"requestBody": {"required": True, "content": {_FORM: {"schema": schema}}}}


@router.post("/auth/passkey/options")
async def sign_in_options(request: Request, dependencies: CurrentDependencies) -> PasskeyOptions:
    """Starts a sign-in with a passkey, at the dashboard's own address."""
    return PasskeyOptions(public_key=await passkeys_at(dependencies, request).options_to_sign_in())


@router.post("/auth/passkey", response_class=Response, responses=_ANSWERS, openapi_extra=_form_body("return_to"))
async def sign_in(request: Request) -> Response:
    """Creates a session from the response of an authenticator (`response`: `PublicKeyCredential.toJSON()`)."""
    dependencies = dependencies_of(request)
    try:
        require_own_form(request)
        cookies, form = cookies_for(dependencies), await form_of(request)
        browser = browser_of(request)
        user = await passkeys_of(dependencies).sign_in(_response(form.text("response")), browser)
        to = own_path(form.optional("return_to"))
        answer = await open_for(request, dependencies, cookies, user, aal=PASSKEY_LEVEL, browser=browser, to=to)
    except HeadgateError as error:
        return refused(error)
    LOGINS.labels("succeeded").inc()
    return answer


@router.post("/auth/invitation/options")
async def invitation_options(body: InvitedBody, dependencies: CurrentDependencies) -> PasskeyOptions:
    """Starts the acceptance of an invitation with a new passkey."""
    passkeys, secret = passkeys_of(dependencies), Secret(body.invitation)
    invitation = await find_open_invitation(dependencies.database, hash_secret(secret), dependencies.clock())
    return PasskeyOptions(public_key=await passkeys.options_to_register(_about(secret), invitation.email))


@router.post(
    "/auth/invitation", response_class=Response, responses=_ANSWERS, openapi_extra=_form_body("invitation", "name")
)
async def accept(request: Request) -> Response:
    """Accepts an invitation with a new passkey, once. The invitation link is the credential."""
    dependencies = dependencies_of(request)
    try:
        require_own_form(request)
        cookies, form, passkeys = cookies_for(dependencies), await form_of(request), passkeys_of(dependencies)
        secret, name = Secret(form.text("invitation")), form.optional("name")
        if name is not None and len(name) > _MOST_NAME_CHARACTERS:
            raise ValidationError(f"name: at most {_MOST_NAME_CHARACTERS} characters", details={"field": "name"})
        invitation = await find_open_invitation(dependencies.database, hash_secret(secret), dependencies.clock())
        made = await passkeys.check_registration(_about(secret), _response(form.text("response")))
        user = await accept_with_passkey(dependencies.database, invitation, passkeys, made, name, dependencies.clock)
        browser = browser_of(request)
        answer = await open_for(request, dependencies, cookies, user, aal=PASSKEY_LEVEL, browser=browser, to="/inbox")
    except HeadgateError as error:
        return refused(error)
    LOGINS.labels("succeeded").inc()
    return answer


def _about(secret: Secret) -> str:
    return hash_secret(secret).hex()


def _response(text: str) -> JsonValue:
    """Raises ValidationError."""
    if not text:
        raise ValidationError(
            "The browser sent no passkey. Allow JavaScript for this page and try again.",
            details={"field": "response", "reason": "empty"},
        )
    return parse_strict(text.encode())
