"""Builds the policy decision point of a process that forwards calls."""

from typing import Final

from msgspec import Struct

from headgate.actions.instance import Instance
from headgate.approvals.wake_ups import WakeUps
from headgate.db.database import Database
from headgate.gate.admit_call import CallGate
from headgate.gate.caller import Callers
from headgate.gate.finish_execution import ExecutionEnds
from headgate.gate.held_limits import HeldCounts
from headgate.gate.hold_call import Holds, HoldTimes, HoldWatch, unwatched
from headgate.gate.pipeline import DecisionPipeline
from headgate.gate.record_batch import GateRecorder
from headgate.gate.record_rows import RecordedObserver, observe_nothing

_OUTCOMES_WAIT_SECONDS: Final = 5.0


class DecisionPoint(Struct, frozen=True):
    """``instance`` lists what ``gate`` admitted until ``ends`` has reported its outcome."""

    gate: CallGate
    holds: Holds
    instance: Instance
    ends: ExecutionEnds

    async def close(self) -> None:
        """While the recorder is still open: outcomes that wait are written."""
        await self.ends.close(wait_seconds=_OUTCOMES_WAIT_SECONDS)


def decision_point(
    database: Database,
    recorder: GateRecorder,
    pipeline: DecisionPipeline,
    callers: Callers,
    *,
    wake_ups: WakeUps,
    times: HoldTimes,
    most_open_approvals: int | None = None,
    shadow: RecordedObserver = observe_nothing,
    watch: HoldWatch = unwatched,
) -> DecisionPoint:
    """``most_open_approvals``: for agents without a limit of their own; None: no limit, of held calls either."""
    clock = callers.clock
    instance = Instance("proxy", database)
    ends = ExecutionEnds(recorder, instance)
    holds = Holds(
        database=database,
        recorder=recorder,
        wake_ups=wake_ups,
        instance=instance,
        ends=ends,
        clock=clock,
        times=times,
        most_open_approvals=most_open_approvals,
        counts=HeldCounts() if most_open_approvals is not None else HeldCounts(None, None),
        shadow=shadow,
        watch=watch,
    )
    gate = CallGate(
        pipeline=pipeline,
        callers=callers,
        recorder=recorder,
        database=database,
        holds=holds,
        instance=instance,
        ends=ends,
        clock=clock,
        shadow=shadow,
    )
    return DecisionPoint(gate, holds, instance, ends)
