"""What signing in needs, at this API's address; and the last step of every way in: a session for a known person."""

from collections.abc import Mapping

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from admin_api.client_address import address_subject
from admin_api.dependencies import Dependencies
from admin_api.pages import page, see_other
from admin_api.services.cookies import Cookies, cookie_of
from admin_api.sign_in.provider_logout import begin_provider_logout
from admin_api.tokens import VerifiedLogin, VerifiedToken
from headgate.db.database import Connection
from headgate.kernel.errors import ForbiddenError, UnauthorizedError
from headgate.kernel.secrets import Secret
from headgate.organizations.model import User
from headgate.organizations.service import sign_in, user_actor
from headgate.sessions.logout_hint import open_hint, seal_hint
from headgate.sessions.model import Browser, SignedIn
from headgate.sessions.provider_store import keep_provider_session, sealed_hint_of
from headgate.sessions.service import EndReason, close_sessions, open_session, record_failed_login, signed_in

_MOST_AGENT_CHARACTERS = 256


class Arrival(Struct, frozen=True):
    """A person who has proved who they are, and the browser in which they did. ``login``: where a provider said it."""

    token: VerifiedToken
    presented: Secret
    browser: Browser
    login: VerifiedLogin | None = None


class _Shown(Struct, frozen=True):
    """The session that a browser shows, and what its cookie holds."""

    who: SignedIn
    secret: Secret


def browser_of(request: Request) -> Browser:
    agent = request.headers.get("user-agent")
    if agent is not None:
        agent = "".join(one for one in agent if one.isprintable())[:_MOST_AGENT_CHARACTERS] or None
    return Browser(address_subject(request.scope), agent)


async def let_in(request: Request, dependencies: Dependencies, cookies: Cookies, arrival: Arrival, to: str) -> Response:
    """303 with a new session; the one that this browser showed before ends.

    Raises ForbiddenError, UnauthorizedError (it was issued before the person was signed out everywhere).
    """
    token, browser, now = arrival.token, arrival.browser, dependencies.clock()
    try:
        user = await sign_in(dependencies.database, token.identity, clock=dependencies.clock, stated_at=token.stated_at)
        # A ticket from before the person was signed out everywhere opens nothing, as a token of then does.
        await dependencies.authenticator.closed_sessions.require_open(
            user.org_id, user.user_id, token.issued_at, arrival.presented
        )
    except (ForbiddenError, UnauthorizedError) as error:
        await record_failed_login(
            dependencies.database,
            token.identity.org_id,
            issuer=token.identity.issuer,
            subject=token.identity.subject,
            why=error.message,
            browser=browser,
            at=now,
        )
        raise
    return await open_for(
        request, dependencies, cookies, user, aal=token.aal, browser=browser, to=to, login=arrival.login
    )


async def open_for(
    request: Request,
    dependencies: Dependencies,
    cookies: Cookies,
    user: User,
    *,
    aal: str | None,
    browser: Browser,
    to: str,
    login: VerifiedLogin | None = None,
) -> Response:
    """303 with a new session of a person who has proved who they are; the one that this browser showed before ends."""
    now = dependencies.clock()
    if (replaced := await _shown(request, dependencies, cookies)) is not None:
        async with dependencies.database.transaction(replaced.who.user.org_id) as connection:
            await _end(connection, request, dependencies, replaced.who, EndReason.REPLACED)
    limits = dependencies.session_limits
    async with dependencies.database.transaction(user.org_id) as connection:
        opened = await open_session(connection, user, aal=aal, browser=browser, now=now, limits=limits)
        if login is not None:
            session_id = opened.session.session_id
            hint = seal_hint(login.token, opened.secret, session_id)
            sid = login.provider_sid
            await keep_provider_session(connection, user.org_id, session_id, hint=hint, sid=sid)
    answer = see_other(to)
    answer.headers.append(*cookies.set_session(opened.secret, int(limits.lifetime.total_seconds())))
    answer.headers.append(*cookies.clear(cookies.login))
    return answer


async def log_out(request: Request, dependencies: Dependencies, cookies: Cookies) -> Response:
    """On to the provider where it offers that, else 303 to the sign-in page; the session is over whether or not the
    browser forgets its cookie.

    To the provider by a page and not by 303: browsers that apply ``form-action`` to redirects would stop there.
    """
    login, further = dependencies.browser_login, None
    if (shown := await _shown(request, dependencies, cookies)) is not None:
        user, session_id = shown.who.user, shown.who.session_id
        async with dependencies.database.transaction(user.org_id) as connection:
            sealed = await sealed_hint_of(connection, user.org_id, session_id)
            await _end(connection, request, dependencies, shown.who, EndReason.LOGOUT)
        if login is not None:
            hint = None if sealed is None else open_hint(sealed, shown.secret, session_id)
            further = await begin_provider_logout(login, user.issuer, hint)
    if further is None:
        answer = see_other("/auth/login?signed_out=1")
    else:
        answer = page("signed_out_here.html", {"location": further.location, "provider": further.provider})
        answer.headers.append(*cookies.set_logout(further.state))
    answer.headers.append(*cookies.clear(cookies.session))
    return answer


async def _shown(request: Request, dependencies: Dependencies, cookies: Cookies) -> _Shown | None:
    """None: it shows no session, or one that is over already, which is no error."""
    try:
        secret = cookie_of(request.scope["headers"], cookies.session)
        if secret is None:
            return None
        limits = dependencies.session_limits
        return _Shown(await signed_in(dependencies.database, secret, clock=dependencies.clock, limits=limits), secret)
    except UnauthorizedError:
        return None


async def _end(
    connection: Connection, request: Request, dependencies: Dependencies, who: SignedIn, reason: EndReason
) -> None:
    await close_sessions(
        connection,
        user_actor(who.user),
        who.user.org_id,
        who.user.user_id,
        at=dependencies.clock(),
        reason=reason,
        address=address_subject(request.scope),
        only=who.session_id,
    )


def one_of_each(request: Request) -> Mapping[str, str]:
    """The query, each name once: of two values, two readers would take different ones. Raises UnauthorizedError."""
    pairs = request.query_params.multi_items()
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UnauthorizedError("a parameter of this response is repeated")
    return found
