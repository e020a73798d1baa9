"""The decision point as a proxy process puts it together, with the parts that a test looks at or replaces."""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from addons.call_reading import CallReader
from addons.capture import Capture
from addons.enforce import Enforce
from addons.guard import Guard, OwnPlaces
from addons.identify import Identify
from addons.inspection import AnswerLimits, Inspector
from headgate.actions.instance import Instance
from headgate.agent_sessions.memory import SessionMemory
from headgate.agents.authenticate import KeyRing
from headgate.approvals.wake_ups import WakeUps
from headgate.db.database import Database
from headgate.gate.caller import Callers
from headgate.gate.cancellations import Cancellations
from headgate.gate.decision_point import decision_point
from headgate.gate.fair_decisions import FairDecisions
from headgate.gate.hold_call import HoldTimes
from headgate.gate.judge_content import ContentJudge
from headgate.gate.organization_state import OrganizationStates
from headgate.gate.pipeline import DecisionPipeline
from headgate.gate.preconditions import stopped
from headgate.gate.record_batch import GateRecorder
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.judge import Judges
from headgate.judges.transport import open_client
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.llm_usage.memory import UsageMemory
from headgate.mcp_tools.pins import ToolPins
from headgate.nlp_policies.evaluate import Evaluator
from headgate.provenance.memory import ValueMemory
from headgate.ratelimits.classes import RateClass
from headgate.ratelimits.gcra import Quota
from headgate.ratelimits.local import LocalLimiter
from headgate.tools.load import load_catalogues
from headgate.traffic.spool_writer import SpoolWriter
from headgate.vault.service import Vault
from proxy.budget import BufferBudget
from proxy.capture_queue import CaptureQueue


@dataclass(frozen=True)
class Enforcement:
    identify: Identify
    point: Enforce
    capture: Capture
    captures: CaptureQueue
    instance: Instance
    reader: CallReader
    wake_ups: WakeUps


async def open_enforcement(
    stack: AsyncExitStack, database: Database, recorder: GateRecorder, vault: Vault, spool: Path, *, tunnels: int
) -> Enforcement:
    """``tunnels``: how many a client may open in a minute."""
    clock = system_clock
    keys, states = KeyRing(database, clock=clock), OrganizationStates(database)
    judges = Judges(await stack.enter_async_context(open_client()))
    evaluator = Evaluator(judges, DailyBudgets(clock))
    captures = CaptureQueue(SpoolWriter(spool, vault, clock))
    capture = Capture(captures)
    wake_ups = WakeUps(database)
    reader = CallReader(load_catalogues(), BufferBudget(512 << 20), monotonic)
    rules = FairDecisions()
    decides = decision_point(
        database,
        recorder,
        DecisionPipeline(stopped, rules, ContentJudge(evaluator)),
        Callers(states, keys, clock),
        wake_ups=wake_ups,
        times=HoldTimes(0.0, 3600, "http://127.0.0.1:1"),
        most_open_approvals=100,
    )
    point = Enforce(
        gate=decides.gate,
        reader=reader,
        guard=Guard(OwnPlaces(frozenset)),
        ends=decides.ends,
        inspector=Inspector(evaluator, AnswerLimits()),
        limiter=None,
        clock=clock,
        monotonic=monotonic,
        capture=capture,
        memory=ValueMemory(bytes(16)),
        sessions=SessionMemory(),
        usage=UsageMemory(),
        cancellations=Cancellations(Secret("of the test")),
        rules=rules,
        pins=ToolPins(database, clock),
        public_api_url="http://127.0.0.1:1",
    )
    stack.push_async_callback(judges.close)
    stack.push_async_callback(recorder.close)
    stack.push_async_callback(decides.close)
    await recorder.open()
    limiter = LocalLimiter({RateClass.CONNECT: Quota(tunnels, 60)})
    identify = Identify(keys=keys, states=states, clock=clock, api_origin=None, limiter=limiter)
    return Enforcement(identify, point, capture, captures, decides.instance, reader, wake_ups)
