"""Reports how executions ended, until the report is durable.

The agent's response does not wait for it. A report waits while the database is unavailable. If the process dies first,
the worker closes the execution as failed, outcome unknown.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

import structlog
from msgspec import Struct

from headgate.actions.instance import Instance
from headgate.actions.recorded_entry import OutcomeRow
from headgate.audit.model import SYSTEM, Actor, ActorType, payload_text
from headgate.db.prepared_call import StatementRefusedError
from headgate.gate.admitted import Admitted
from headgate.gate.record_batch import Recorder
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnavailableError
from headgate.kernel.tasks import TaskSet

_log = structlog.get_logger(__name__)

_FIRST_RETRY_SECONDS: Final = 0.1
_LAST_RETRY_SECONDS: Final = 2.0


class ExecutionOutcome(Struct, frozen=True):
    """``result`` is what is kept of the answer: status, size_bytes, sha256, duration_ms, content_type.

    ``withheld``: why the agent did not see it, with what policies about content said. ``nothing_sent``: no byte of the
    call went upstream, so the use of its approval is given back.
    """

    succeeded: bool
    completed_at: datetime
    error: str | None = None
    result: JsonObject | None = None
    nothing_sent: bool = False
    withheld: JsonObject | None = None


def _withheld_payload(admitted: Admitted, outcome: ExecutionOutcome) -> str | None:
    """``response.withheld``."""
    if outcome.withheld is None:
        return None
    return payload_text(SYSTEM, {"execution_id": admitted.execution_id, **outcome.withheld})


def _not_confirmed(now: datetime) -> ExecutionOutcome:
    """For an execution whose record was sent but not confirmed: its call was not forwarded."""
    return ExecutionOutcome(False, now, error="not forwarded: the record was not confirmed in time", nothing_sent=True)


class ExecutionEnds:
    """Reports the outcomes of one process. Only an orderly stop waits for it."""

    def __init__(self, recorder: Recorder, instance: Instance) -> None:
        self._recorder = recorder
        self._instance = instance
        self._tasks = TaskSet(lambda name, error: _log.error("outcome_lost", task=name, error=repr(error)))

    @contextmanager
    def claiming(self, admitted: Admitted, clock: Clock) -> Iterator[None]:
        """While what lets a call through is written.

        Where that raises, whether it was committed is unknown (the wait may have been cancelled in the very moment of
        the commit). Nothing is forwarded, and if it was, the execution ends here and its use is given back: an outcome
        of an execution that was never recorded is not taken.
        """
        self._instance.began(admitted.execution_id, admitted.started_at)
        try:
            yield
        except BaseException:
            self.finish(admitted, _not_confirmed(clock()))
            raise

    def finish(self, admitted: Admitted, outcome: ExecutionOutcome) -> None:
        """Queue the outcome; durable some milliseconds later."""
        data: JsonObject = {"execution_id": admitted.execution_id}
        if outcome.result is not None:
            data["result"] = outcome.result
        if outcome.error is not None:
            data["error"] = outcome.error
        give_back = (admitted.approval_id or admitted.exemption_id) if outcome.nothing_sent else None
        if give_back is not None:
            data["approval_given_back" if give_back == admitted.approval_id else "exemption_given_back"] = give_back
        row = OutcomeRow(
            org_id=admitted.org_id,
            execution_id=admitted.execution_id,
            action_id=admitted.action_id,
            agent_id=admitted.agent_id,
            succeeded=outcome.succeeded,
            completed_at=outcome.completed_at,
            error=outcome.error,
            result=None if outcome.result is None else canonical_bytes(outcome.result),
            payload=payload_text(Actor(ActorType.AGENT, admitted.agent_id, admitted.agent_name), data),
            give_back=give_back,
            withheld=_withheld_payload(admitted, outcome),
        )
        self._tell(row)

    def _tell(self, row: OutcomeRow) -> None:
        told = self._recorder.submit_outcome(row)

        def answered(told: asyncio.Future[None]) -> None:
            if told.cancelled():
                return
            if (error := told.exception()) is None:
                self._instance.ended(row.execution_id)
            else:
                self._tasks.start(self._tell_again(row, error), name=f"outcome {row.execution_id}")

        told.add_done_callback(answered)

    async def _tell_again(self, row: OutcomeRow, error: BaseException) -> None:
        pause = _FIRST_RETRY_SECONDS
        while isinstance(error, UnavailableError) and not isinstance(error, StatementRefusedError):
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LAST_RETRY_SECONDS)
            try:
                await self._recorder.submit_outcome(row)
            except UnavailableError as again:
                error = again
                continue
            self._instance.ended(row.execution_id)
            return
        # The server will not take it: this process disowns the execution and the worker closes it.
        _log.error("outcome_refused", execution_id=row.execution_id, action_id=row.action_id, error=str(error))
        self._instance.ended(row.execution_id)

    async def close(self, *, wait_seconds: float) -> None:
        """Waits for reports under way, then gives up: the worker closes the rest."""
        try:
            async with asyncio.timeout(wait_seconds):
                await self._tasks.wait()
        except TimeoutError:
            await self._tasks.close()
