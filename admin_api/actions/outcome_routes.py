"""What an agent says of its own action: how it ended where the agent carried it out, and that it is taken back."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import ConfigDict, Field

from admin_api.actions.delegation import shown_action
from admin_api.actions.schemas import ActionDetailAnswer, CurrentExpansion, Expansion
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, Dependencies
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ActionId
from admin_api.principal import Principal
from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.actions.store import get_action
from headgate.audit.model import Actor
from headgate.executions.control import agent_actor
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import ForbiddenError

router = APIRouter(route_class=GuardedRoute, tags=["actions"])


class OutcomeBody(BaseModel):
    """``result``: the tool's response. Up to 64 KiB it is stored with secrets masked, beyond that as its digest."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["succeeded", "failed"]
    result: JsonValue = None
    error: Annotated[StorableText, Field(max_length=2000)] | None = None


class CancelBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: Annotated[StorableText, Field(max_length=500)] | None = None


@router.post("/v1/actions/{id}/outcome", response_model_exclude_unset=True)
async def report(
    id: ActionId,  # noqa: A002 - the specification's name of the parameter
    body: OutcomeBody,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    expand: CurrentExpansion = None,
) -> ActionDetailAnswer:
    """Reports the outcome of an action that its agent executed itself; once. 409 if Headgate executes the action, or if
    it may no longer be executed."""
    await dependencies.control_executions.report(
        principal.org_id,
        id,
        _agent(principal),
        succeeded=body.status == "succeeded",
        result=body.result,
        error=body.error,
    )
    return await _detail(dependencies, principal, id, expand)


@router.post("/v1/actions/{id}/cancel", response_model_exclude_unset=True)
async def cancel(
    id: ActionId,  # noqa: A002 - the specification's name of the parameter
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    body: CancelBody | None = None,
    expand: CurrentExpansion = None,
) -> ActionDetailAnswer:
    """Cancels an action that waits for its approval or in the queue. 409 if it has started or ended."""
    reason = None if body is None else body.reason
    await dependencies.control_executions.cancel(principal.org_id, id, _agent(principal), reason)
    return await _detail(dependencies, principal, id, expand)


def _agent(principal: Principal) -> Actor:
    if principal.agent_id is None:
        raise ForbiddenError("This route requires the key of the agent that owns the action.")
    return agent_actor(principal.agent_id, None if principal.identity is None else principal.identity.agent_name)


async def _detail(
    dependencies: Dependencies, principal: Principal, action_id: str, expand: Expansion
) -> ActionDetailAnswer:
    async with dependencies.database.transaction(principal.org_id) as connection:
        detail = await get_action(connection, principal.org_id, action_id, agent_id=principal.agent_id)
    return await shown_action(dependencies, principal, detail, expand)
