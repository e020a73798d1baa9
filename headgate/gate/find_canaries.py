"""Refuses a call that holds a canary token of its organization. No exemption, approval or policy overrides it."""

from typing import Final

from msgspec.structs import replace

from headgate.canaries.mask import mask_canaries
from headgate.canaries.model import FoundCanary, TooManyPlacesError
from headgate.canaries.scan import find_canaries
from headgate.gate.candidate import BoundCandidate
from headgate.gate.judged_content import judged_content
from headgate.gate.organization_state import OrganizationState
from headgate.kernel.fair_turns import FairTurns
from headgate.policies.model import Decision, RiskLevel, Verdict
from headgate.traffic.model import CaptureLevel

REASON: Final = "the call holds a value that must not leave the organization"
_TOO_MANY: Final = "the call has too many places that could hold a value that must not leave the organization"


async def without_canaries(
    state: OrganizationState, candidate: BoundCandidate, decision: Decision, turns: FairTurns
) -> Decision:
    """``decision``, or a denial that names the canaries: also of what is denied anyway, as they say that a place was
    read that nobody reads. Raises UnavailableError where too many wait for a turn."""
    try:
        async with turns.turn(state.org_id, candidate.agent_id) as turn:
            found = await turn.in_thread(_found, state, candidate)
    except TooManyPlacesError:
        return _denied(decision, _TOO_MANY, [])
    return _denied(decision, REASON, found) if found else decision


async def masked_candidate(state: OrganizationState, candidate: BoundCandidate, turns: FairTurns) -> BoundCandidate:
    """``candidate`` as it is recorded where it held canaries: without their values. Raises UnavailableError."""
    async with turns.turn(state.org_id, candidate.agent_id) as turn:
        request = await turn.in_thread(mask_canaries, state.canaries, candidate.request)
    return replace(candidate, request=request)


def _found(state: OrganizationState, candidate: BoundCandidate) -> list[FoundCanary]:
    draft = candidate.draft
    content = judged_content(draft)
    call = draft.call
    raw: list[bytes] = []
    if call is not None:
        address = (call.host.encode(), call.path.encode(), call.query.encode())
        raw = [*address, draft.content, *(part for field in call.headers for part in field)]
    return find_canaries(state.canaries, content.for_detectors(()), content.attachments, raw)


def _denied(decision: Decision, reason: str, found: list[FoundCanary]) -> Decision:
    return replace(
        decision,
        verdict=Verdict.DENY,
        reason=reason,
        risk_level=RiskLevel.CRITICAL,
        policy_id=None,
        requirements=(),
        is_final=True,
        capture=CaptureLevel.OFF,  # a captured exchange would show what the record masks
        canaries=tuple(one.record() for one in found),
    )
