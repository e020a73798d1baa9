"""/v1/actions: propose an action, and see what became of it. An agent sees its own actions only."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from admin_api.actions.delegation import chain_above, shown_action
from admin_api.actions.filters import WantedStatus, WantedTag, wanted_status
from admin_api.actions.schemas import (
    ACTION_REQUEST,
    ActionAnswer,
    ActionDetailAnswer,
    CurrentExpansion,
    SubmittedAnswer,
    action_answer,
    duplicate_answer,
    submitted_answer,
)
from admin_api.actions.wait import MAX_WAIT_SECONDS, action_when_decided
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, dependencies_of, principal_of
from admin_api.errors import JSON
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ActionId, AgentId
from admin_api.metrics import DECISIONS
from admin_api.pagination import (
    CamelPagination,
    CursorPagination,
    ListRequest,
    Page,
    cursor_page,
    list_request,
)
from admin_api.principal import Principal
from admin_api.request_state import request_state
from headgate.actions.kept_bodies import with_kept_bodies
from headgate.actions.model import ActionStatus
from headgate.actions.request import draft_of, parse_submission
from headgate.actions.store import ActionFilter, get_action, list_actions
from headgate.gate.candidate import Submission
from headgate.gate.submit_action import DuplicateAction
from headgate.journal.apply import apply_before_reading, require_applied
from headgate.kernel.error_body import help_url_of
from headgate.kernel.errors import ForbiddenError, NotFoundError
from headgate.kernel.ids import IdPrefix
from headgate.policies.model import Verdict
from headgate.retention.model import BodyState

router = APIRouter(route_class=GuardedRoute, tags=["actions"])


@router.post(
    "/v1/actions",
    status_code=201,
    responses={
        201: {"model": SubmittedAnswer, "description": "Allowed or denied"},
        202: {"model": SubmittedAnswer, "description": "Waits for approval"},
        200: {
            "model": SubmittedAnswer,
            "description": "The idempotency_key was used before: the original action",
        },
    },
    openapi_extra={"requestBody": {"required": True, "content": {JSON: {"schema": ACTION_REQUEST}}}},
)
async def submit(request: Request) -> Response:
    """Submits an action and returns the decision, which is durable before the response is sent."""
    # A plain endpoint: the hot path, read by parse_submission rather than by FastAPI (admin_api.guarded_route).
    principal, dependencies = principal_of(request), dependencies_of(request)
    if principal.key is None or principal.identity is None or principal.agent_id is None:
        raise ForbiddenError("Submitting an action requires an agent key.")
    submit_action, identity = dependencies.submit_action, principal.identity
    body = await request.body()
    submission = await submit_action.read(identity, len(body), parse_submission, body)
    chain = await chain_above(dependencies, principal.org_id, submission)
    submitted = await submit_action.submit(
        principal.key,
        identity,
        await submit_action.read(identity, len(body), draft_of, submission, dependencies.catalogue, chain),
        Submission(
            submission.idempotency_key, submission.request_digest, submission.parent_action_id, principal.address
        ),
    )
    if isinstance(submitted, DuplicateAction):
        await require_applied(dependencies.database, principal.org_id)
        async with dependencies.database.transaction(principal.org_id) as connection:
            original = await get_action(connection, principal.org_id, submitted.action_id, agent_id=principal.agent_id)
        return _answer(duplicate_answer(original.action), 200)
    DECISIONS.labels(submitted.decision.verdict.value).inc()
    status = 202 if submitted.status is ActionStatus.PENDING_APPROVAL else 201
    public_url = None if submitted.decision.verdict is Verdict.ALLOW else request_state(request.scope).public_url
    help_url = help_url_of(public_url, submitted.action_id)
    return _answer(submitted_answer(submitted), status, help_url)


@router.get("/v1/actions", response_model_exclude_unset=True)
async def list_all(
    request: Annotated[ListRequest, Depends(list_request(IdPrefix.ACTION))],
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    status: WantedStatus | None = None,
    agent_id: AgentId | None = None,
    tag: WantedTag = None,
    expand: CurrentExpansion = None,
) -> Page[ActionAnswer, CursorPagination] | Page[ActionAnswer, CamelPagination]:
    """Lists actions, newest first. ``status``: succeeded is an alias of completed. An agent key sees only the actions
    of its own agent."""
    wanted = ActionFilter(
        agent_id=_visible_agent(principal, agent_id),
        status=wanted_status(status),
        tag=tag,
    )
    await apply_before_reading(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_actions(
            connection,
            principal.org_id,
            wanted,
            limit=request.limit,
            offset=request.offset,
            cursor=request.cursor,
            exact_total=request.exact_total,
        )
    actions = [action_answer(action, expand) for action in found.actions]
    return cursor_page(request, actions, found)


@router.get("/v1/actions/{id}", response_model_exclude_unset=True)
async def get(
    id: ActionId,  # noqa: A002 - the specification's name of the parameter
    request: Request,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    wait: Annotated[int, Query(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait for a decision")] = 0,
    expand: CurrentExpansion = None,
) -> ActionDetailAnswer:
    """Gets one action. With ``wait``, responds as soon as its approval is decided."""
    detail = await action_when_decided(
        request,
        dependencies.database,
        principal.org_id,
        id,
        agent_id=principal.agent_id,
        wait_seconds=wait,
    )
    if detail.action.body_state == BodyState.KEPT:
        async with dependencies.database.transaction(principal.org_id) as connection:
            detail = await with_kept_bodies(connection, principal.org_id, detail, dependencies.vault)
    return await shown_action(dependencies, principal, detail, expand)


def _answer(body: SubmittedAnswer, status: int, help_url: str | None = None) -> Response:
    """``help_url`` goes into a header, since the specification names the members of the body (RFC 8288, rel=help)."""
    headers = {"Location": f"/v1/actions/{body.id}"}
    if help_url is not None:
        headers["Link"] = f'<{help_url}>; rel="help"'
    return Response(body.model_dump_json(), status, headers, JSON)


def _visible_agent(principal: Principal, wanted: str | None) -> str | None:
    """Whose actions are listed; None: everybody's."""
    if principal.agent_id is not None and wanted not in (None, principal.agent_id):
        raise NotFoundError(f"No agent {wanted}")
    return principal.agent_id or wanted
