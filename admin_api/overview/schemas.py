"""Bodies of /admin/overview."""

from collections.abc import Mapping
from datetime import datetime

from msgspec.structs import asdict
from pydantic import Field

from admin_api.schema import BaseModel
from headgate.actions.overview import Counts, Overview


class CountsAnswer(BaseModel):
    """By decision. ``failed``: the allowed and held calls that a search for ``status=failed`` finds."""

    calls: int
    allowed: int
    held: int
    denied: int
    failed: int


class OverviewStepAnswer(CountsAnswer):
    at: datetime
    is_minimum: bool


class AgentCountsAnswer(CountsAnswer):
    agent_id: str
    name: str | None


class ToolCountsAnswer(CountsAnswer):
    tool: str
    operation: str


class DeniedForAnswer(BaseModel):
    reason: str = Field(description="The first 200 characters.")
    calls: int


class DeniedByAnswer(BaseModel):
    policy_id: str | None = Field(description="Null: no policy allowed the calls.")
    name: str | None
    calls: int
    reasons: list[DeniedForAnswer] = Field(description="The three most frequent.")


class OverviewHoldsAnswer(BaseModel):
    """Counts over the newest 5,000 approval requests of the period. ``is_minimum``: there were more."""

    open: int
    approved: int
    denied: int
    expired: int
    median_seconds: float | None = Field(description="Time from a request to a person's decision. Null: no decision.")
    is_minimum: bool


class OverviewAnswer(BaseModel):
    since: datetime
    until: datetime
    total: CountsAnswer
    is_minimum: bool
    steps: list[OverviewStepAnswer]
    holds: OverviewHoldsAnswer
    agents: list[AgentCountsAnswer] = Field(description="The eight with the most calls.")
    tools: list[ToolCountsAnswer] = Field(description="The eight with the most calls.")
    denied_by: list[DeniedByAnswer] = Field(description="The eight policies that denied the most calls.")


def overview_answer(found: Overview, agents: Mapping[str, str], policies: Mapping[str, str]) -> OverviewAnswer:
    return OverviewAnswer(
        since=found.since,
        until=found.until,
        total=CountsAnswer(**asdict(found.total)),
        is_minimum=any(one.is_minimum for one in found.steps),
        steps=[OverviewStepAnswer(at=one.at, is_minimum=one.is_minimum, **_counts(one.counts)) for one in found.steps],
        holds=OverviewHoldsAnswer(**asdict(found.holds)),
        agents=[
            AgentCountsAnswer(agent_id=agent_id, name=agents.get(agent_id), **_counts(counts))
            for agent_id, counts in found.agents.items()
        ],
        tools=[
            ToolCountsAnswer(tool=tool, operation=operation, **_counts(counts))
            for (tool, operation), counts in found.tools.items()
        ],
        denied_by=[
            DeniedByAnswer(
                policy_id=policy_id or None,
                name=policies.get(policy_id),
                calls=calls,
                reasons=[
                    DeniedForAnswer(reason=reason, calls=number)
                    for reason, number in found.denied_for.get(policy_id, {}).items()
                ],
            )
            for policy_id, calls in found.denied_by.items()
        ],
    )


def _counts(counts: Counts) -> dict[str, int]:
    return asdict(counts)
