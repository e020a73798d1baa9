"""/admin/policies/check: what saving a policy would say, without saving it."""

from fastapi import APIRouter

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.policies.saving import checked_draft
from admin_api.policies.schemas import CheckAnswer, PolicyToCheck
from headgate.policies.service import foresee_warnings

router = APIRouter(route_class=GuardedRoute, tags=["policies"])


@router.post("/admin/policies/check")
async def check(body: PolicyToCheck, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> CheckAnswer:
    """Compiles and checks a policy, and compares it with the existing policies. Invalid Rego: 400 with the position."""
    checked = await checked_draft(dependencies, principal.org_id, body.draft())
    async with dependencies.database.transaction(principal.org_id) as connection:
        warnings = await foresee_warnings(
            connection, principal.org_id, checked, body.policy_id, clock=dependencies.clock
        )
    return CheckAnswer(warnings=list(warnings))
