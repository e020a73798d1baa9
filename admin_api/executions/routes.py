"""/v1/executions: what is queued, runs and has run; and what administrators do about it.

Intercepted calls are in the same list. An agent's key sees its own agent's executions only.
"""

from datetime import timedelta
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Depends, Query

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.executions.schemas import (
    DestinationsAnswer,
    ExecutionDetail,
    ExecutionItem,
    ProcessAllBody,
    ProcessAnswer,
    ProcessBody,
    RetryBody,
    StatisticsAnswer,
    destination_item,
    execution_detail,
    execution_item,
    statistics_answer,
)
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ActionId, AgentId, ExecutionId
from admin_api.pagination import (
    CamelPagination,
    CursorPagination,
    ListRequest,
    Page,
    cursor_page,
    list_request,
)
from headgate.actions.model import ExecutionStatus
from headgate.executions.limits import load_limits
from headgate.executions.list_store import ExecutionFilter, get_execution, list_executions
from headgate.executions.statistics_store import destination_states, statistics
from headgate.journal.apply import apply_before_reading, require_applied
from headgate.kernel.errors import NotFoundError
from headgate.kernel.ids import IdPrefix

router = APIRouter(route_class=GuardedRoute, tags=["executions"])

_DESTINATIONS_MAX: Final = 500
_DAY_SECONDS: Final = 86_400


@router.get("/v1/executions", response_model_exclude_unset=True)
async def list_all(
    request: Annotated[ListRequest, Depends(list_request(IdPrefix.EXECUTION))],
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    status: Annotated[ExecutionStatus | None, Query()] = None,
    agent_id: AgentId | None = None,
    action_id: ActionId | None = None,
    tool: Annotated[str | None, Query(max_length=64)] = None,
    operation: Annotated[str | None, Query(max_length=64)] = None,
    source: Annotated[Literal["proxy", "api"] | None, Query()] = None,
    retryable: Annotated[bool, Query(description="Only failed executions that can be retried (dead letters).")] = False,
) -> Page[ExecutionItem, CursorPagination] | Page[ExecutionItem, CamelPagination]:
    """Lists executions, newest first. With a filter by agent, tool, operation or source, ``total`` is exact up to 500
    only."""
    wanted = ExecutionFilter(
        agent_id=_visible_agent(principal.agent_id, agent_id),
        status=status,
        tool=tool,
        operation=operation,
        action_id=action_id,
        source=source,
        retryable=retryable,
    )
    await apply_before_reading(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_executions(
            connection,
            principal.org_id,
            wanted,
            limit=request.limit,
            offset=request.offset,
            cursor=request.cursor,
            exact_total=request.exact_total,
        )
    items = [execution_item(one) for one in found.executions]
    return cursor_page(request, items, found)


@router.get("/v1/executions/stats")
async def stats(
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    window_seconds: Annotated[int, Query(ge=1, le=_DAY_SECONDS)] = 3600,
) -> StatisticsAnswer:
    """Gets the state of the queue, and figures of the executions that ended within the window."""
    await apply_before_reading(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await statistics(
            connection, principal.org_id, window=timedelta(seconds=window_seconds), agent_id=principal.agent_id
        )
    return statistics_answer(found, window_seconds)


@router.get("/v1/executions/destinations")
async def destinations(principal: CurrentPrincipal, dependencies: CurrentDependencies) -> DestinationsAnswer:
    """Lists the circuit breaker of each destination, failing destinations first."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        limits = await load_limits(connection, principal.org_id)
        found = await destination_states(connection, principal.org_id, limit=_DESTINATIONS_MAX)
    now = dependencies.clock()
    return DestinationsAnswer(
        data=[destination_item(one, breaker_failures=limits.breaker_failures, now=now) for one in found]
    )


@router.get("/v1/executions/{id}")
async def get(
    id: ExecutionId,  # noqa: A002 - the specification's name of the parameter
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> ExecutionDetail:
    """Gets one execution, with its action."""
    await require_applied(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await get_execution(connection, principal.org_id, id, agent_id=principal.agent_id)
    return execution_detail(found)


@router.post("/v1/executions/process")
async def process(
    principal: CurrentPrincipal, dependencies: CurrentDependencies, body: ProcessBody | None = None
) -> ProcessAnswer:
    """Makes one queued execution due now. 400 if it is not queued, 409 for calls that agents execute themselves."""
    wanted = None if body is None else body.execution_id
    found = await dependencies.control_executions.process(principal.org_id, wanted, principal.actor)
    return ProcessAnswer(execution_id=found, processed=0 if found is None else 1)


@router.post("/v1/executions/process-all")
async def process_all(
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    body: ProcessAllBody | None = None,
) -> ProcessAnswer:
    """Makes all queued executions due now."""
    count = await dependencies.control_executions.process_all(principal.org_id, principal.actor)
    return ProcessAnswer(execution_id=None, processed=count)


@router.post("/v1/executions/retry")
async def retry(body: RetryBody, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> ExecutionDetail:
    """Queues a failed execution again. Policies decide it again before it runs. With ``reset_attempts`` it gets all
    attempts, otherwise one. 400 if it has not failed or is no longer stored, 409 for calls that agents execute
    themselves."""
    found = await dependencies.control_executions.retry(
        principal.org_id,
        body.execution_id,
        principal.actor,
        reset_attempts=body.reset_attempts,
    )
    return execution_detail(found)


def _visible_agent(own: str | None, wanted: str | None) -> str | None:
    """Whose executions are listed; None: everybody's."""
    if own is not None and wanted not in (None, own):
        raise NotFoundError(f"No agent {wanted}")
    return own or wanted
