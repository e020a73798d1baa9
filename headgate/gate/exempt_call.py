"""Finds an exemption: a grant where policies ask for approval, a break-glass pass where they deny.

The search is in memory and runs only if the decision is not allow. The database claims the use in the transaction that
records the action, before the first byte is sent. A claim that fails leaves the decision unchanged.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from decimal import Decimal

from msgspec.structs import replace

from headgate.actions.recording_store import RecordingOutcome
from headgate.gate.pipeline import DecideAgain, Decided
from headgate.gate.refusals import not_recorded
from headgate.grants.exemption_store import Exemption
from headgate.policies.model import Decision, Verdict


def exemptions(decided: Decided, now: datetime) -> list[Exemption]:
    """What may let this call through, the narrowest first."""
    candidate, decision, state = decided.candidate, decided.decision, decided.state
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


async def first_usable[Answer](
    decided: Decided, now: datetime, claim: Callable[[Exemption], Awaitable[Answer | RecordingOutcome]]
) -> Answer | DecideAgain | None:
    """What ``claim`` makes of the first exemption that can be used; None: there is none, or an approval of exactly this
    call goes before it. Raises what ``claim`` raises, UnauthorizedError, ConflictError."""
    for exemption in exemptions(decided, now):
        answer = await claim(exemption)
        if answer is RecordingOutcome.UNUSABLE:
            continue
        if answer is RecordingOutcome.ASKED:
            return None
        return not_recorded(answer) if isinstance(answer, RecordingOutcome) else answer
    return None


def exempted_decision(decision: Decision, exemption: Exemption) -> Decision:
    """The same decision with the permission said: what the policies said stays in it."""
    what = "asked for approval" if decision.verdict is Verdict.REQUIRE_APPROVAL else "denied it"
    return replace(
        decision,
        verdict=Verdict.ALLOW,
        reason=f"permitted by {exemption.exemption_id}, where a policy {what}: {decision.reason}",
        requirements=(),
        exempted_by=exemption.exemption_id,
    )


def exempted(decided: Decided, exemption: Exemption) -> Decided:
    """As it is recorded."""
    return replace(decided, decision=exempted_decision(decided.decision, exemption))
