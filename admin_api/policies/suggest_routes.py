"""/admin/policies/suggest: a policy made from recorded traffic. It is answered, never stored."""

from datetime import timedelta
from typing import Any, Final

from fastapi import APIRouter
from pydantic import ConfigDict, Field

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import AgentId
from admin_api.instants import InstantText, range_of_time
from admin_api.json_values import WholeNumber
from admin_api.schema import BaseModel
from headgate.actions.replay_store import ReplayRange
from headgate.agents.scopes import Scope, require_scope
from headgate.policies.model import NAME_MAX_CHARACTERS
from headgate.policies.suggest import Precision
from headgate.policies.suggest_from_actions import suggest_policy

router = APIRouter(route_class=GuardedRoute, tags=["policies"])

_DEFAULT_RANGE: Final = timedelta(days=7)


class SuggestBody(BaseModel):
    """POST /admin/policies/suggest."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(default="Suggested", min_length=1, max_length=NAME_MAX_CHARACTERS)
    agent_id: AgentId | None = Field(default=None, description="Default: each agent separately.")
    start_date: InstantText | None = Field(default=None, description="Default: a week before the end.")
    end_date: InstantText | None = Field(default=None, description="Default: now.")
    precision: Precision = Field(
        default=Precision.EXACT,
        description="exact: the recorded calls only. fields: the recorded values of each param, and numbers between.",
    )
    minimum: WholeNumber = Field(default=1, ge=1, le=10_000, description="Omit calls that were recorded fewer times.")
    limit: WholeNumber = Field(default=20_000, ge=1, le=100_000, description="Maximum number of actions, oldest first.")


class SuggestionAnswer(BaseModel):
    """``leaves_out``: executed calls that it does not allow. ``leaves_open``: calls that it allows beyond the recorded
    ones (empty with precision exact)."""

    rego_policy: str
    cases: list[dict[str, Any]]
    seen: int = Field(description="Executed actions.")
    covered: int = Field(description="Executed actions that the suggestion allows.")
    leaves_out: list[str]
    leaves_open: list[str]


@router.post("/admin/policies/suggest")
async def suggest(
    body: SuggestBody, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> SuggestionAnswer:
    """Suggests a policy that allows the recorded calls of a period. Covers calls that policies or reviewers allowed,
    has test cases, and lists what it omits. Nothing is stored."""
    require_scope(principal.scopes, Scope.ACTIONS_READ)
    start, end = range_of_time(body.start_date, body.end_date)
    end = end or dependencies.clock()
    found = await suggest_policy(
        dependencies.database,
        principal.org_id,
        ReplayRange(start or end - _DEFAULT_RANGE, end, body.agent_id),
        name=body.name,
        precision=body.precision,
        seldom=body.minimum,
        most=body.limit,
    )
    return SuggestionAnswer(
        rego_policy=found.rego_policy,
        cases=[one for one in found.cases if isinstance(one, dict)],
        seen=found.seen,
        covered=found.covered,
        leaves_out=found.leaves_out,
        leaves_open=found.leaves_open,
    )
