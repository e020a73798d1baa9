"""/admin/canaries: values that no call may hold."""

from typing import Final

from fastapi import APIRouter

from admin_api.canaries.schemas import CanariesAnswer, CanaryAnswer, CreatedCanaryAnswer, NewCanary, canary_answer
from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import CanaryId
from headgate.canaries.service import create_canary, revoke_canary
from headgate.canaries.store import list_canaries
from headgate.kernel.secrets import Secret

router = APIRouter(route_class=GuardedRoute, tags=["canaries"])

_LISTED_MAX: Final = 2_000


@router.get("/admin/canaries")
async def list_all(principal: CurrentPrincipal, dependencies: CurrentDependencies) -> CanariesAnswer:
    """Lists the newest 2,000 canary tokens, newest first, including revoked ones. No response shows their values."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_canaries(connection, principal.org_id, _LISTED_MAX)
    return CanariesAnswer(data=[canary_answer(one) for one in found])


@router.post("/admin/canaries", status_code=201)
async def create(
    body: NewCanary, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> CreatedCanaryAnswer:
    """Creates a canary token. From the next decision on, each call that holds its value is denied. Only this response
    shows the value."""
    given = None if body.value is None else Secret(body.value)
    async with administer(principal, dependencies) as change:
        canary, value = await create_canary(change, dependencies.vault, body.name, given)
    return CreatedCanaryAnswer(**canary_answer(canary).model_dump(), value=value.reveal())


@router.delete("/admin/canaries/{id}")
async def revoke(id: CanaryId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> CanaryAnswer:  # noqa: A002 - as in the specification's routes
    """Revokes a canary token. Calls may hold its value again."""
    async with administer(principal, dependencies) as change:
        return canary_answer(await revoke_canary(change, id))
