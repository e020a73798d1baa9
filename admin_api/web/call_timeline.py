"""The timeline of one call in words."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Final

from msgspec import Struct

from admin_api.actions.timeline import TimelineStepAnswer
from admin_api.web.blocked_destination import is_blocked

_DECIDED: Final = {"allow": ("allowed", "Allowed"), "deny": ("denied", "Denied"), "require_approval": ("held", "Held")}
_KINDS: Final = {
    "canary.found": "denied",
    "approval.approved": "allowed",
    "approval.denied": "denied",
    "approval.expired": "denied",
    "action.cancelled": "denied",
    "execution.completed": "allowed",
    "execution.failed": "failed",
    "execution.rescheduled": "failed",
    "response.withheld": "denied",
}
_WORDS: Final = {
    "action.submitted": "Submitted",
    "canary.found": "Canary token found",
    "approval.requested": "Approval requested",
    "approval.approved": "Approved",
    "approval.denied": "Denied",
    "approval.expired": "Approval request expired",
    "approval.superseded": "Approval request superseded by a stricter one",
    "approval.reassigned": "Reassigned",
    "approval.escalated": "Escalated",
    "approval.reminded": "Approvers reminded",
    "approval.edited": "Params edited",
    "action.retried": "Sent again while it waits",
    "action.cancelled": "Withdrawn",
    "grant.used": "Let through by a grant",
    "break_glass.used": "Let through by break-glass",
    "execution.rescheduled": "Attempt failed, to be repeated",
    "execution.retried": "Retry requested",
    "execution.completed": "Completed",
    "execution.failed": "Failed",
    "response.withheld": "Response withheld",
}
_VOTES: Final = {"approve": "Vote to approve", "deny": "Vote to deny"}
_SHOWN_NAMES: Final = 10


class Moment(Struct, frozen=True):
    """``kind`` is one of the four meanings, or empty."""

    at: datetime
    text: str
    kind: str = ""
    note: str | None = None


def moments_of(steps: Sequence[TimelineStepAnswer], names: Mapping[str, str]) -> list[Moment]:
    """``names``: of people and agents, by id. What Headgate does by itself names nobody."""
    moments = []
    was_decided = False
    blocked = any(step.event == "execution.failed" and is_blocked(step.reason) for step in steps)
    for step, following in zip_longest(steps, steps[1:]):
        kind, words = _KINDS.get(step.event, ""), _WORDS.get(step.event, "")
        if step.event == "decision.made":
            kind, verdict = _DECIDED.get(step.decision or "", ("failed", step.decision or "unknown"))
            if step.decision == "require_approval" and following is not None and following.event == "execution.started":
                kind, verdict = "allowed", "Approved"  # decided at the moment of use: the approval covers it
            words, was_decided = f"{'Decided again' if was_decided else 'Decision'}: {verdict}", True
        elif step.event == "approval.voted":
            words = _VOTES.get(step.decision or "", "Vote")
        elif step.event == "execution.started":
            words = "Started" if blocked else "Forwarded" if step.attempt == 1 else f"Forwarded, attempt {step.attempt}"
        elif step.event == "execution.failed" and is_blocked(step.reason):
            kind, words = "denied", "Refused: destination"
        moments.append(Moment(step.at, words + _details(step, names), kind, step.reason))
    return moments


def _details(step: TimelineStepAnswer, names: Mapping[str, str]) -> str:
    found = ""
    if step.actor is not None and step.actor.type != "system":
        found += f" by {names.get(step.actor.id) or step.actor.name or step.actor.id}"
    if step.assignees:
        found += f" to {_listed([names.get(one, one) for one in step.assignees])}"
    if step.changed:
        found += f": {_listed(step.changed)}"
    if step.times > 1:
        found += f", {step.times} times"
    return found


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN_NAMES
    return ", ".join(names[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")
