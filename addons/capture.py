"""Keeps what passes, for people to look at: request and answer, heads and the beginnings of bodies.

Nothing here waits or writes: an exchange that has ended is handed to a queue (``proxy.capture_queue``), is encrypted
before it touches a disk, and masked by another process. What is captured is decided with the call itself, on the same
state; a call that is not captured pays for one look at an attribute.
"""

from typing import Final

from mitmproxy.http import HTTPFlow

from addons.captured_call import CapturedCall, Captures
from addons.metrics import CAPTURED
from addons.verdict import FlowState, flow_state
from headgate.gate.candidate import ReadAction
from headgate.gate.masking import Masking
from headgate.gate.refusals import ActionDeniedError, ApprovalDeniedError, ApprovalPendingError
from headgate.kernel.errors import HeadgateError
from headgate.traffic.model import CaptureLevel, Loss
from headgate.traffic.rules import CaptureRules

_REFUSED: Final[dict[type[HeadgateError], str]] = {
    ActionDeniedError: "deny",
    ApprovalDeniedError: "approval_denied",
    ApprovalPendingError: "approval_pending",
}
"""Refusals of what is on record as an action."""


class Capture:
    """Begins with a decision, and ends with the request."""

    def __init__(self, captures: Captures) -> None:
        self._captures = captures

    def begin(
        self,
        state: FlowState,
        rules: CaptureRules,
        action: ReadAction,
        *,
        org_id: str,
        mark: CaptureLevel | None,
        action_id: str | None,
        decision: str,
        masking: Masking,
    ) -> None:
        """Captures this call, where the organization's rules or ``mark``, the choice of its policies, say so."""
        level = rules.level(
            agent_id=action.agent_id,
            tool=action.tool,
            operation=action.operation,
            host=action.host,
            marks=() if mark is None else (mark,),
        )
        if level is CaptureLevel.OFF:
            return
        self._captures.begin(org_id)
        state.capture = CapturedCall(
            self._captures,
            action,
            level,
            rules.body_limit_bytes,
            org_id=org_id,
            action_id=action_id,
            decision=decision,
            masking=masking,
        )

    def begin_refused(
        self,
        state: FlowState,
        rules: CaptureRules,
        action: ReadAction,
        error: HeadgateError,
        *,
        org_id: str,
        mark: CaptureLevel | None,
        masking: Masking,
    ) -> None:
        """What an agent was not allowed to send is worth looking at too, once it is on record."""
        decision = _REFUSED.get(type(error))
        if decision is None or state.capture is not None:
            return
        action_id = (error.details or {}).get("action_id")
        self.begin(
            state,
            rules,
            action,
            org_id=org_id,
            mark=mark,
            action_id=action_id if isinstance(action_id, str) else None,
            decision=decision,
            masking=masking,
        )

    def response(self, flow: HTTPFlow) -> None:
        self._end(flow, None)

    def error(self, flow: HTTPFlow) -> None:
        self._end(flow, flow.error.msg if flow.error is not None else "unknown")

    def _end(self, flow: HTTPFlow, error: str | None) -> None:
        state = flow_state(flow)
        call = state.capture
        if call is None:
            return
        state.capture = None
        if state.inspection is not None:
            call.is_answer_replaced = state.inspection.is_masked
            call.masked_stream_bytes = state.inspection.masked_stream_bytes
        try:
            if error is not None and state.inspection is not None:
                call.end_unseen(flow)
            else:
                call.end(flow, error)
        # An exchange that cannot be captured must not break the one that passes.
        except Exception:  # noqa: BLE001
            self._captures.lose(call.org_id, Loss.NOT_MASKED)
        else:
            CAPTURED.inc()
