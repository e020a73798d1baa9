"""/v1/mfa/totp: the second factor of people whose tokens Headgate issues."""

from datetime import datetime, timedelta
from typing import Final

from fastapi import APIRouter

from admin_api.dependencies import CurrentDependencies, Dependencies
from admin_api.guarded_route import GuardedRoute
from admin_api.mfa.person import CurrentPerson, claims_of
from admin_api.mfa.schemas import SecondFactorToken, TotpCode, TotpEnrolment, TotpStatus, UnenrolledAnswer
from headgate.kernel.errors import ForbiddenError
from headgate.kernel.secrets import Secret
from headgate.mfa.model import Person
from headgate.organizations.local_issuer import LocalIssuer
from headgate.organizations.model import Role

router = APIRouter(route_class=GuardedRoute, tags=["mfa"])

_LONGEST: Final = timedelta(hours=12)
"""After which a second factor is asked for again (NIST SP 800-63B-4, section 2.2.3: at most 24 hours)."""


@router.get("/v1/mfa/totp")
async def status(person: CurrentPerson, dependencies: CurrentDependencies) -> TotpStatus:
    """Whether this person has a second factor."""
    factor = await dependencies.factors.local_totp.status(person)
    return TotpStatus(active=factor is not None, activated_at=None if factor is None else factor.activated_at)


@router.post("/v1/mfa/totp/enrol")
async def enrol(person: CurrentPerson, dependencies: CurrentDependencies) -> TotpEnrolment:
    """Begin: a secret for an authenticator, shown once. To replace a factor, a session with it (aal2) is needed."""
    begun = await dependencies.factors.local_totp.enrol(person)
    return TotpEnrolment(secret=begun.secret.reveal(), otpauth_uri=begun.uri.reveal(), expires_at=begun.expires_at)


@router.post("/v1/mfa/totp/activate")
async def activate(body: TotpCode, person: CurrentPerson, dependencies: CurrentDependencies) -> SecondFactorToken:
    """Finish with a first code. Other sessions are closed; the token that comes back says aal2."""
    token, issuer = _exchangeable(person, dependencies)
    await dependencies.factors.local_totp.activate(person, body.code)
    return _stepped_up(person, token, issuer, dependencies.clock())


@router.post("/v1/mfa/totp/step-up")
async def step_up(body: TotpCode, person: CurrentPerson, dependencies: CurrentDependencies) -> SecondFactorToken:
    """A token that says aal2, for one that says aal1 and a code. It ends when the other one does, or in 12 hours."""
    token, issuer = _exchangeable(person, dependencies)
    await dependencies.factors.local_totp.check(person, body.code)
    return _stepped_up(person, token, issuer, dependencies.clock())


@router.delete("/v1/mfa/totp")
async def unenrol(person: CurrentPerson, dependencies: CurrentDependencies) -> UnenrolledAnswer:
    """The factor goes, and with it all recovery codes. Needs a session with it (aal2); others are closed."""
    gone = await dependencies.factors.local_totp.unenrol(person)
    return UnenrolledAnswer(factors_removed=gone.factors, codes_purged=gone.codes)


def _exchangeable(person: Person, dependencies: Dependencies) -> tuple[Secret, LocalIssuer]:
    """Before the code is spent. Raises ForbiddenError."""
    if dependencies.local_issuer is None:
        raise ForbiddenError("tokens of Headgate's own issuer are not accepted here")
    if person.token is None:
        raise ForbiddenError("this exchanges a token for a stronger one: a browser's session is opened anew with one")
    return person.token, dependencies.local_issuer


def _stepped_up(person: Person, presented: Secret, issuer: LocalIssuer, now: datetime) -> SecondFactorToken:
    """For the roles of the token that was presented, which may be fewer than the person's."""
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
    )
    return SecondFactorToken(token=token.reveal(), expires_at=now + lifetime)
