"""The errors that an agent receives for a call that is not forwarded (docs/reference/errors.md)."""

from datetime import datetime
from typing import Final

from headgate.actions.recorded_entry import ActionRow
from headgate.actions.recording_store import RecordingOutcome
from headgate.approvals.model import Approval
from headgate.gate.pipeline import DecideAgain
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ConflictError, ErrorCode, HeadgateError, UnauthorizedError
from headgate.policies.model import Decision
from headgate.policies.stated_risk import stated_risk

_RETRY_AFTER_SECONDS: Final = 10


class ActionDeniedError(HeadgateError):
    """A policy denies the action; ``details`` name the action, the policy, and the risk if one is stated."""

    code = ErrorCode.ACTION_DENIED


class ApprovalPendingError(HeadgateError):
    """No reviewer has decided within the hold time; the same call sent again attaches to the approval."""

    code = ErrorCode.APPROVAL_PENDING


class ApprovalDeniedError(HeadgateError):
    """A reviewer refused; the message carries the reason given."""

    code = ErrorCode.APPROVAL_DENIED


class ResponseWithheldError(HeadgateError):
    """The call was made and answered; policies about content do not let the answer through."""

    code = ErrorCode.RESPONSE_WITHHELD


class ClientGoneError(HeadgateError):
    """The client has disconnected; the approval stays open."""

    code = ErrorCode.APPROVAL_PENDING


class CallCancelledError(ClientGoneError):
    """The client has cancelled the call while it was decided or held; its approval stays open, for the same call sent
    again."""

    def __init__(self) -> None:
        super().__init__("the client cancelled this call; nothing was forwarded")


def not_recorded(outcome: RecordingOutcome) -> DecideAgain:
    """What follows where nothing was recorded. Raises UnauthorizedError, ConflictError."""
    match outcome:
        case RecordingOutcome.STALE:
            return DecideAgain.STALE
        case RecordingOutcome.CHANGED | RecordingOutcome.UNUSABLE | RecordingOutcome.ASKED:
            return DecideAgain.AWAKE
        case RecordingOutcome.UNKNOWN:
            raise UnauthorizedError("the agent of this key is no longer active")
        case RecordingOutcome.DUPLICATE:  # an intercepted call has no idempotency key of Headgate's
            raise ConflictError("the action was recorded already")
        case RecordingOutcome.RECORDED | RecordingOutcome.FULL:
            raise ValueError(f"{outcome}: its caller handles it")


def denied_by_policy(decision: Decision, row: ActionRow) -> ActionDeniedError:
    """For an intercepted call whose denial is on record."""
    return ActionDeniedError(
        decision.reason,
        details={
            "action_id": row.action_id,
            "policy_id": decision.policy_id,
            **_risk(decision),
            "tool": row.tool,
            "operation": row.operation,
        },
    )


def _risk(decision: Decision) -> dict[str, str]:
    """An agent that reads ``high`` would take the default of a refusal for somebody's judgement."""
    risk = stated_risk(decision)
    return {} if risk is None else {"risk_level": risk.value}


def withheld_error(why: str, *, action_id: str, status: int, policies: JsonValue) -> ResponseWithheldError:
    """Says that the call *was* made: sent again, it would be made again."""
    return ResponseWithheldError(
        f"the call was made and the destination answered {status}, but the answer is withheld: {why}. Do not send it"
        " again for the answer",
        details={"action_id": action_id, "status": status, "policies": policies},
    )


def pending_error(
    decision: Decision, *, action_id: str, approval_id: str, expires_at: datetime, public_api_url: str
) -> ApprovalPendingError:
    """Says how to go on waiting, and where to ask."""
    status_url = f"{public_api_url}/v1/actions/{action_id}?wait=30"
    return ApprovalPendingError(
        f"held for approval {approval_id}: {decision.reason}. No reviewer has decided yet. Send the same request"
        f" again to go on waiting, or ask {status_url}",
        details={
            "approval_id": approval_id,
            "action_id": action_id,
            "status_url": status_url,
            "expires_at": rfc3339(expires_at),
            **_risk(decision),
        },
        retry_after_seconds=_RETRY_AFTER_SECONDS,
    )


def expired_error(approval: Approval) -> ApprovalDeniedError:
    """For a call that was held until the approval ran out."""
    return ApprovalDeniedError(
        f"approval {approval.approval_id} expired without a decision; send the request again to open a new one",
        details={"approval_id": approval.approval_id, "action_id": approval.action_id, "expired": True},
    )


def denied_error(approval: Approval) -> ApprovalDeniedError:
    """With the reviewer's reason, and until when the denial stands."""
    return ApprovalDeniedError(
        f"a reviewer denied this call: {approval.comment or 'no reason was given'}",
        details={
            "approval_id": approval.approval_id,
            "action_id": approval.action_id,
            "decided_at": None if approval.decided_at is None else rfc3339(approval.decided_at),
            "denied_until": rfc3339(approval.expires_at),
        },
    )
