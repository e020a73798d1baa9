"""GET /v1/actions/{id}/explanation: why a call was denied, for people who read calls, and for the owner of its agent.

The owner reads the decision and the request line of their own agent's call, and nothing else (decision 0086): no
params, results, policies, votes or names of other people.
"""

from datetime import datetime
from typing import Any

from fastapi import APIRouter
from pydantic import Field

from admin_api.actions.found_canaries import FoundCanaryAnswer, found_canaries
from admin_api.actions.schemas import DecisionAnswer, decision_answer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, Dependencies
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ActionId
from admin_api.principal import Principal
from admin_api.schema import BaseModel
from headgate.actions.model import ActionDetail
from headgate.actions.store import get_action
from headgate.agents.model import Agent
from headgate.agents.ownership import is_owner
from headgate.agents.scopes import Scope, require_scope
from headgate.agents.store import find_agent
from headgate.journal.apply import apply_before_reading
from headgate.kernel.errors import ForbiddenError, NotFoundError

router = APIRouter(route_class=GuardedRoute, tags=["actions"])


class ExplanationAnswer(BaseModel):
    """Why a call was allowed, held or denied."""

    id: str
    status: str
    tool: str
    operation: str
    agent_id: str
    agent_name: str | None
    method: str | None = Field(description="Null: the agent carries the action out itself.")
    host: str | None
    path: str | None = Field(description="Without the query. Secrets are masked.")
    decision: DecisionAnswer
    canaries: list[FoundCanaryAnswer] = Field(
        description="The canary tokens that the call held, which denied it. Empty for an agent's key."
    )
    approval_status: str | None
    comment: str | None = Field(description="The reviewer's reason for a denial, which the agent sees too.")
    error: str | None = Field(description="Why the execution failed.")
    created_at: datetime


@router.get("/v1/actions/{id}/explanation")
async def explain(
    id: ActionId,  # noqa: A002 - as the other routes of an action name it
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> ExplanationAnswer:
    """Explains the decision about a call. Needs `actions:read`, or the person is the `owner` of the agent."""
    detail, agent = await _readable(principal, dependencies, id)
    action, approval = detail.action, detail.approval
    http: dict[str, Any] = action.request.http or {}
    return ExplanationAnswer(
        id=action.action_id,
        status=action.status,
        tool=action.tool,
        operation=action.operation,
        agent_id=action.agent_id,
        agent_name=None if agent is None else agent.name,
        method=http.get("method"),
        host=http.get("host"),
        path=http.get("path"),
        decision=decision_answer(action.decision),
        canaries=found_canaries(action.decision) if principal.agent_id is None else [],
        approval_status=None if approval is None else approval.status,
        comment=approval.comment if approval is not None and approval.status == "denied" else None,
        error=None if action.execution is None else action.execution.error,
        created_at=action.created_at,
    )


async def _readable(
    principal: Principal, dependencies: Dependencies, action_id: str
) -> tuple[ActionDetail, Agent | None]:
    """Raises NotFoundError. Raises ForbiddenError in the same words for what is not there and for what is another's:
    otherwise everybody could ask which ids exist."""
    org_id = principal.org_id
    await apply_before_reading(dependencies.database, org_id)
    try:
        async with dependencies.database.transaction(org_id) as connection:
            detail = await get_action(connection, org_id, action_id, agent_id=principal.agent_id)
            agent = await find_agent(connection, org_id, detail.action.agent_id)
    except NotFoundError:
        require_scope(principal.scopes, Scope.ACTIONS_READ)
        raise
    try:
        require_scope(principal.scopes, Scope.ACTIONS_READ)
    except ForbiddenError:
        # A key may do what its scopes say, whoever created it.
        is_person = principal.key is None
        if agent is None or not (is_person and is_owner(agent, user_id=principal.user_id, email=principal.email)):
            raise
    return detail, agent
