"""GET /admin/actions/values: what a filter of calls can be completed with."""

from fastapi import APIRouter
from msgspec.structs import asdict
from pydantic import Field

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.schema import BaseModel
from headgate.actions.filter_values import filter_values
from headgate.journal.apply import apply_before_reading

router = APIRouter(route_class=GuardedRoute, tags=["actions"])


class ActionValuesAnswer(BaseModel):
    """At most 300 of each."""

    agents: list[str] = Field(description="Names of the newest agents, and of all agents with recent actions.")
    tools: list[str] = Field(description="Tools of all recorded actions.")
    operations: list[str] = Field(description="Operations of the newest actions of the last seven days.")
    hosts: list[str] = Field(description="Hosts of intercepted calls among the newest actions of the last seven days.")


@router.get("/admin/actions/values")
async def values(principal: CurrentPrincipal, dependencies: CurrentDependencies) -> ActionValuesAnswer:
    """Lists values that complete a filter of actions."""
    await apply_before_reading(dependencies.database, principal.org_id)
    found = await filter_values(dependencies.database, principal.org_id, until=dependencies.clock())
    return ActionValuesAnswer.model_validate(asdict(found))
