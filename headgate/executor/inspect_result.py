"""Applies content policies to the response of an executed action, before any of it is stored.

As in the proxy (``inspect_answer``), any result other than "clear" and any failure withholds the response. No client
waits on a connection, so that each response is read as a whole, streams included.
"""

from typing import Final

import structlog

from headgate.gate.candidate import Candidate, read_action
from headgate.gate.inspect_answer import INSPECTION_FAILED, AnswerJudge, Verdicts, answer_judge
from headgate.gate.judged_answer import Answer
from headgate.gate.organization_state import OrganizationState
from headgate.nlp_policies.evaluate import Evaluator
from headgate.outgoing.model import OutgoingLimits, OutgoingResponse
from headgate.protocols.answer_head import objection_to, parse_answer_head

_log = structlog.get_logger(__name__)

_MOST_BYTES: Final = OutgoingLimits().response_max_bytes
"""Of an answer and of what it decodes to: what the client reads of one."""


class ResultInspector:
    """Of one process: its evaluator's judges, budgets and cache are shared by all calls."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    async def verdicts(
        self, state: OrganizationState, candidate: Candidate, response: OutgoingResponse
    ) -> Verdicts | None:
        """By the policies of ``state``, with which the call was decided; None where none of them looks at it. Raises
        nothing but cancellation, after which nothing is kept."""
        judge = answer_judge(self._evaluator, state, read_action(candidate))
        if judge is None:
            return None
        try:
            return await _asked(judge, candidate, response)
        except Exception:  # noqa: BLE001 - what was not inspected is not shown, whatever went wrong
            _log.exception("inspection_failed", tool=candidate.draft.tool, operation=candidate.draft.operation)
            return judge.not_inspected(INSPECTION_FAILED)


async def _asked(judge: AnswerJudge, candidate: Candidate, response: OutgoingResponse) -> Verdicts:
    call = candidate.draft.call
    fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers]
    head = parse_answer_head(response.status, fields, method="" if call is None else call.method)
    in_part = judge.lets_unscannable_pass
    objection = objection_to(head, max_bytes=None if in_part else _MOST_BYTES)
    if objection is None and response.is_truncated and not in_part:
        objection = f"it is larger than the {_MOST_BYTES} bytes that are inspected"
    if objection is not None:
        return judge.not_inspected(objection)
    answer = Answer(head, response.body, is_whole=not response.is_truncated)
    return await judge.of_answer_or_masked(answer, max_bytes=_MOST_BYTES)
