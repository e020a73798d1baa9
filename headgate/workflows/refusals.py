"""What an agent is told when its call does not go through: one error for each answer (docs/reference/errors.md)."""

from headgate.kernel.errors import ErrorCode, HeadgateError


class ActionDeniedError(HeadgateError):
    """A policy denies the action; ``details`` name the action, the policy and the risk."""

    code = ErrorCode.ACTION_DENIED


class ApprovalPendingError(HeadgateError):
    """Nobody has decided within the hold time; the same call sent again attaches to the approval."""

    code = ErrorCode.APPROVAL_PENDING


class ApprovalDeniedError(HeadgateError):
    """A reviewer refused; the message carries the reason given."""

    code = ErrorCode.APPROVAL_DENIED


class ClientGoneError(HeadgateError):
    """Nobody is there any more to answer to; the approval stays open."""

    code = ErrorCode.APPROVAL_PENDING
