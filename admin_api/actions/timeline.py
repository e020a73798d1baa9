"""The timeline of one action, read from its events for the people who may read actions."""

from datetime import datetime

from pydantic import Field

from admin_api.dependencies import Dependencies
from admin_api.schema import BaseModel
from headgate.actions.steps import EVENTS_MAX, CallStep, steps_of
from headgate.audit.model import EventFilter
from headgate.audit.store import list_events
from headgate.journal.apply import require_applied


class TimelineActorAnswer(BaseModel):
    type: str
    id: str
    name: str | None


class TimelineStepAnswer(BaseModel):
    """One step of the action, of the same name as its audit event."""

    event: str
    at: datetime
    actor: TimelineActorAnswer | None = Field(description="Null: its payload was erased.")
    decision: str | None = Field(description="Of the policies, or of a vote.")
    reason: str | None = Field(
        description="The reason of a decision or a comment; the error of an execution; of"
        " canary.found, each token and its place."
    )
    attempt: int | None = Field(description="Of execution.started: 1 is the first attempt.")
    times: int = Field(description="How many equal events in a row this is. `at` is the time of the last one.")
    assignees: list[str]
    changed: list[str] = Field(description="The params that a reviewer edited.")


async def read_timeline(dependencies: Dependencies, org_id: str, action_id: str) -> list[TimelineStepAnswer]:
    """Oldest first; of more than 500 events the newest. Raises UnavailableError."""
    await require_applied(dependencies.database, org_id)
    async with dependencies.database.transaction(org_id) as connection:
        found = await list_events(connection, org_id, EventFilter(action_id=action_id), limit=EVENTS_MAX)
    return [_answer(one) for one in steps_of(found.events[::-1])]


def _answer(step: CallStep) -> TimelineStepAnswer:
    actor = step.actor
    return TimelineStepAnswer(
        event=step.event.value,
        at=step.at,
        actor=None if actor is None else TimelineActorAnswer(type=actor.type.value, id=actor.id, name=actor.name),
        decision=step.decision,
        reason=step.reason,
        attempt=step.attempt,
        times=step.times,
        assignees=list(step.assignees),
        changed=list(step.changed),
    )
