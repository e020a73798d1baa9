"""A process that decides intercepted calls, without a proxy around it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from headgate.agents.authenticate import KeyRing
from headgate.approvals.wake_ups import WakeUps
from headgate.db.database import Database
from headgate.gate.admitted import Admitted
from headgate.gate.caller import Caller, Callers
from headgate.gate.candidate import Candidate, bound, candidate_for
from headgate.gate.decision_point import DecisionPoint, decision_point
from headgate.gate.fair_decisions import FairDecisions
from headgate.gate.held_call import HeldCall
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
from headgate.nlp_policies.evaluate import Evaluator
from headgate.protocols.draft import ActionDraft
from headgate.protocols.http_call import HttpCall
from headgate.vault.service import Vault
from tests.entry_codes import CODES


class _Client:
    connected = True


@dataclass
class _Reading:
    candidate: Candidate

    async def read(self) -> Candidate:
        return self.candidate

    def drop(self) -> None:
        """It is small."""

    async def read_with_body(self, call: HttpCall, body: bytes) -> Candidate:
        raise NotImplementedError


@dataclass(frozen=True)
class DecisionProcess:
    point: DecisionPoint
    recorder: GateRecorder
    wake_ups: WakeUps
    keys: KeyRing

    async def admit(self, key: str, draft: ActionDraft) -> Admitted:
        """A call of this key's agent, by a client that stays. Raises what ``CallGate.admit`` raises."""
        identity = await self.keys.authenticate(key)
        reading = _Reading(candidate_for(identity, draft))
        caller = Caller(Secret(key), identity)
        return await self.point.gate.admit(caller, reading, HeldCall(_Client()), lambda _, one: bound(one))


@asynccontextmanager
async def decision_process(
    dsn: str,
    database: Database,
    *,
    vault: Vault | None = None,
    hold_seconds: float = 0.0,
    most_open_approvals: int | None = None,
) -> AsyncIterator[DecisionProcess]:
    """``dsn`` and ``database`` log in as the proxy does."""
    clock = system_clock
    async with AsyncExitStack() as stack:
        judges = Judges(await stack.enter_async_context(open_client()))
        recorder, rules, wake_ups = GateRecorder(Secret(dsn), CODES), FairDecisions(), WakeUps(database)
        keys = KeyRing(database, clock=clock)
        stack.callback(rules.close)
        for close in (judges.close, recorder.close):
            stack.push_async_callback(close)
        point = decision_point(
            database,
            recorder,
            DecisionPipeline(stopped, rules, ContentJudge(Evaluator(judges, DailyBudgets(clock)))),
            Callers(OrganizationStates(database, vault=vault), keys, clock),
            wake_ups=wake_ups,
            times=HoldTimes(hold_seconds, 3600, "http://127.0.0.1:1"),
            most_open_approvals=most_open_approvals,
        )
        stack.push_async_callback(point.close)
        await recorder.open()
        yield DecisionProcess(point, recorder, wake_ups, keys)
