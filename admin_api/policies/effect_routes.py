"""/admin/policies/effect: how many calls each policy decided in the last seven days."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import Field

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.schema import BaseModel
from headgate.actions.policy_effect import policy_effect
from headgate.journal.apply import apply_before_reading

router = APIRouter(route_class=GuardedRoute, tags=["policies"])


class PolicyEffectAnswer(BaseModel):
    """Calls that the policy decided."""

    policy_id: str | None = Field(description="Null: no policy decided these calls.")
    calls: int
    allowed: int
    held: int
    denied: int


class EffectAnswer(BaseModel):
    data: list[PolicyEffectAnswer] = Field(description="The policy with the most calls first.")
    since: datetime
    is_minimum: bool = Field(description="A day had more calls than Headgate counted.")


@router.get("/admin/policies/effect")
async def effect(principal: CurrentPrincipal, dependencies: CurrentDependencies) -> EffectAnswer:
    """Counts the calls of the last seven days by the policy that decided them. Each day counts its newest calls, 20,000
    in total: ``is_minimum`` shows whether there were more."""
    await apply_before_reading(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await policy_effect(connection, principal.org_id, until=dependencies.clock())
    by_calls = sorted(found.policies.items(), key=lambda one: (-one[1].calls, one[0]))
    return EffectAnswer(
        data=[
            PolicyEffectAnswer(
                policy_id=policy_id or None, calls=one.calls, allowed=one.allowed, held=one.held, denied=one.denied
            )
            for policy_id, one in by_calls
        ],
        since=found.since,
        is_minimum=found.is_minimum,
    )
