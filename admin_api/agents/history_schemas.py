"""Bodies about what agents did."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Literal

from pydantic import Field

from admin_api.actions.schemas import ActionAnswer, action_answer
from admin_api.audit.schemas import EventAnswer, event_answer
from admin_api.pagination import UncountedPagination
from admin_api.schema import BaseModel
from headgate.actions.agent_figures import AgentFigures
from headgate.actions.model import Action
from headgate.actions.timeline import Moment
from headgate.llm_usage.model import Counts
from headgate.llm_usage.prices import Prices
from headgate.llm_usage.store import UsedModel


class MomentAnswer(BaseModel):
    """One entry of the timeline. ``kind`` says whether ``action`` or ``event`` is set; the other is null."""

    at: datetime
    kind: Literal["action", "event"]
    summary: str
    action: ActionAnswer | None
    event: EventAnswer | None


class TimelineAnswer(BaseModel):
    data: list[MomentAnswer]
    pagination: UncountedPagination


class ToolUseAnswer(BaseModel):
    tool: str
    operation: str
    actions: int
    last_at: datetime


class FiguresAnswer(BaseModel):
    """Counts over the newest 10,000 actions of the period."""

    agent_id: str
    since: datetime
    actions: int
    actions_is_minimum: bool
    decisions: dict[str, int] = Field(description="allow, deny, require_approval")
    statuses: dict[str, int]
    holds: dict[str, int] = Field(description="Approval requests of the agent: pending, approved, denied, expired.")
    last_seen_at: datetime | None = Field(description="Time of its last action, or of the last use of one of its keys.")
    tools: list[ToolUseAnswer] = Field(description="The 50 most used tools, most used first.")


class UsedTokens(BaseModel):
    calls: int
    estimated_calls: int = Field(description="Calls whose answer did not say how many tokens they took.")
    tokens: int
    tokens_in: int
    tokens_cached: int = Field(description="Of tokens_in: those that the provider read from its cache.")
    tokens_cache_written: int = Field(description="Of tokens_in: those that the provider wrote to its cache.")
    tokens_out: int
    cost_usd: float | None = Field(description="Null where the price of a model is not known.")


class UsedModelAnswer(UsedTokens):
    day: date
    model: str = Field(description="The provider, a slash, and the name of the model.")


class ModelUsageAnswer(BaseModel):
    agent_id: str
    since: date
    today: UsedTokens
    models: list[UsedModelAnswer] = Field(description="Newest day first, and the models with the most tokens first.")


def model_usage_answer(
    agent_id: str, since: date, today: date, used: Sequence[UsedModel], prices: Prices
) -> ModelUsageAnswer:
    of_today = [(one.model, one.counts) for one in used if one.day == today]
    total = Counts()
    for _, counts in of_today:
        total.plus(counts)
    return ModelUsageAnswer(
        agent_id=agent_id,
        since=since,
        today=UsedTokens.model_validate({**total.shown(), "cost_usd": prices.cost_usd(of_today)}),
        models=[
            UsedModelAnswer.model_validate(
                {
                    **one.counts.shown(),
                    "cost_usd": prices.cost_usd([(one.model, one.counts)]),
                    "day": one.day,
                    "model": one.model,
                }
            )
            for one in used
        ],
    )


def moment_answer(moment: Moment) -> MomentAnswer:
    entry = moment.entry
    if isinstance(entry, Action):
        return MomentAnswer(
            at=moment.at,
            kind="action",
            summary=f"{entry.tool}.{entry.operation}: {entry.decision.decision}, now {entry.status}",
            action=action_answer(entry, "all"),
            event=None,
        )
    return MomentAnswer(at=moment.at, kind="event", summary=entry.event_type, action=None, event=event_answer(entry))


def figures_answer(
    agent_id: str, since: datetime, figures: AgentFigures, last_used_at: datetime | None
) -> FiguresAnswer:
    seen = [at for at in (figures.last_action_at, last_used_at) if at is not None]
    return FiguresAnswer(
        agent_id=agent_id,
        since=since,
        actions=figures.actions,
        actions_is_minimum=figures.is_minimum,
        decisions=dict(figures.decisions),
        statuses=dict(figures.statuses),
        holds=dict(figures.holds),
        last_seen_at=max(seen, default=None),
        tools=[
            ToolUseAnswer(tool=one.tool, operation=one.operation, actions=one.actions, last_at=one.last_at)
            for one in figures.tools
        ],
    )
