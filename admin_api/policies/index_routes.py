"""/admin/policies/{id}/index: about which calls a policy is asked."""

from fastapi import APIRouter
from pydantic import Field

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import PolicyId
from admin_api.schema import BaseModel
from headgate.policies.conditions import UNKNOWN_CONDITIONS
from headgate.policies.formula_text import formula_text
from headgate.policies.known_conditions import known_conditions
from headgate.policies.model import Verdict
from headgate.policies.store import get_policy
from headgate.policies.surroundings import load_surroundings

router = APIRouter(route_class=GuardedRoute, tags=["policies"])


class IndexAnswer(BaseModel):
    """Conditions on tool, operation, host and method, derived from the policy's source. ``always``: no conditions."""

    policy_id: str
    version: int
    derived: bool = Field(description="false: the policy is not indexed and is evaluated for every call.")
    asked: str = Field(description="When the policy is evaluated: it might decide or fail.")
    says: dict[Verdict, str] = Field(description="When the policy might decide deny, require_approval or allow.")


@router.get("/admin/policies/{id}/index")
async def index(id: PolicyId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> IndexAnswer:  # noqa: A002 - the specification's name of the parameter
    """Gets the index data of a policy. Calls that do not match ``asked`` are decided without it."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        policy = await get_policy(connection, principal.org_id, id)
        around = await load_surroundings(connection, principal.org_id)
    conditions = known_conditions(policy, around.data, around.libraries)
    return IndexAnswer(
        policy_id=policy.policy_id,
        version=policy.version,
        derived=conditions is not UNKNOWN_CONDITIONS,
        asked=formula_text(conditions.concerns),
        says={verdict: formula_text(condition) for verdict, condition in conditions.speaks.items()},
    )
