"""/admin/policies/draft: a rule about one recorded action. It is answered, never stored."""

from typing import Any

from fastapi import APIRouter
from pydantic import ConfigDict, Field

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ActionId
from admin_api.schema import BaseModel
from headgate.actions.replay_store import recorded_action
from headgate.agents.scopes import Scope, require_scope
from headgate.journal.apply import apply_before_reading
from headgate.policies.draft_from_action import draft_from_action
from headgate.policies.model import Verdict

router = APIRouter(route_class=GuardedRoute, tags=["policies"])


class DraftBody(BaseModel):
    """POST /admin/policies/draft."""

    model_config = ConfigDict(extra="forbid")

    action_id: ActionId
    decision: Verdict = Field(default=Verdict.REQUIRE_APPROVAL, description="What the rule decides.")


class DraftAnswer(BaseModel):
    """``cases`` are in the form of POST /admin/policies/test."""

    name: str
    rego_policy: str
    cases: list[dict[str, Any]]


@router.post("/admin/policies/draft")
async def draft(body: DraftBody, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> DraftAnswer:
    """Drafts a policy for calls similar to a recorded one. Similar calls have the same tool, operation, method and
    host. Includes test cases. Nothing is stored. 409 if the request of the action was erased."""
    require_scope(principal.scopes, Scope.ACTIONS_READ)
    await apply_before_reading(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        action = await recorded_action(connection, principal.org_id, body.action_id)
    found = draft_from_action(action, body.decision)
    return DraftAnswer(
        name=found.name, rego_policy=found.rego_policy, cases=[one for one in found.cases if isinstance(one, dict)]
    )
