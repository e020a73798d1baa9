"""Any sequence of votes, reassignments, escalations, expiries and clock jumps, on the real database, against a naive
reading of the rules; afterwards every row, event and list says the same."""

import asyncio
import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule
from msgspec.structs import replace

from headgate.actions.recording_store import RecordingOutcome
from headgate.approvals.attend import escalate_due, remind_due
from headgate.approvals.attention import Attention
from headgate.approvals.decide import DecideApproval
from headgate.approvals.expire import expire_due
from headgate.approvals.gate_store import HoldRow, hold_action
from headgate.approvals.model import VoteDecision
from headgate.approvals.reassign import ReassignApproval
from headgate.approvals.store import assigned_names
from headgate.approvals.voting import Outcome, Voter
from headgate.audit.model import SYSTEM, payload_text
from headgate.executions.control_store import cancel
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import ConflictError, ForbiddenError, HeadgateError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.policies.model import Requirement
from headgate.policies.terms import RoleSlot
from tests.integration.conftest import Cluster
from tests.integration.database_machine import DatabaseMachine, run_machine

APPROVE, DENY = VoteDecision.APPROVE, VoteDecision.DENY
GROUPS = {"security": {"sam", "both"}, "owners": {"otto", "both"}}
PEOPLE = ["alice", "bob", "sam", "otto", "both"]
STRANGER = "eve"
TERMS = st.sampled_from(
    [
        {},
        {"required_approvals": 2},
        {"required_approvals": 2, "denials_required": 2},
        {"assignees": ("alice@example.com",), "escalate_to": ("bob@example.com",)},
        {"assignees": ("group:security", "bob@example.com"), "required_approvals": 2},
        {"required_approvals": 2, "roles": (RoleSlot("owners"), RoleSlot("security"))},
        {"required_approvals": 3, "roles": (RoleSlot("security"),)},
    ]
)


@dataclass
class Expected:
    """What a person who has read the guide expects of one approval."""

    action_id: str
    terms: dict[str, Any]
    source: str
    named: tuple[str, ...]
    status: str = "pending"
    votes: list[tuple[str, VoteDecision, bool, frozenset[str]]] = field(default_factory=list)
    escalations: int = 0
    escalation_due: bool = False
    is_cancelled: bool = False

    def standing(self, person: str) -> tuple[bool, frozenset[str]]:
        """Whether they are asked (or everybody is), and in which of the roles they are."""
        names = {f"{person}@example.com"} | {f"group:{group}" for group, members in GROUPS.items() if person in members}
        roles = frozenset(slot.group for slot in self.terms.get("roles", ()) if person in GROUPS[slot.group])
        return not self.named or bool(names & set(self.named)), roles

    def slots(self) -> list[str | None]:
        roles: list[str | None] = [slot.group for slot in self.terms.get("roles", ()) for _ in range(slot.count)]
        return roles + [None] * (self.terms.get("required_approvals", 1) - len(roles))

    def may(self, person: str, decision: VoteDecision) -> bool:
        asked, roles = self.standing(person)
        return bool(roles) or (asked and (decision is DENY or None in self.slots()))

    def count(self) -> None:
        approvals = [vote for vote in self.votes if vote[1] is APPROVE]
        if len([vote for vote in self.votes if vote[1] is DENY]) >= self.terms.get("denials_required", 1):
            self.status = "denied"
        elif any(
            all(vote[2] if slot is None else slot in vote[3] for vote, slot in zip(order, self.slots(), strict=True))
            for order in itertools.permutations(approvals, len(self.slots()))
        ):
            self.status = "approved"


class ApprovalMachine(DatabaseMachine):
    def __init__(self) -> None:
        super().__init__()
        self.ahead = timedelta()
        self.decider = DecideApproval(self.api, None, self.clock)
        self.reassigner = ReassignApproval(self.api, self.clock)
        self.expected: dict[str, Expected] = {}

    def clock(self) -> datetime:
        return system_clock() + self.ahead

    @initialize()
    def organization(self) -> None:
        self.org_id, self.agent_id = new_id(IdPrefix.ORGANIZATION), new_id(IdPrefix.AGENT)
        self.server.execute("INSERT INTO organizations (org_id, name) VALUES (%s, 'Machine')", [self.org_id])
        self.server.execute("INSERT INTO org_state (org_id) VALUES (%s)", [self.org_id])
        self.server.execute(
            "INSERT INTO agents (org_id, agent_id, name) VALUES (%s, %s, 'Robot')", [self.org_id, self.agent_id]
        )
        for name, members in GROUPS.items():
            self.server.execute(
                "INSERT INTO approver_groups (org_id, name, members, created_at, updated_at)"
                " VALUES (%s, %s, %s, now(), now())",
                [self.org_id, name, [f"{one}@example.com" for one in members]],
            )

    def open_ones(self) -> list[str]:
        return [approval_id for approval_id, one in self.expected.items() if one.status == "pending"]

    def pick(self, number: int) -> str:
        return list(self.expected)[number % len(self.expected)]

    @precondition(lambda self: len(self.expected) < 4)
    @rule(terms=TERMS, source=st.sampled_from(["api", "proxy"]), escalates=st.booleans(), reminds=st.booleans())
    def ask(self, terms: dict[str, Any], source: str, escalates: bool, reminds: bool) -> None:
        requirement = replace(Requirement("pol_1", 1, 1), **terms)
        approval_id, action_id = self.run(self._hold(requirement, source, escalates, reminds))
        expected = Expected(action_id, terms, source, terms.get("assignees", ()))
        self.expected[approval_id] = expected

    async def _hold(self, requirement: Requirement, source: str, escalates: bool, reminds: bool) -> tuple[str, str]:
        now = datetime.now(UTC)
        approval_id, action_id = new_id(IdPrefix.APPROVAL), new_id(IdPrefix.ACTION)
        decision = {"decision": "require_approval", "reason": "look", "risk_level": "high", "policy_id": "pol_1"}
        row = HoldRow(
            self.org_id, 1, action_id, self.agent_id, None, source, "mail", "send", action_id.encode()[:32].ljust(32),
            '{"params":{}}', canonical_bytes({**decision, "evaluation_time_ms": 0.1, "policies": []}).decode(), "high",
            None, now, None, None, payload_text(SYSTEM, {}), payload_text(SYSTEM, {}), payload_text(SYSTEM, {}),
            approval_id, canonical_bytes([requirement.record()]).decode(), requirement.required_approvals, "look",
            "pol_1", now + timedelta(hours=1), None, None,
        )  # fmt: skip
        attention = Attention(
            tuple(assigned_names([requirement])),
            now + timedelta(minutes=30) if escalates else None,
            60 if reminds else None,
            now + timedelta(minutes=1) if reminds else None,
        )
        async with self.api.transaction(self.org_id) as connection:
            outcome = await hold_action(connection, row, most_open=None, attention=attention)
        assert outcome is RecordingOutcome.RECORDED
        return approval_id, action_id

    @precondition(lambda self: self.open_ones())
    @rule(number=st.integers(0, 3), person=st.sampled_from(PEOPLE), decision=st.sampled_from(VoteDecision))
    def vote_on_an_open_one(self, number: int, person: str, decision: VoteDecision) -> None:
        self._voted(self.open_ones()[number % len(self.open_ones())], person, decision)

    @precondition(lambda self: self.expected)
    @rule(
        number=st.integers(0, 3),
        person=st.sampled_from([*PEOPLE, STRANGER]),
        decision=st.sampled_from(VoteDecision),
        hours=st.sampled_from([0, -48, 2]),
    )
    def vote_on_any(self, number: int, person: str, decision: VoteDecision, hours: int) -> None:
        """This process' clock may be wrong: backwards it changes nothing (the server's counts as well), forwards it
        refuses, and never decides."""
        self.ahead = timedelta(hours=hours)
        self._voted(self.pick(number), person, decision)
        self.ahead = timedelta()

    def _voted(self, approval_id: str, person: str, decision: VoteDecision) -> None:
        outcome = self.run(self._vote(approval_id, person, decision))
        assert isinstance(outcome, Outcome) is self._counts(approval_id, person, decision)
        if isinstance(outcome, Outcome):
            assert outcome.approval.status == self.expected[approval_id].status

    def _counts(self, approval_id: str, person: str, decision: VoteDecision) -> bool:
        """Whether this vote must be taken; it is counted if so."""
        one = self.expected[approval_id]
        voted = any(vote[0] == person for vote in one.votes)
        if one.status != "pending" or self.ahead >= timedelta(hours=1) or voted or not one.may(person, decision):
            return False
        one.votes.append((person, decision, *one.standing(person)))
        one.count()
        return True

    async def _vote(self, approval_id: str, person: str, decision: VoteDecision) -> Outcome | HeadgateError:
        voter = Voter(f"usr_{person}", f"{person}@example.com")
        try:
            return await self.decider.decide(self.org_id, approval_id, voter, decision, "because")
        except (ConflictError, ForbiddenError) as error:
            return error

    @precondition(lambda self: self.open_ones())
    @rule(number=st.integers(0, 3), person=st.sampled_from(PEOPLE), decision=st.sampled_from(VoteDecision))
    def double_click(self, number: int, person: str, decision: VoteDecision) -> None:
        approval_id = self.open_ones()[number % len(self.open_ones())]
        results = self.run(self._together(approval_id, [(person, decision)] * 3))
        taken = [one for one in results if isinstance(one, Outcome)]
        assert len(taken) == int(self._counts(approval_id, person, decision))

    @precondition(lambda self: self.open_ones())
    @rule(number=st.integers(0, 3), people=st.lists(st.sampled_from(PEOPLE), min_size=2, max_size=3, unique=True))
    def everybody_at_once(self, number: int, people: list[str]) -> None:
        """The first says no and the others yes; whatever order they came in, the record is of one order."""
        approval_id = self.open_ones()[number % len(self.open_ones())]
        wanted = [(person, DENY if place == 0 else APPROVE) for place, person in enumerate(people)]
        results = self.run(self._together(approval_id, wanted))
        taken = sorted(
            (outcome.vote.decided_at, person, decision)
            for outcome, (person, decision) in zip(results, wanted, strict=True)
            if isinstance(outcome, Outcome)
        )
        for _, person, decision in taken:
            assert self._counts(approval_id, person, decision)
        refused = [pair for pair, outcome in zip(wanted, results, strict=True) if not isinstance(outcome, Outcome)]
        for person, decision in refused:
            assert not self._counts(approval_id, person, decision)

    async def _together(
        self, approval_id: str, wanted: list[tuple[str, VoteDecision]]
    ) -> list[Outcome | HeadgateError]:
        return list(await asyncio.gather(*(self._vote(approval_id, *one) for one in wanted)))

    @precondition(lambda self: self.expected)
    @rule(
        number=st.integers(0, 3),
        person=st.sampled_from([*PEOPLE, STRANGER]),
        names=st.sampled_from([("bob@example.com", "sam@example.com", "alice@example.com"), ("group:owners",)]),
    )
    def reassign(self, number: int, person: str, names: tuple[str, ...]) -> None:
        approval_id = self.pick(number)
        one = self.expected[approval_id]
        voter = Voter(f"usr_{person}", f"{person}@example.com")
        may = one.status == "pending" and self.ahead < timedelta(hours=1) and one.may(person, DENY)
        try:
            self.run(self.reassigner.reassign(self.org_id, approval_id, voter, names, "away"))
        except (ConflictError, ForbiddenError):
            assert not may
            return
        assert may
        one.named = names + tuple(one.terms.get("escalate_to", ()) if one.escalations else ())

    @precondition(lambda self: self.open_ones())
    @rule(number=st.integers(0, 3))
    def half_of_its_time_goes_by(self, number: int) -> None:
        """The same as if the clock had gone on: what lies in the future is moved into the past."""
        approval_id = self.open_ones()[number % len(self.open_ones())]
        self.server.execute(
            "UPDATE approvals SET escalate_at = clock_timestamp() - interval '1 second'"
            " WHERE approval_id = %s AND escalate_at IS NOT NULL",
            [approval_id],
        )
        moved = self.server.execute(
            "SELECT escalate_at < clock_timestamp() FROM approvals WHERE approval_id = %s", [approval_id]
        ).fetchone()
        self.expected[approval_id].escalation_due = bool(moved and moved[0])

    @precondition(lambda self: self.open_ones())
    @rule(number=st.integers(0, 3), reaped=st.booleans())
    def its_time_runs_out(self, number: int, reaped: bool) -> None:
        approval_id = self.open_ones()[number % len(self.open_ones())]
        self.server.execute(
            "UPDATE approvals SET expires_at = clock_timestamp() - interval '1 microsecond' WHERE approval_id = %s",
            [approval_id],
        )
        self.expected[approval_id].status = "expired"
        if reaped:
            self.run(expire_due(self.worker, None, system_clock))

    @precondition(lambda self: self.open_ones())
    @rule(number=st.integers(0, 3), person=st.sampled_from(PEOPLE), decision=st.sampled_from(VoteDecision))
    def the_agent_takes_it_back_while_somebody_votes(self, number: int, person: str, decision: VoteDecision) -> None:
        approval_id = self.open_ones()[number % len(self.open_ones())]
        one = self.expected[approval_id]

        async def both() -> tuple[bool, Outcome | HeadgateError]:
            return await asyncio.gather(self._cancel(one.action_id), self._vote(approval_id, person, decision))

        cancelled, outcome = self.run(both())
        if isinstance(outcome, Outcome):  # it came first
            assert self._counts(approval_id, person, decision)
        assert cancelled is (one.status == "pending")
        if cancelled:
            one.status, one.is_cancelled = "expired", True

    async def _cancel(self, action_id: str) -> bool:
        payload = payload_text(SYSTEM, {})
        async with self.api.transaction(self.org_id) as connection:
            return await cancel(
                connection, self.org_id, action_id, self.agent_id, system_clock(), error="x", payload=payload,
                failed=payload, give_back=None,
            )  # fmt: skip

    @precondition(lambda self: self.expected)
    @rule(workers=st.integers(1, 3))
    def workers_come_by(self, workers: int) -> None:
        async def all_at_once() -> None:
            for job in (escalate_due, remind_due):
                await asyncio.gather(*(job(self.worker) for _ in range(workers)))
            await asyncio.gather(*(expire_due(self.worker, None, system_clock) for _ in range(workers)))

        self.run(all_at_once())
        for one in self.expected.values():
            if one.status == "pending" and one.escalation_due and not one.escalations:
                one.escalations = 1
                if one.named:
                    one.named += tuple(one.terms.get("escalate_to", ()))

    @invariant()
    def rows_events_and_lists_agree(self) -> None:
        for approval_id, one in self.expected.items():
            row = self.server.execute(
                "SELECT CASE WHEN p.status = 'pending' AND p.expires_at <= clock_timestamp() THEN 'expired'"
                " ELSE p.status END,"
                " p.status, a.status, p.current_approvals, p.decided_by, p.requirements FROM approvals p"
                " JOIN actions a ON a.action_id = p.action_id AND a.org_id = p.org_id WHERE p.approval_id = %s",
                [approval_id],
            ).fetchone()
            assert row is not None
            status, stored, action_status, approvals, decided_by, _ = row
            assert status == one.status
            assert approvals == len([vote for vote in one.votes if vote[1] is APPROVE])
            moved = {"pending": "pending_approval", "approved": "approved", "denied": "denied", "expired": "denied"}
            assert action_status == moved[str(stored)]
            if one.status in {"approved", "denied"}:
                assert decided_by == f"usr_{one.votes[-1][0]}"
            self._check_events(approval_id, one, str(stored))
            self._check_names(approval_id, one)

    def _check_events(self, approval_id: str, one: Expected, stored: str) -> None:
        told = self.told_of(one.action_id)
        ended = [kind for kind in told if kind in {"approval.approved", "approval.denied", "approval.expired"}]
        assert ended == ([] if stored == "pending" or one.is_cancelled else [f"approval.{stored}"])
        assert told.count("action.cancelled") == int(one.is_cancelled)
        assert told.count("approval.escalated") == one.escalations
        deciding = one.status in {"approved", "denied"}
        assert told.count("approval.voted") == len(one.votes) - int(deciding)
        votes = self.server.execute(
            "SELECT count(*), count(DISTINCT user_id) FROM approval_votes WHERE approval_id = %s", [approval_id]
        ).fetchone()
        assert votes == (len(one.votes), len(one.votes))

    def _check_names(self, approval_id: str, one: Expected) -> None:
        listed = self.server.execute(
            "SELECT x.name, x.status = p.status FROM approval_assignees x JOIN approvals p USING (org_id, approval_id)"
            " WHERE x.approval_id = %s",
            [approval_id],
        ).fetchall()
        roles = {f"group:{slot.group}" for slot in one.terms.get("roles", ())}
        assert {name for name, _ in listed} == set(one.named) | roles
        assert all(is_current for _, is_current in listed)


@pytest.mark.timeout(600)
def test_any_sequence(cluster: Cluster) -> None:
    run_machine(ApprovalMachine, cluster)
