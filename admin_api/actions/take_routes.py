"""POST /v1/actions/{id}/take: the agent is about to carry out its approved action."""

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request

from admin_api.actions.delegation import chain_above
from admin_api.actions.schemas import ACTION_REQUEST
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.errors import JSON
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ActionId
from admin_api.json_values import StoredObject
from admin_api.schema import BaseModel
from headgate.actions.request import draft_of, parse_submission
from headgate.kernel.errors import ForbiddenError

router = APIRouter(route_class=GuardedRoute, tags=["actions"])


class TakenAnswer(BaseModel):
    id: str
    execution_id: str
    approved_params: StoredObject | None = Field(
        description="What to carry out in place of the params that were submitted; null: a reviewer changed nothing."
    )


@router.post(
    "/v1/actions/{id}/take",
    openapi_extra={"requestBody": {"required": True, "content": {JSON: {"schema": ACTION_REQUEST}}}},
)
async def take(
    id: ActionId,  # noqa: A002 - the specification's name of the parameter
    request: Request,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> TakenAnswer:
    """Takes an approved action that its agent carries out itself. The body is that of POST /v1/actions, as it was
    submitted. Current policies decide again (403 if they deny), and the approval's one use is claimed: of several
    requests one succeeds. 409 if the approval is used, over, or no longer enough: submit the action again. Report the
    outcome afterwards; an action without an outcome has failed after a day."""
    if principal.key is None or principal.identity is None or principal.agent_id is None:
        raise ForbiddenError("Taking an action requires an agent key.")
    submit_action, identity = dependencies.submit_action, principal.identity
    body = await request.body()
    submission = await submit_action.read(identity, len(body), parse_submission, body)
    chain = await chain_above(dependencies, principal.org_id, submission)
    draft = await submit_action.read(identity, len(body), draft_of, submission, dependencies.catalogue, chain)
    taken = await dependencies.take_action.take(principal.key, identity, id, draft)
    return TakenAnswer(id=taken.action_id, execution_id=taken.execution_id, approved_params=taken.edited)
