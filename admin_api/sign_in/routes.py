"""/auth/login, /auth/callback, /auth/logout, and /auth/local where there is no provider. Pages for people."""

import hmac
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from admin_api.client_address import address_subject
from admin_api.dependencies import Dependencies, dependencies_of
from admin_api.description.parameters import FURTHER, in_path, in_query
from admin_api.guarded_route import GuardedRoute
from admin_api.metrics import LOGINS
from admin_api.own_form import require_own_form
from admin_api.pages import page, pages, see_other
from admin_api.passkeys.available import is_at_origin, passkeys_at
from admin_api.services.browser_login import BrowserLogin, FinishedLogin, Wanted
from admin_api.services.cookies import cookie_of
from admin_api.sign_in.answers import cookies_for, refused
from admin_api.sign_in.backchannel import end_sessions_of_provider
from admin_api.sign_in.desk import Arrival, browser_of, let_in, log_out, one_of_each
from admin_api.sign_in.organization import organization_of
from admin_api.sign_in.return_address import HOME, own_path
from admin_api.tokens import VerifiedToken
from headgate.kernel.errors import HeadgateError, UnauthorizedError
from headgate.kernel.ids import IdPrefix, parse_id
from headgate.kernel.secrets import Secret
from headgate.organizations.store import get_organization
from headgate.ratelimits.classes import RateClass
from headgate.ratelimits.headers import require_allowed
from headgate.sessions.model import hash_secret
from headgate.workflows.manage_members import find_open_invitation

router = APIRouter(route_class=GuardedRoute, tags=["sign-in"])

_FORM: Final = "application/x-www-form-urlencoded"
_LOGOUT_TOKEN: Final = {
    "type": "object",
    "required": ["logout_token"],
    "properties": {"logout_token": {"type": "string"}},
    "example": {"logout_token": "eyJ…"},
}
_PROVIDER_SAYS: Final = [
    in_query("code", "The authorization code (RFC 6749, section 4.1.2)."),
    in_query("state", "The state sent to the provider."),
    in_query("iss", "The issuer (RFC 9207)."),
    in_query("error", "The error code, if there is no code (RFC 6749, section 4.1.2.1)."),
    in_query("error_description", "The error description."),
    FURTHER,
]
_ANSWERS: Final = {
    **pages(200, 400, 401, 403, 404, 409, 503),
    303: {"description": "On: to the provider, or back to where the person came from"},
}


@router.get(
    "/auth/login",
    response_class=Response,
    responses=_ANSWERS,
    openapi_extra={
        "parameters": [
            in_query("return_to", "The path to return to after sign-in."),
            in_query("issuer", "The provider, if there are several."),
            in_query("invitation", "The secret of an invitation's link."),
            in_query("organization", "The organization, for a member of several."),
            in_query("signed_out", "The page states that the session has ended."),
        ]
    },
)
async def login(request: Request) -> Response:
    """Redirects to the identity provider. With several providers, shows the choice; without one, shows how
    to sign in."""
    dependencies = dependencies_of(request)
    return_to = own_path(request.query_params.get("return_to"))
    try:
        cookies = cookies_for(dependencies)
        browser_login = dependencies.browser_login
        if (invited := request.query_params.get("invitation")) is not None and (
            browser_login is None or not browser_login.providers
        ):
            return await _invitation_page(request, dependencies, Secret(invited))
        if browser_login is None or not browser_login.providers or "signed_out" in request.query_params:
            return _choice(request, dependencies, return_to, signed_out="signed_out" in request.query_params)
        issuer = request.query_params.get("issuer")
        if issuer is None and len(browser_login.providers) > 1:
            invitation = request.query_params.get("invitation")
            return _choice(request, dependencies, return_to, signed_out=False, invitation=invitation)
        begun = await browser_login.begin(issuer or next(iter(browser_login.providers)), return_to, _wanted(request))
    except HeadgateError as error:
        return refused(error)
    answer = see_other(begun.location)
    answer.headers.append(*cookies.set_login(begun.browser_secret))
    return answer


@router.get("/auth/callback", response_class=Response, responses=_ANSWERS, openapi_extra={"parameters": _PROVIDER_SAYS})
async def callback(request: Request) -> Response:
    """Receives the redirect of the identity provider, and creates a session or shows the error."""
    dependencies = dependencies_of(request)
    try:
        cookies = cookies_for(dependencies)
        if dependencies.browser_login is None:
            raise UnauthorizedError("Browser sign-in is not configured here.")
        finished = await dependencies.browser_login.finish(
            one_of_each(request),
            cookie_of(request.scope["headers"], cookies.login),
            request.path_params.get("provider"),
        )
        org_id = await organization_of(dependencies, finished)
        if isinstance(org_id, Mapping):
            return _organizations(finished, org_id)
        login = finished.login
        arrival = Arrival(login.in_organization(org_id), login.token, browser_of(request), login)
        answer = await let_in(request, dependencies, cookies, arrival, finished.return_to)
    except HeadgateError as error:
        return refused(error)
    LOGINS.labels("succeeded").inc()
    return answer


@router.get(
    "/auth/providers/{provider}/callback",
    response_class=Response,
    responses=_ANSWERS,
    openapi_extra={"parameters": [in_path("provider", maxLength=64), *_PROVIDER_SAYS]},
)
async def callback_of(request: Request) -> Response:
    """Receives the redirect of a provider with its own redirect address (`login.redirect_name`)."""
    return await callback(request)


@router.post("/auth/logout", response_class=Response, responses=_ANSWERS)
async def logout(request: Request) -> Response:
    """Ends the session of this browser. Also ends the session at its provider, if the provider supports it (OpenID
    Connect RP-Initiated Logout 1.0)."""
    dependencies = dependencies_of(request)
    try:
        require_own_form(request)
        return await log_out(request, dependencies, cookies_for(dependencies))
    except HeadgateError as error:
        return refused(error)


@router.get(
    "/auth/signed-out",
    response_class=Response,
    responses=_ANSWERS,
    openapi_extra={"parameters": [in_query("state", "The state sent to the provider."), FURTHER]},
)
async def signed_out(request: Request) -> Response:
    """Receives the redirect after the sign-out at the provider."""
    dependencies = dependencies_of(request)
    try:
        cookies = cookies_for(dependencies)
        state = cookie_of(request.scope["headers"], cookies.logout)
        given = one_of_each(request).get("state", "")
    except HeadgateError as error:
        return refused(error)
    # Anybody can send a browser here: only the one that signed out is told that it did.
    is_ours = state is not None and hmac.compare_digest(given.encode(), state.reveal().encode())
    answer = _choice(request, dependencies, HOME, signed_out=is_ours)
    answer.headers.append(*cookies.clear(cookies.logout))
    return answer


@router.post(
    "/auth/backchannel-logout",
    response_class=Response,
    responses={200: {"description": "The sessions have ended"}, 404: {"description": "No identity provider"}},
    openapi_extra={"requestBody": {"required": True, "content": {_FORM: {"schema": _LOGOUT_TOKEN}}}},
)
async def backchannel_logout(request: Request) -> Response:
    """Ends the sessions that belong to an ended session at the provider (OpenID Connect Back-Channel Logout 1.0). The
    logout token is the credential."""
    dependencies = dependencies_of(request)
    # One provider tells it of everybody who signs out there.
    verdict = await dependencies.rate_limiter.check(RateClass.WEBHOOKS, address_subject(request.scope))
    if verdict is not None:
        require_allowed(verdict)
    await end_sessions_of_provider(dependencies, await request.body())
    return Response(status_code=200)


@router.get(
    "/auth/local/{ticket}",
    response_class=Response,
    responses=_ANSWERS,
    openapi_extra={"parameters": [in_path("ticket", maxLength=512)]},
)
async def show_ticket(request: Request) -> Response:
    """Shows the person whom a link signs in, or that the link was used or has expired. GET does not use the link."""
    dependencies = dependencies_of(request)
    try:
        cookies_for(dependencies)
        return _ticket_page(await dependencies.local_tickets.look(_ticket(request)))
    except HeadgateError as error:
        return refused(error, is_link=True)


@router.post(
    "/auth/local/{ticket}",
    response_class=Response,
    responses=_ANSWERS,
    openapi_extra={"parameters": [in_path("ticket", maxLength=512)]},
)
async def use_ticket(request: Request) -> Response:
    """Creates a session from a sign-in link, once."""
    dependencies = dependencies_of(request)
    try:
        require_own_form(request)
        cookies = cookies_for(dependencies)
        ticket = _ticket(request)
        token = await dependencies.local_tickets.spend(ticket)
        answer = await let_in(request, dependencies, cookies, Arrival(token, ticket, browser_of(request)), HOME)
    except HeadgateError as error:
        return refused(error, is_link=True)
    LOGINS.labels("succeeded").inc()
    return answer


def _ticket(request: Request) -> Secret:
    return Secret(str(request.path_params["ticket"]))


def _wanted(request: Request) -> Wanted:
    invitation, organization = request.query_params.get("invitation"), request.query_params.get("organization")
    return Wanted(
        None if organization is None else parse_id(IdPrefix.ORGANIZATION, organization, "organization"),
        None if invitation is None else hash_secret(Secret(invitation)),
    )


def _organizations(finished: FinishedLogin, names: Mapping[str, str]) -> Response:
    """A person of several organizations says which; the provider knows them already."""
    issuer = finished.login.issuer.issuer
    ways = [
        {
            "name": name,
            "is_provider": False,
            "address": "/auth/login?"
            + urlencode({"issuer": issuer, "return_to": finished.return_to, "organization": org_id}),
        }
        for org_id, name in names.items()
    ]
    return page("sign_in.html", {"ways": ways, "signed_out": False, "passkeys": False, "return_to": finished.return_to})


def _choice(
    request: Request, dependencies: Dependencies, return_to: str, *, signed_out: bool, invitation: str | None = None
) -> Response:
    browser_login: BrowserLogin | None = dependencies.browser_login
    providers = [] if browser_login is None else list(browser_login.providers.values())
    ways = [
        {
            "name": one.name,
            "is_provider": True,
            "address": "/auth/login?"
            + urlencode(
                {"issuer": one.issuer, "return_to": return_to} | ({"invitation": invitation} if invitation else {})
            ),
        }
        for one in providers
    ]
    return page(
        "sign_in.html",
        {
            "ways": ways,
            "signed_out": signed_out,
            "passkeys": is_at_origin(dependencies, request),
            "return_to": return_to,
        },
    )


async def _invitation_page(request: Request, dependencies: Dependencies, secret: Secret) -> Response:
    """Raises ForbiddenError."""
    passkeys_at(dependencies, request)
    invitation = await find_open_invitation(dependencies.database, hash_secret(secret), dependencies.clock())
    async with dependencies.database.transaction(invitation.org_id) as connection:
        organization = await get_organization(connection, invitation.org_id)
    return page(
        "invitation.html",
        {
            "organization": organization.name,
            "email": invitation.email,
            "roles": sorted(role.value for role in invitation.roles),
            "secret": secret.reveal(),
        },
    )


def _ticket_page(token: VerifiedToken) -> Response:
    identity = token.identity
    return page(
        "local_sign_in.html",
        {
            "person": identity.email or identity.name or identity.subject,
            "roles": sorted(role.value for role in identity.roles),
        },
    )
