"""A reviewer changes an explicit action's parameters and approves what they have made of it. Pure.

Only an explicit action: an intercepted call is sent as its agent wrote it. Only before anybody has approved it as it
was: what two people approve is one and the same action.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from headgate.approvals.model import Approval, Edit, Vote, VoteDecision
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ConflictError, ValidationError
from headgate.kernel.secrets import MASK

_EXPLICIT = "api"


def check_editable(approval: Approval) -> None:
    """Raises ConflictError for a call that was intercepted."""
    if approval.source != _EXPLICIT:
        raise ConflictError(
            "this call was intercepted, and is sent as its agent wrote it: approve it as it is, or deny it and say what"
            " to change",
            details={"approval_id": approval.approval_id, "source": approval.source, "field": "params"},
        )


def check_still_a_call(*, was_call: bool, is_call: bool, operation: str) -> None:
    """Raises ValidationError where a call that Headgate would make has become one that it cannot: approving it would
    leave to its agent what the reviewer believes to be sent."""
    if was_call and not is_call:
        raise ValidationError(
            f"params: no call of {operation} can be made of them any more; give all of the action's params, not only"
            " those that change",
            details={"field": "params", "reason": "no call"},
        )


def check_shown(params: JsonObject, shown: JsonObject) -> None:
    """Raises ValidationError where a secret is among the params, or the mask of one: the agent, and whoever approves
    next, must see what was approved, and a mask is not to be sent for what it hides."""
    for path, value in _texts(params, "params"):
        if MASK in value:
            raise ValidationError(
                f"{path} is masked: an action with a secret in it cannot be edited; deny it, and say what to change",
                details={"field": path, "reason": "masked"},
            )
    if params != shown:
        path = next(changed_members(params, shown, "params"), "params")
        raise ValidationError(
            f"{path} looks like a secret, and would be masked for everybody who has to see it",
            details={"field": path, "reason": "a secret"},
        )


def edited(
    approval: Approval, votes: Sequence[Vote], *, digest: bytes, params: JsonObject, by: str, now: datetime
) -> Approval:
    """The approval, about the action with these params. Raises ConflictError where somebody has approved already."""
    approvals = [vote for vote in votes if vote.decision is VoteDecision.APPROVE]
    if approvals:
        who = ", ".join(vote.voter_id for vote in approvals)
        raise ConflictError(
            f"{who} approved the action as it is now: nobody changes it any more; deny it, and say what to change",
            details={"approval_id": approval.approval_id, "status": approval.status.value, "approved_by": who},
        )
    return replace(approval, edit=Edit(digest, params, by, now))


def changed_members(before: JsonValue, after: JsonValue, path: str) -> Iterator[str]:
    """The paths at which the two differ, without their values."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            if name not in before or name not in after:
                yield f"{path}.{name}"
            else:
                yield from changed_members(before[name], after[name], f"{path}.{name}")
    elif before != after or isinstance(before, bool) != isinstance(after, bool):
        yield path


def _texts(value: JsonValue, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, f"{path}[{number}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield path, name
            yield from _texts(item, f"{path}.{name}")
