"""The steps of a call, from its submission to its outcome, as its events tell them. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.audit.model import Actor, EventType, SealedEvent
from headgate.kernel.canonical_json import JsonValue

EVENTS_MAX: Final = 500
"""Of a call whose agent sends it again and again, the newest are read."""

_STEPS: Final = frozenset(
    {
        EventType.ACTION_SUBMITTED,
        EventType.DECISION_MADE,
        EventType.CANARY_FOUND,
        EventType.APPROVAL_REQUESTED,
        EventType.APPROVAL_VOTED,
        EventType.APPROVAL_APPROVED,
        EventType.APPROVAL_DENIED,
        EventType.APPROVAL_EXPIRED,
        EventType.APPROVAL_SUPERSEDED,
        EventType.APPROVAL_REASSIGNED,
        EventType.APPROVAL_ESCALATED,
        EventType.APPROVAL_REMINDED,
        EventType.APPROVAL_EDITED,
        EventType.ACTION_RETRIED,
        EventType.ACTION_CANCELLED,
        EventType.GRANT_USED,
        EventType.BREAK_GLASS_USED,
        EventType.EXECUTION_STARTED,
        EventType.EXECUTION_RESCHEDULED,
        EventType.EXECUTION_RETRIED,
        EventType.EXECUTION_COMPLETED,
        EventType.EXECUTION_FAILED,
        EventType.RESPONSE_WITHHELD,
    }
)
_REASONS: Final = ("error", "reason", "comment")


class CallStep(Struct, frozen=True):
    """``decision``: of policies, or the vote. ``attempt``: the number of the execution's attempt. ``times``: so many
    events in a row that say the same, at the time of the last. ``assignees``: those of a reassignment or an escalation;
    ``changed``: the params that a reviewer edited."""

    event: EventType
    at: datetime
    actor: Actor | None
    decision: str | None = None
    reason: str | None = None
    attempt: int | None = None
    times: int = 1
    assignees: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def steps_of(oldest_first: Sequence[SealedEvent]) -> list[CallStep]:
    """Returns the steps in the order of the log. Events about something else than the call's way are left out."""
    steps: list[CallStep] = []
    attempts = 0
    for event in oldest_first:
        step = _step(event)
        if step is None:
            continue
        if step.event is EventType.EXECUTION_STARTED:
            attempts += 1
            step = replace(step, attempt=attempts)
        last = steps[-1] if steps else None
        if last is not None and step.event is EventType.ACTION_RETRIED and last.event is step.event:
            steps[-1] = replace(step, times=last.times + 1)
        else:
            steps.append(step)
    return steps


def _step(event: SealedEvent) -> CallStep | None:
    if event.event_type not in _STEPS or event.created_at is None:
        return None
    data = event.data
    return CallStep(
        event=EventType(event.event_type),
        at=event.created_at,
        actor=event.actor,
        decision=_text(data, "decision") or _text(data, "vote"),
        reason=next((text for name in _REASONS if (text := _text(data, name))), None) or _canaries(data),
        assignees=_texts(data.get("assignees")),
        changed=_texts(data.get("changed")),
    )


def _canaries(data: Mapping[str, JsonValue]) -> str | None:
    """Of canary.found: which tokens, and where. The decision that found them has a reason of its own."""
    found = data.get("canaries")
    if not isinstance(found, list):
        return None
    return "; ".join(f"{one.get('name')} in {one.get('place')}" for one in found if isinstance(one, dict)) or None


def _text(data: Mapping[str, JsonValue], name: str) -> str | None:
    value = data.get(name)
    return value if isinstance(value, str) else None


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
