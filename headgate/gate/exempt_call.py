"""What a person has permitted beforehand: a grant where policies ask, a broken glass where they deny.

Looked for only where the decision is not allow, in memory; claimed in the database in the transaction that records the
action, before the first byte is sent. What cannot be claimed leaves the decision as it was.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from headgate.actions.instance import Instance
from headgate.actions.recording_store import ActionRow
from headgate.agents.model import KeyIdentity
from headgate.db.database import Connection, Database
from headgate.gate.admitted import Admitted
from headgate.gate.decide_action import Candidate, RecordedObserver, action_row, observe_nothing
from headgate.gate.finish_execution import ExecutionEnds
from headgate.gate.organization_state import OrganizationState
from headgate.grants.exemption_store import Exemption, ExemptionOutcome, use_exemption
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, UnauthorizedError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.stops import stopping
from headgate.policies.model import Decision, Verdict


def exemptions(state: OrganizationState, candidate: Candidate, decision: Decision, now: datetime) -> list[Exemption]:
    """What may let this call through, the narrowest first. Nothing goes around a stop: not even a broken glass."""
    if stopping(state.stops, agent_id=candidate.agent_id, tool=candidate.draft.tool) is not None:
        return []
    if decision.verdict is Verdict.REQUIRE_APPROVAL:
        draft = candidate.draft
        covering = state.grants.covering(
            agent_id=candidate.agent_id,
            tool=draft.tool,
            operation=draft.operation,
            params=draft.params,
            digest=candidate.digest,
            requirements=decision.requirements,
            now=now,
            since=None if candidate.connection is None else candidate.connection.account_since,
        )
        return [Exemption(one.grant_id, one.amount) for one in covering]
    glass = state.glasses.get((candidate.agent_id, candidate.digest))
    return [] if glass is None or now >= glass.expires_at else [Exemption(glass.pass_id, Decimal(0))]


def exempted(decision: Decision, exemption: Exemption) -> Decision:
    """The same decision with the permission said: what the policies said stays in it."""
    what = "asked for approval" if decision.verdict is Verdict.REQUIRE_APPROVAL else "denied it"
    return replace(
        decision,
        verdict=Verdict.ALLOW,
        reason=f"permitted by {exemption.exemption_id}, where a policy {what}: {decision.reason}",
        requirements=(),
        exempted_by=exemption.exemption_id,
    )


@dataclass(frozen=True, slots=True)
class ExemptSubmission:
    """An explicit action that was let through, or what kept it from being recorded."""

    outcome: ExemptionOutcome
    action_id: str
    decision: Decision
    at: datetime
    execution_id: str | None = None


class Exemptions:
    """Claims of one process. ``instance`` and ``ends`` are an enforcement point's; without, it submits only."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        instance: Instance | None = None,
        ends: ExecutionEnds | None = None,
        shadow: RecordedObserver = observe_nothing,
    ) -> None:
        self._database = database
        self._clock = clock
        self._instance = instance
        self._ends = ends
        self._shadow = shadow

    async def admit(
        self, state: OrganizationState, identity: KeyIdentity, candidate: Candidate, decision: Decision
    ) -> Admitted | ExemptionOutcome | None:
        """An intercepted call. ``STALE``: decide again; None: nothing lets it through.

        Raises UnauthorizedError, UnavailableError.
        """
        if self._instance is None or self._ends is None:
            raise ValueError("only an enforcement point admits calls")
        for exemption in exemptions(state, candidate, decision, self._clock()):
            execution_id, now = new_id(IdPrefix.EXECUTION), self._clock()
            row = action_row(
                identity,
                candidate,
                exempted(decision, exemption),
                status="executing",
                created_at=now,
                execution_id=execution_id,
                instance_id=self._instance.instance_id,
            )
            admitted = Admitted(
                identity.org_id, row.agent_id, row.action_id, execution_id, None, now, exemption.exemption_id
            )
            with self._ends.claiming(admitted, self._clock):
                async with self._database.transaction(identity.org_id) as connection:
                    outcome = await use_exemption(connection, exemption, row)
            if outcome is ExemptionOutcome.USED:
                self._shadow(identity, candidate, decision, row.action_id, now)
                return admitted
            self._instance.ended(execution_id)
            match outcome:
                case ExemptionOutcome.STALE:
                    return outcome
                case ExemptionOutcome.ASKED:
                    return None
                case ExemptionOutcome.UNKNOWN:
                    raise UnauthorizedError("the agent of this key is no longer active")
                case ExemptionOutcome.DUPLICATE:  # an intercepted call has no idempotency key of Headgate's
                    raise ConflictError("the action was recorded already")
        return None

    async def submit(
        self,
        state: OrganizationState,
        identity: KeyIdentity,
        candidate: Candidate,
        decision: Decision,
        then: Callable[[Connection, ActionRow], Awaitable[str | None]],
    ) -> ExemptSubmission | None:
        """An explicit action: used, stale or a duplicate; None: nothing lets it through. ``then`` is done in the
        transaction that allows it, and answers its execution, if it has one.

        Raises UnauthorizedError, UnavailableError.
        """
        for exemption in exemptions(state, candidate, decision, self._clock()):
            now, permitted = self._clock(), exempted(decision, exemption)
            row = action_row(identity, candidate, permitted, status="allowed", created_at=now)
            async with self._database.transaction(identity.org_id) as connection:
                outcome = await use_exemption(connection, exemption, row)
                execution_id = await then(connection, row) if outcome is ExemptionOutcome.USED else None
            match outcome:
                case ExemptionOutcome.USED:
                    self._shadow(identity, candidate, decision, row.action_id, now)
                    return ExemptSubmission(outcome, row.action_id, permitted, now, execution_id)
                case ExemptionOutcome.STALE | ExemptionOutcome.DUPLICATE:
                    return ExemptSubmission(outcome, row.action_id, permitted, now)
                case ExemptionOutcome.UNKNOWN:
                    raise UnauthorizedError("the agent of this key is no longer active")
        return None
