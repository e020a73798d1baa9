"""/v1/mfa/totp: the second factor of people whose tokens Headgate issues."""

from datetime import datetime, timedelta
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request

from admin_api.dependencies import CurrentDependencies, Dependencies, principal_of
from admin_api.guarded_route import GuardedRoute
from admin_api.mfa.person import CurrentPerson, claims_of
from admin_api.mfa.schemas import SecondFactorToken, TotpCode, TotpEnrolment, TotpStatus, UnenrolledAnswer
from admin_api.request_state import request_state
from admin_api.tokens import stated_at
from headgate.kernel.errors import ForbiddenError, UnauthorizedError
from headgate.kernel.secrets import Secret
from headgate.mfa.model import Person
from headgate.organizations.local_issuer import LOCAL_ISSUER, LocalIssuer
from headgate.organizations.model import Role
from headgate.sessions.service import raise_session

router = APIRouter(route_class=GuardedRoute, tags=["mfa"])

_LONGEST: Final = timedelta(hours=12)
"""After which a second factor is asked for again (NIST SP 800-63B-4, section 2.2.3: at most 24 hours)."""


@router.get("/v1/mfa/totp")
async def status(person: CurrentPerson, dependencies: CurrentDependencies) -> TotpStatus:
    """Reports whether this person has a second factor."""
    factor = await dependencies.factors.local_totp.status(person)
    return TotpStatus(active=factor is not None, activated_at=None if factor is None else factor.activated_at)


@router.post("/v1/mfa/totp/enrol")
async def enrol(person: CurrentPerson, dependencies: CurrentDependencies) -> TotpEnrolment:
    """Starts the enrollment of an authenticator and shows its secret, once. To replace a factor, a session with it
    (aal2) is needed."""
    begun = await dependencies.factors.local_totp.enrol(person)
    return TotpEnrolment(secret=begun.secret.reveal(), otpauth_uri=begun.uri.reveal(), expires_at=begun.expires_at)


@router.post("/v1/mfa/totp/activate")
async def activate(
    body: TotpCode, person: CurrentPerson, dependencies: CurrentDependencies, request: Request
) -> SecondFactorToken:
    """Completes the enrollment with a first code. Other sessions are closed. The returned token, or this browser
    session, has aal2."""
    _require_exchangeable(person, dependencies)
    await dependencies.factors.local_totp.activate(person, body.code)
    return await _stepped_up(person, dependencies, request)


@router.post("/v1/mfa/totp/step-up")
async def step_up(
    body: TotpCode, person: CurrentPerson, dependencies: CurrentDependencies, request: Request
) -> SecondFactorToken:
    """Exchanges an aal1 token and a code for an aal2 token. It ends with the first token, or after 12 hours. A browser
    session gets aal2 and a new cookie."""
    _require_exchangeable(person, dependencies)
    await dependencies.factors.local_totp.check(person, body.code)
    return await _stepped_up(person, dependencies, request)


@router.delete("/v1/mfa/totp")
async def unenrol(person: CurrentPerson, dependencies: CurrentDependencies) -> UnenrolledAnswer:
    """Removes the TOTP factor and all recovery codes. Needs a session with the factor (aal2); other sessions are
    closed."""
    gone = await dependencies.factors.local_totp.unenrol(person)
    return UnenrolledAnswer(factors_removed=gone.factors, codes_purged=gone.codes)


def _require_exchangeable(person: Person, dependencies: Dependencies) -> None:
    """Before the code is spent. Raises ForbiddenError."""
    if dependencies.local_issuer is None:
        raise ForbiddenError("tokens of Headgate's own issuer are not accepted here")


async def _stepped_up(person: Person, dependencies: Dependencies, request: Request) -> SecondFactorToken:
    """Raises UnauthorizedError: the session has ended meanwhile."""
    now, issuer, cookies = dependencies.clock(), dependencies.local_issuer, dependencies.cookies
    if person.token is not None and issuer is not None:
        return _stronger_token(person, person.token, issuer, now)
    ends = principal_of(request).session_expires_at
    if person.browser_session_id is None or cookies is None or ends is None:
        raise UnauthorizedError("This session has ended. Sign in again at /auth/login.")
    async with dependencies.database.transaction(person.org_id) as connection:
        secret = await raise_session(connection, person.org_id, person.browser_session_id, aal="aal2", now=now)
    name, value = cookies.set_session(secret, int((ends - now).total_seconds()))
    state = request_state(request.scope)
    state.headers = [*state.headers, (name.encode(), value.encode())]
    return SecondFactorToken(token=None, expires_at=ends)


def _stronger_token(person: Person, presented: Secret, issuer: LocalIssuer, now: datetime) -> SecondFactorToken:
    """For the roles of the token that was presented, which may be fewer than the person's. It says them as of then: a
    newer token, which may have taken roles away, stays the newest."""
    claims = claims_of(presented.reveal())
    named, ends, name = claims.get("roles"), claims.get("exp"), claims.get("name")
    left = timedelta(seconds=float(ends) - now.timestamp()) if isinstance(ends, int | float) else timedelta()
    lifetime = min(left, _LONGEST)
    roles = [
        Role(one) for one in (named if isinstance(named, list) else []) if isinstance(one, str) and one in set(Role)
    ]
    token = issuer.mint(
        org_id=person.org_id,
        subject=person.subject,
        roles=roles,
        now=now,
        lifetime=lifetime,
        email=person.email,
        name=name if isinstance(name, str) else None,
        aal="aal2",
        stated_at=stated_at(claims, LOCAL_ISSUER),
    )
    return SecondFactorToken(token=token.reveal(), expires_at=now + lifetime)
