"""A reviewer edits an explicit action's parameters and approves the result. Pure.

Only explicit actions can be edited: an intercepted call is sent as its agent wrote it. An edit is possible only before
the first approval vote, so that two approvers approve the same action.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from headgate.approvals.model import Approval, Edit, Vote, VoteDecision
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ConflictError, ValidationError
from headgate.kernel.secrets import MASK

_EXPLICIT = "api"


def check_editable(approval: Approval) -> None:
    """Raises ConflictError for an intercepted call."""
    if approval.source != _EXPLICIT:
        raise ConflictError(
            "an intercepted call cannot be edited: approve it as it is, or deny it and state what to change",
            details={"approval_id": approval.approval_id, "source": approval.source, "field": "params"},
        )


def check_still_a_call(*, was_call: bool, is_call: bool, operation: str) -> None:
    """Raises ValidationError if Headgate would carry out the submitted call but cannot carry out the edited one.
    Otherwise the agent would have to send what the reviewer believes Headgate sends."""
    if was_call and not is_call:
        raise ValidationError(
            f"params: they do not make a valid call of {operation}. Send all params of the action, not only"
            " the changed ones.",
            details={"field": "params", "reason": "no call"},
        )


def check_shown(params: JsonObject, shown: JsonObject) -> None:
    """Raises ValidationError if the params contain a secret or a mask. The agent and later approvers must see what was
    approved, and a mask must not be sent in place of the value that it hides."""
    for path, value in _texts(params, "params"):
        if MASK in value:
            raise ValidationError(
                f"{path} is masked. An action that contains a secret cannot be "
                "edited. Deny it and state what to change.",
                details={"field": path, "reason": "masked"},
            )
    if params != shown:
        path = next(changed_members(params, shown, "params"), "params")
        raise ValidationError(
            f"{path} looks like a secret: it would be masked for the agent and for approvers",
            details={"field": path, "reason": "a secret"},
        )


def edited(
    approval: Approval, votes: Sequence[Vote], *, digest: bytes, params: JsonObject, by: str, now: datetime
) -> Approval:
    """Returns the approval with the edited params. Raises ConflictError if it has an approval vote already."""
    approvals = [vote for vote in votes if vote.decision is VoteDecision.APPROVE]
    if approvals:
        who = " and ".join(vote.email or vote.voter_id for vote in approvals)
        by = ", ".join(vote.voter_id for vote in approvals)
        raise ConflictError(
            f"The action was approved by {who}, so it cannot be edited. Deny it and state what to change.",
            details={"approval_id": approval.approval_id, "status": approval.status.value, "approved_by": by},
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
