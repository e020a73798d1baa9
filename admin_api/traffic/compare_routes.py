"""/admin/traffic/diff and /timeline: two exchanges beside each other, and those of an agent one after another."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import AgentId, ExchangeId
from admin_api.instants import InstantText, range_of_time
from admin_api.pagination import DEFAULT_LIMIT, MAX_LIMIT
from admin_api.schema import BaseModel
from admin_api.traffic.asker import CurrentAsker
from admin_api.traffic.reading import opened
from admin_api.traffic.schemas import ExchangeAnswer, LossAnswer, exchange_answer, loss_answer
from headgate.agents.store import get_agent
from headgate.audit.model import EventType
from headgate.kernel.canonical_json import JsonObject
from headgate.traffic.store import TrafficFilter, count_losses, get_exchange, list_exchanges
from headgate.traffic.timeline import Step, timeline_of

router = APIRouter(route_class=GuardedRoute, tags=["traffic"])


class HeaderDifference(BaseModel):
    name: str
    left: list[str]
    right: list[str]


class MessageDifference(BaseModel):
    """Null, or empty: the same."""

    head: tuple[str | None, str | None] | None = Field(description="Request line or status. Null if there was none.")
    headers: list[HeaderDifference]
    body: str | None = Field(description="A unified diff. JSON is compared line by line, with sorted members.")


class ExchangeDifferenceAnswer(BaseModel):
    left: ExchangeAnswer
    right: ExchangeAnswer
    request: MessageDifference
    response: MessageDifference


class StepAnswer(BaseModel):
    """One of both: an exchange, or what was not captured until then."""

    at: datetime
    exchange: ExchangeAnswer | None
    not_captured: LossAnswer | None
    pause_seconds: float | None = Field(description="Time since the previous exchange ended.")


class TrafficTimelineAnswer(BaseModel):
    data: list[StepAnswer] = Field(description="Oldest first.")
    next_cursor: str | None = Field(description="Continues with earlier exchanges.")


@router.get("/admin/traffic/diff")
async def diff(
    left: ExchangeId,
    right: ExchangeId,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    asker: CurrentAsker,
) -> ExchangeDifferenceAnswer:
    """Compares two exchanges. The audit log records that both were read."""
    ids = [left, right]
    async with administer(principal, dependencies) as change:
        both = [opened(await get_exchange(change.connection, principal.org_id, one), dependencies) for one in ids]
        for one in both:
            data: JsonObject = {"exchange_id": one.kept.exchange_id, "action_id": one.kept.action_id}
            await change.record(EventType.TRAFFIC_READ, data)
    found: dict[str, Any] = await dependencies.review.difference(asker, both[0].document, both[1].document)
    return ExchangeDifferenceAnswer(left=exchange_answer(both[0].kept), right=exchange_answer(both[1].kept), **found)


@router.get("/admin/traffic/timeline")
async def timeline(
    agent_id: AgentId,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: ExchangeId | None = None,
    start_date: Annotated[InstantText | None, Query()] = None,
    end_date: Annotated[InstantText | None, Query()] = None,
) -> TrafficTimelineAnswer:
    """Lists an agent's exchanges in order, and marks missing ones. Does not read bodies."""
    start, end = range_of_time(start_date, end_date)
    wanted = TrafficFilter(agent_id=agent_id, start=start, end=end)
    async with dependencies.database.transaction(principal.org_id) as connection:
        await get_agent(connection, principal.org_id, agent_id)
        page = await list_exchanges(connection, principal.org_id, wanted, limit=limit, cursor=cursor)
        losses = await count_losses(connection, principal.org_id, start=start, end=end)
    return TrafficTimelineAnswer(
        data=[_step(one) for one in timeline_of(page.exchanges, losses)], next_cursor=page.next_cursor
    )


def _step(step: Step) -> StepAnswer:
    return StepAnswer(
        at=step.at,
        exchange=None if step.exchange is None else exchange_answer(step.exchange),
        not_captured=None if step.loss is None else loss_answer(step.loss),
        pause_seconds=step.pause_seconds,
    )
