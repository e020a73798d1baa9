"""Combines the verdicts of all policies into one decision (semantics.md, "Combining and voting").

Policies run in ascending priority; the first priority with a verdict decides. At equal priority the strictest verdict
wins: deny over require_approval over allow. If no policy decides, the call is denied.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from headgate.policies.model import Decision, PolicyVerdict, Requirement, RiskLevel, Verdict
from headgate.traffic.model import least

NOBODY_SPOKE: Final = "no policy allows this action"

_DEFAULT_REASON: Final = {
    Verdict.DENY: "a policy denies this action",
    Verdict.REQUIRE_APPROVAL: "a policy requires approval of this action",
    Verdict.ALLOW: "a policy allows this action",
}
DEFAULT_RISK: Final = {
    Verdict.DENY: RiskLevel.HIGH,
    Verdict.REQUIRE_APPROVAL: RiskLevel.HIGH,
    Verdict.ALLOW: RiskLevel.LOW,
}
_RISK_ORDER: Final = {level: rank for rank, level in enumerate(RiskLevel)}


def combine(verdicts: Iterable[PolicyVerdict], evaluation_time_ms: float = 0.0) -> Decision:
    """The combined decision of all policies about a call."""
    spoken = [verdict for verdict in verdicts if verdict.verdict is not None]
    first = min((verdict.priority for verdict in spoken), default=None)
    return decide_priority([verdict for verdict in spoken if verdict.priority == first], evaluation_time_ms)


def decide_priority(spoken: Sequence[PolicyVerdict], evaluation_time_ms: float = 0.0) -> Decision:
    """The decision of the first priority with a verdict; ``spoken`` are its policies that decided."""
    verdict = _strictest(spoken)
    if verdict is None:
        return Decision(Verdict.DENY, NOBODY_SPOKE, RiskLevel.HIGH, None, evaluation_time_ms)
    deciding = spoken if len(spoken) == 1 else [one for one in spoken if one.verdict is verdict]
    decision = Decision(
        verdict,
        _reason(deciding) or _DEFAULT_REASON[verdict],
        _risk(deciding) or DEFAULT_RISK[verdict],
        deciding[0].policy_id,
        evaluation_time_ms,
        tuple(spoken),
        capture=spoken[0].capture if len(spoken) == 1 else least([one.capture for one in spoken if one.capture]),
    )
    return decision if verdict is not Verdict.REQUIRE_APPROVAL else _with_terms(decision, deciding)


def _strictest(spoken: Sequence[PolicyVerdict]) -> Verdict | None:
    if len(spoken) == 1:  # The most common case, on the path of every request.
        return spoken[0].verdict
    said = {one.verdict for one in spoken}
    for verdict in (Verdict.DENY, Verdict.REQUIRE_APPROVAL, Verdict.ALLOW):
        if verdict in said:
            return verdict
    return None


def _reason(deciding: Sequence[PolicyVerdict]) -> str | None:
    if len(deciding) == 1:
        return deciding[0].explanation()
    return "; ".join(dict.fromkeys(filter(None, (one.explanation() for one in deciding))))


def _risk(deciding: Sequence[PolicyVerdict]) -> RiskLevel | None:
    if len(deciding) == 1:
        return deciding[0].risk_level
    risks = [one.risk_level for one in deciding if one.risk_level is not None]
    return max(risks, key=_RISK_ORDER.__getitem__) if risks else None


def _with_terms(decision: Decision, asking: Sequence[PolicyVerdict]) -> Decision:
    """One requirement per policy that requires approval; all must be met. Of the times that policies set, the shortest
    applies."""
    return Decision(
        verdict=decision.verdict,
        reason=decision.reason,
        risk_level=decision.risk_level,
        policy_id=decision.policy_id,
        evaluation_time_ms=decision.evaluation_time_ms,
        spoken=decision.spoken,
        requirements=tuple(
            Requirement(
                one.policy_id,
                one.version,
                one.terms.required_approvals,
                one.terms.assignees,
                denials_required=one.terms.denials_required,
                separation_of_duties=one.terms.separation_of_duties,
                roles=one.terms.roles,
                escalate_to=one.terms.escalate_to,
                grants=one.terms.grants,
            )
            for one in asking
        ),
        hold_seconds=_shortest(one.terms.hold_seconds for one in asking),
        expires_in_seconds=_shortest(one.terms.expires_in_seconds for one in asking),
        escalate_after_seconds=_shortest(one.terms.escalate_after_seconds for one in asking),
        remind_after_seconds=_shortest(one.terms.remind_after_seconds for one in asking),
        capture=decision.capture,
    )


def _shortest[Seconds: (int, float)](times: Iterable[Seconds | None]) -> Seconds | None:
    return min((time for time in times if time is not None), default=None)


def required_approvals(requirements: Sequence[Requirement]) -> int:
    """The quorum shown for an approval: the largest of its requirements."""
    return max((one.required_approvals for one in requirements), default=1)
