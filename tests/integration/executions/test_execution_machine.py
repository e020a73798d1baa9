"""Any sequence of claims, ends, deaths of workers, retries and cancellations, on the real database, against a naive
reading of the rules: one attempt at a time, told once, and never again where it may have taken effect."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from headgate.audit.model import SYSTEM, Actor, ActorType, payload_text
from headgate.executions.close_orphans import close_orphans
from headgate.executions.control import ControlExecutions
from headgate.executions.model import Claim, ClaimOutcome, ExecutionLimits, Settlement
from headgate.executions.store import claim, keep_call, queue_execution
from headgate.executor.settle import Settlements
from headgate.journal.apply import apply_due
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import ConflictError, ValidationError
from headgate.kernel.ids import IdPrefix, new_id
from tests.integration.conftest import Cluster
from tests.integration.database_machine import DatabaseMachine, run_machine

WORKERS = ["wrk_1", "wrk_2"]
LIMITS = ExecutionLimits(
    agent_concurrency=10_000, destination_concurrency=10_000, destination_per_second=100_000, breaker_failures=1000
)
ENDS = {
    "succeeded": Settlement(True, None, {"status": 201}, healthy=True),
    "failed": Settlement(False, "it said no", None, healthy=True),
    "again": Settlement(False, "not now", None, again_seconds=3600, healthy=True),
}
DECISION: JsonObject = {
    "decision": "allow", "reason": "", "risk_level": "low", "policy_id": None, "evaluation_time_ms": 0.1,
    "policies": [],
}  # fmt: skip
ADMINISTRATOR = Actor(ActorType.USER, "usr_1", "ada@example.com")


@dataclass
class Expected:
    action_id: str
    approval_id: str | None
    is_repeatable: bool
    status: str = "queued"
    attempts: int = 0
    running: tuple[str, Claim] | None = None
    started: list[tuple[str, Claim]] = field(default_factory=list)
    waits: bool = False
    is_cancelled: bool = False
    is_past_its_time: bool = False
    ends: int = 0


class ExecutionMachine(DatabaseMachine):
    """``may_have_begun``: a claim was due, alone or beside a cancellation. What Hypothesis draws must not depend on who
    won a race, or it would find other draws when it repeats a sequence. Nothing is left to chance before it is true."""

    def __init__(self) -> None:
        super().__init__()
        self.control = ControlExecutions(self.api, system_clock)
        self.expected: dict[str, Expected] = {}
        self.generation = 1
        self.is_active = True
        self.may_have_begun = False

    @initialize()
    def organization(self) -> None:
        self.org_id, self.agent_id = new_id(IdPrefix.ORGANIZATION), new_id(IdPrefix.AGENT)
        self.server.execute("INSERT INTO organizations (org_id, name) VALUES (%s, 'Machine')", [self.org_id])
        self.server.execute("INSERT INTO org_state (org_id, generation) VALUES (%s, 1)", [self.org_id])
        self.server.execute(
            "INSERT INTO agents (org_id, agent_id, name) VALUES (%s, %s, 'Robot')", [self.org_id, self.agent_id]
        )

    def pick(self, number: int) -> tuple[str, Expected]:
        return list(self.expected.items())[number % len(self.expected)]

    @precondition(lambda self: len(self.expected) < 4)
    @rule(is_repeatable=st.booleans(), is_approved=st.booleans())
    def submit(self, is_repeatable: bool, is_approved: bool) -> None:
        action_id, execution_id = new_id(IdPrefix.ACTION), new_id(IdPrefix.EXECUTION)
        approval_id = new_id(IdPrefix.APPROVAL) if is_approved else None
        self.server.execute(
            "INSERT INTO actions (org_id, action_id, agent_id, source, tool, operation, status, digest, request,"
            " decision, risk_level, approval_id, created_at, updated_at)"
            " VALUES (%s, %s, %s, 'api', 'shop', 'order', %s, sha256('x'), %s, %s, 'low', %s, now(), now())",
            [
                *(self.org_id, action_id, self.agent_id, "approved" if is_approved else "allowed"),
                *('{"params":{}}', canonical_bytes(DECISION).decode(), approval_id),
            ],
        )
        self.server.execute(
            "INSERT INTO approvals (org_id, approval_id, action_id, agent_id, source, digest, status, requirements,"
            " required_approvals, reason, risk_level, created_at, expires_at, decided_at)"
            " SELECT %s, %s::text, %s, %s, 'api', sha256('x'), 'approved', '[]', 1, '', 'low', now(),"
            " now() + interval '1 hour', now() WHERE %s",
            [self.org_id, approval_id, action_id, self.agent_id, is_approved],
        )

        async def queue() -> bool:
            async with self.api.transaction(self.org_id) as connection:
                await keep_call(
                    connection, self.org_id, action_id, self.agent_id, tool="shop", operation="order",
                    destination="shop.example:443", repeatable=is_repeatable,
                )  # fmt: skip
                return await queue_execution(
                    connection, self.org_id, action_id, execution_id, system_clock(), priority=0
                )

        assert self.run(queue())
        self.expected[execution_id] = Expected(action_id, approval_id, is_repeatable)

    async def _claim(self, execution_id: str, worker: str, generation: int) -> Claim:
        payload = payload_text(SYSTEM, {"execution_id": execution_id})
        async with self.worker.transaction(self.org_id) as connection:
            return await claim(
                connection, self.org_id, execution_id, generation=generation, instance_id=worker, at=system_clock(),
                redecided=payload, started=payload, limits=LIMITS,
                action_id=self.expected[execution_id].action_id, agent_id=self.agent_id,
            )  # fmt: skip

    def _began(self, one: Expected, worker: str, claimed: Claim) -> None:
        one.attempts += 1
        assert claimed.attempt == one.attempts
        one.status, one.running = "running", (worker, claimed)
        one.started.append(one.running)

    def _will_claim(self, one: Expected, generation: int) -> ClaimOutcome:
        """What comes of a claim that is about to be made, if nothing forestalls it."""
        would = self._would_claim(one, generation)
        self.may_have_begun |= would is ClaimOutcome.CLAIMED
        return would

    def _would_claim(self, one: Expected, generation: int) -> ClaimOutcome:
        if one.status != "queued":
            return ClaimOutcome.GONE
        if one.waits:
            return ClaimOutcome.BUSY
        if not self.is_active:
            return ClaimOutcome.REFUSED
        if generation != self.generation:
            return ClaimOutcome.STALE
        return ClaimOutcome.REFUSED if one.is_past_its_time and not one.started else ClaimOutcome.CLAIMED

    @precondition(lambda self: self.expected)
    @rule(number=st.integers(0, 3), worker=st.sampled_from(WORKERS), behind=st.sampled_from([0, 0, 1]))
    def claim_one(self, number: int, worker: str, behind: int) -> None:
        execution_id, one = self.pick(number)
        generation = self.generation - behind
        would = self._will_claim(one, generation)
        claimed = self.run(self._claim(execution_id, worker, generation))
        assert claimed.outcome is would
        if claimed.outcome is ClaimOutcome.CLAIMED:
            self._began(one, worker, claimed)

    @precondition(lambda self: self.expected)
    @rule(number=st.integers(0, 3))
    def claim_one_three_times_at_once(self, number: int) -> None:
        execution_id, one = self.pick(number)
        workers = [*WORKERS, "wrk_3"]
        would = self._will_claim(one, self.generation)

        async def all_at_once() -> list[Claim]:
            return list(await asyncio.gather(*(self._claim(execution_id, name, self.generation) for name in workers)))

        claims = self.run(all_at_once())
        outcomes = [one.outcome for one in claims]
        if would is ClaimOutcome.CLAIMED:
            assert sorted(outcomes) == [ClaimOutcome.CLAIMED, ClaimOutcome.GONE, ClaimOutcome.GONE]
            first = outcomes.index(ClaimOutcome.CLAIMED)
            self._began(one, workers[first], claims[first])
        else:
            assert outcomes == [would] * 3

    @precondition(lambda self: self.may_have_begun)
    @rule(number=st.integers(0, 3), which=st.integers(-2, -1), end=st.sampled_from(sorted(ENDS)))
    def tell_how_an_attempt_ended(self, number: int, which: int, end: str) -> None:
        """Also one that is long over: its worker stood still, was taken for dead, and wakes."""
        begun = [(execution_id, one) for execution_id, one in self.expected.items() if one.started]
        if not begun:  # its cancellation was faster
            return
        execution_id, one = begun[number % len(begun)]
        worker, claimed = one.started[max(which, -len(one.started))]
        self.run(
            Settlements(self.worker, system_clock, instance_id=worker).tell(
                self.org_id, execution_id, ENDS[end], LIMITS, claimed=claimed
            )
        )
        if one.running == (worker, claimed):
            one.running = None
            one.status, one.waits = ("queued", True) if end == "again" else (end, False)
            one.ends += end != "again"

    @precondition(lambda self: self.expected)
    @rule(number=st.integers(0, 3))
    def refuse_what_waits(self, number: int) -> None:
        execution_id, one = self.pick(number)
        self.run(
            Settlements(self.worker, system_clock, instance_id="wrk_1").refuse(
                self.org_id, execution_id, "denied", LIMITS
            )
        )
        if one.status == "queued":
            one.status, one.ends = "failed", one.ends + 1

    @rule(workers=st.integers(1, 2))
    def every_worker_dies(self, workers: int) -> None:
        """None of these has ever beaten: what they run is orphaned; two others find it at the same moment."""

        async def found() -> None:
            await asyncio.gather(
                *(close_orphans(self.worker, system_clock, grace=timedelta(0)) for _ in range(workers))
            )
            await apply_due(self.worker)

        self.run(found())
        for one in self.expected.values():
            if one.status == "running":
                again = one.is_repeatable and one.attempts < ExecutionLimits().most_attempts
                one.running = None
                one.status, one.waits = ("queued", False) if again else ("failed", False)
                one.ends += not again

    @precondition(lambda self: self.expected)
    @rule(number=st.integers(0, 3), reset=st.booleans())
    def retry(self, number: int, reset: bool) -> None:
        execution_id, one = self.pick(number)
        may = one.status == "failed" and not one.is_cancelled
        try:
            self.run(self.control.retry(self.org_id, execution_id, ADMINISTRATOR, reset_attempts=reset))
        except (ConflictError, ValidationError):
            assert not may
            return
        assert may
        one.status, one.waits = "queued", False
        if reset:
            one.attempts = 0

    @precondition(lambda self: self.expected)
    @rule(number=st.integers(0, 3))
    def hurry(self, number: int) -> None:
        execution_id, one = self.pick(number)
        try:
            self.run(self.control.process(self.org_id, execution_id, ADMINISTRATOR))
        except (ConflictError, ValidationError):
            assert one.status != "queued"
            return
        assert one.status == "queued"
        one.waits = False

    async def _cancel(self, action_id: str) -> bool:
        try:
            await self.control.cancel(self.org_id, action_id, Actor(ActorType.AGENT, self.agent_id, "Robot"), None)
        except ConflictError:
            return False
        return True

    @precondition(lambda self: self.expected)
    @rule(number=st.integers(0, 3), worker=st.sampled_from(WORKERS))
    def cancel_while_it_is_claimed(self, number: int, worker: str) -> None:
        execution_id, one = self.pick(number)

        async def both() -> tuple[bool, Claim]:
            return await asyncio.gather(self._cancel(one.action_id), self._claim(execution_id, worker, self.generation))

        was, would = one.status, self._will_claim(one, self.generation)
        cancelled, claimed = self.run(both())
        if claimed.outcome is ClaimOutcome.CLAIMED:
            assert would is ClaimOutcome.CLAIMED
            self._began(one, worker, claimed)
        assert cancelled is (was == "queued" and claimed.outcome is not ClaimOutcome.CLAIMED)
        if cancelled:
            one.status, one.is_cancelled, one.ends = "failed", True, one.ends + 1

    @precondition(lambda self: self.expected)
    @rule(number=st.integers(0, 3))
    def its_agent_says_that_it_did_it(self, number: int) -> None:
        agent = Actor(ActorType.AGENT, self.agent_id, "Robot")
        _, one = self.pick(number)
        try:
            self.run(self.control.report(self.org_id, one.action_id, agent, succeeded=True, result={}, error=None))
        except ConflictError:
            return
        raise AssertionError("an agent has told the end of what Headgate carries out")

    @rule()
    def somebody_changes_a_policy(self) -> None:
        self.generation += 1
        self.server.execute("UPDATE org_state SET generation = %s WHERE org_id = %s", [self.generation, self.org_id])

    @rule()
    def its_agent_is_suspended_or_resumed(self) -> None:
        self.is_active = not self.is_active
        self.server.execute(
            "UPDATE agents SET status = %s WHERE org_id = %s",
            ["active" if self.is_active else "suspended", self.org_id],
        )

    @precondition(lambda self: self.expected)
    @rule(number=st.integers(0, 3))
    def its_approval_runs_out(self, number: int) -> None:
        _, one = self.pick(number)
        one.is_past_its_time = one.approval_id is not None
        self.server.execute(
            "UPDATE approvals SET expires_at = now() - interval '1 day', decided_at = now() - interval '1 day'"
            " WHERE approval_id = %s",
            [one.approval_id],
        )

    @invariant()
    def rows_events_and_jobs_agree(self) -> None:
        for execution_id, one in self.expected.items():
            row = self.server.execute(
                "SELECT e.status, e.attempts, a.status, c.state, p.used_by FROM executions e"
                " JOIN actions a USING (org_id, action_id) LEFT JOIN execution_calls c USING (org_id, action_id)"
                " LEFT JOIN approvals p ON p.org_id = a.org_id AND p.approval_id = a.approval_id"
                " WHERE e.execution_id = %s",
                [execution_id],
            ).fetchone()
            assert row is not None
            status, attempts, action_status, call, used_by = row
            assert (status, attempts) == (one.status, one.attempts)
            if one.status in {"succeeded", "failed"}:
                assert action_status == ("completed" if one.status == "succeeded" else "failed")
            assert call == (None if one.is_cancelled or one.status == "succeeded" else one.status)
            assert used_by == (execution_id if one.approval_id is not None and one.started else None)
            self._check_events(one)
            if one.status == "queued":
                waiting = self.server.execute(
                    "SELECT count(*) FROM queue.procrastinate_jobs WHERE status = 'todo'"
                    " AND args ->> 'subject_id' = %s",
                    [execution_id],
                ).fetchone()
                assert waiting is not None and waiting[0] >= 1

    def _check_events(self, one: Expected) -> None:
        told = self.told_of(one.action_id)
        assert told.count("execution.started") == len(one.started)
        assert told.count("execution.completed") + told.count("execution.failed") == one.ends
        assert told.count("execution.completed") == int(one.status == "succeeded")
        assert told.count("action.cancelled") == int(one.is_cancelled)


@pytest.mark.timeout(600)
def test_any_sequence(cluster: Cluster) -> None:
    run_machine(ExecutionMachine, cluster)
