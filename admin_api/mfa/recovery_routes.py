"""/v1/mfa/recovery-codes (specification, "MFA recovery codes")."""

from fastapi import APIRouter

from admin_api.dependencies import CurrentDependencies
from admin_api.guarded_route import GuardedRoute
from admin_api.mfa.person import CurrentPerson
from admin_api.mfa.schemas import PurgedAnswer, RecoveryAnswer, RecoveryCodeBody, RecoveryCodeList, RecoveryCodeStatus
from headgate.mfa.codes import shown

router = APIRouter(route_class=GuardedRoute, tags=["mfa"])


@router.post("/v1/mfa/recovery-codes/generate")
async def generate(person: CurrentPerson, dependencies: CurrentDependencies) -> RecoveryCodeList:
    """Creates ten recovery codes and shows them, once. Earlier codes no longer work. Needs a session with a second
    factor (aal2)."""
    made = await dependencies.factors.recovery_codes.generate(person)
    codes = [shown(one) for one in made.codes]
    return RecoveryCodeList(codes=codes, count=len(codes), generated_at=made.generated_at)


@router.get("/v1/mfa/recovery-codes/status")
async def status(person: CurrentPerson, dependencies: CurrentDependencies) -> RecoveryCodeStatus:
    """Gets the number of unused recovery codes. Needs a session with a second factor (aal2)."""
    found = await dependencies.factors.recovery_codes.status(person)
    return RecoveryCodeStatus(unused=found.unused, total=found.total, generated_at=found.generated_at)


@router.post("/v1/mfa/recovery-codes/verify")
async def verify(body: RecoveryCodeBody, person: CurrentPerson, dependencies: CurrentDependencies) -> RecoveryAnswer:
    """Uses a recovery code, with a password alone (aal1). Removes the person's TOTP factors and closes their other
    sessions. Five wrong codes lock the person for 15 minutes, and longer the next time."""
    done = await dependencies.factors.recovery_codes.verify(person, body.code)
    return RecoveryAnswer(factors_removed=done.factors_removed, codes_voided=done.codes_voided)


@router.delete("/v1/mfa/recovery-codes")
async def purge(person: CurrentPerson, dependencies: CurrentDependencies) -> PurgedAnswer:
    """Deletes all recovery codes of the person. With a password alone (aal1) only if no TOTP factor is left."""
    return PurgedAnswer(purged=await dependencies.factors.recovery_codes.purge(person))
