"""What a policy's result is: after detectors, a judge, an answer of before, or a failure."""

from typing import Final

from msgspec.structs import replace

from headgate.classifiers.model import Classification
from headgate.detectors.assess import Assessment
from headgate.detectors.mask import mask_secrets
from headgate.detectors.model import Inspection
from headgate.judges.model import Failure, Provider, Verdict
from headgate.judges.prompt import template_version
from headgate.nlp_policies.model import NlpPolicy, NlpResult, OnMatch, Outcome
from headgate.nlp_policies.recall import RecalledVerdict
from headgate.policies.model import FoundText
from headgate.policies.model import Verdict as Decided

_WORST: Final = 1.0
_CONTRADICTION: Final = "contradiction"
_CLASSIFIER: Final = "classifier"
_DIGEST_CHARACTERS: Final = 16


def detected(policy: NlpPolicy, found: Assessment, *, limits_pass: bool = False) -> NlpResult:
    """What detectors found; where they could not look everywhere, nothing found is an error, and so is what would only
    be tagged. ``limits_pass``: what there was no room or no time for counts as what cannot be opened."""
    draft = policy.draft
    matches = found.risk_score >= draft.threshold
    outcome = Outcome.MATCH if matches else Outcome.CLEAR if found.inspection.complete else Outcome.ERROR
    if outcome is Outcome.ERROR and found.inspection.is_unscannable(limits_too=limits_pass):
        return unscannable(policy, found.reasoning, found.engine.value)
    result = NlpResult(
        policy_id=policy.policy_id,
        version=policy.version,
        provider=draft.provider,
        model=policy.model,
        outcome=outcome,
        decision=_decision(policy, outcome),
        risk_score=found.risk_score if outcome is not Outcome.ERROR else _WORST,
        confidence=found.confidence if outcome is not Outcome.ERROR else 0.0,
        issues=found.issues,
        reasoning=found.reasoning,
        engine=found.engine.value,
        latency_ms=0.0,
        error=Failure.NOT_INSPECTED.value if outcome is Outcome.ERROR else None,
        findings=found.inspection.findings,
        tags=found.issues if matches and draft.on_match is OnMatch.TAG else (),
        to_mask=_to_mask(found, draft.threshold) if matches and draft.on_match is OnMatch.MASK else (),
    )
    if result.decision is Decided.ALLOW and not found.inspection.complete:
        return _tagged_in_part(policy, result, is_unscannable=found.inspection.is_unscannable(limits_too=limits_pass))
    return result


def _to_mask(found: Assessment, threshold: float) -> tuple[FoundText, ...]:
    """Nothing where not all was inspected."""
    if not found.inspection.complete:
        return ()
    return tuple(
        FoundText(one.span.path, one.span.start, one.span.end, one.kind)
        for one in found.inspection.findings
        if one.span is not None and one.confidence >= threshold
    )


def _tagged_in_part(policy: NlpPolicy, result: NlpResult, *, is_unscannable: bool) -> NlpResult:
    """A match that lets the call pass, where not all was inspected: the rest decides as if nothing had been found."""
    failure = Failure.UNSCANNABLE if is_unscannable else Failure.NOT_INSPECTED
    decision = policy.draft.if_unscannable if is_unscannable else policy.draft.on_error
    result = replace(result, decision=decision, error=failure.value)
    return result if decision is Decided.ALLOW else replace(result, outcome=Outcome.ERROR, risk_score=_WORST)


def classified(policy: NlpPolicy, said: Classification, read: Inspection) -> NlpResult:
    """What a local classifier said of what could be read; where that was not everything, no match is an error."""
    draft = policy.draft
    matches = said.risk_score >= draft.threshold
    outcome = Outcome.MATCH if matches else Outcome.CLEAR if read.complete else Outcome.ERROR
    gaps = "; ".join(gap.detail for gap in read.gaps)
    if outcome is Outcome.ERROR and read.is_unscannable():
        return unscannable(policy, gaps, _CLASSIFIER)
    label, score = said.scores[0]
    reasoning = (
        f"{label} {score:g}, the highest of {said.windows} windows; classifier {said.digest[:_DIGEST_CHARACTERS]}"
    )
    return NlpResult(
        policy_id=policy.policy_id,
        version=policy.version,
        provider=draft.provider,
        model=policy.model,
        outcome=outcome,
        decision=_decision(policy, outcome),
        risk_score=said.risk_score if outcome is not Outcome.ERROR else _WORST,
        confidence=round(max(said.risk_score, 1 - said.risk_score), 4) if outcome is not Outcome.ERROR else 0.0,
        issues=said.issues(draft.threshold) if matches else (),
        reasoning=f"{reasoning}. Not inspected wholly: {gaps}" if gaps else reasoning,
        engine=_CLASSIFIER,
        latency_ms=0.0,
        error=Failure.NOT_INSPECTED.value if outcome is Outcome.ERROR else None,
    )


def judged(policy: NlpPolicy, provider: Provider, verdict: Verdict, key: str) -> NlpResult:
    """What a language model said; a flag that contradicts the score is an error."""
    judgement = verdict.judgement
    matches = judgement.risk_score >= policy.draft.threshold
    contradicts = judgement.flagged != matches
    outcome = Outcome.ERROR if contradicts else Outcome.MATCH if matches else Outcome.CLEAR
    return NlpResult(
        policy_id=policy.policy_id,
        version=policy.version,
        provider=policy.draft.provider,
        model=policy.model,
        outcome=outcome,
        decision=_decision(policy, outcome),
        risk_score=judgement.risk_score,
        confidence=judgement.confidence,
        issues=tuple(_without_secrets(issue) for issue in judgement.detected_issues),
        reasoning=_without_secrets(judgement.reasoning),
        engine="judge",
        latency_ms=0.0,
        error=_CONTRADICTION if contradicts else None,
        usage=verdict.usage,
        cost_usd=0.0 if verdict.cached else verdict.usage.cost(provider),
        cached=verdict.cached,
        template=template_version(),
        question=key,
    )


def recalled_result(policy: NlpPolicy, verdict: RecalledVerdict, key: str) -> NlpResult:
    """What one said before (``recall``); the threshold is applied to it again."""
    matches = verdict.risk_score >= policy.draft.threshold
    outcome = Outcome.MATCH if matches else Outcome.CLEAR
    return NlpResult(
        policy_id=policy.policy_id,
        version=policy.version,
        provider=policy.draft.provider,
        model=policy.model,
        outcome=outcome,
        decision=_decision(policy, outcome),
        risk_score=verdict.risk_score,
        confidence=verdict.confidence,
        issues=verdict.issues,
        reasoning=verdict.reasoning,
        engine="judge",
        latency_ms=0.0,
        cost_usd=0.0,
        cached=True,
        template=template_version(),
        question=key,
    )


def _without_secrets(text: str) -> str:
    masked, gaps = mask_secrets(text)
    return "[masked]" if gaps or not isinstance(masked, str) else masked


def _decision(policy: NlpPolicy, outcome: Outcome) -> Decided:
    if outcome is Outcome.CLEAR:
        return Decided.ALLOW
    return policy.draft.on_match.verdict if outcome is Outcome.MATCH else policy.draft.on_error


def unscannable(policy: NlpPolicy, reason: str, engine: str) -> NlpResult:
    """The result of ``on_unscannable``: no finding in the opened content, and some content could not be opened."""
    decision = policy.draft.if_unscannable
    passes = decision is Decided.ALLOW
    return replace(
        failed(policy, Failure.UNSCANNABLE.value, reason),
        outcome=Outcome.CLEAR if passes else Outcome.ERROR,
        decision=decision,
        risk_score=0.0 if passes else _WORST,
        engine=engine,
    )


def with_unscannable(policy: NlpPolicy, why: str | None, result: NlpResult) -> NlpResult:
    """What was found beside what cannot be opened (``why``) counts first, unless it lets the call pass."""
    if why is None or result.decision is not Decided.ALLOW:
        return result
    if result.outcome is Outcome.MATCH:
        told = replace(result, reasoning=f"{result.reasoning}. Not inspected wholly: {why}")
        return _tagged_in_part(policy, told, is_unscannable=True)
    return unscannable(policy, why, result.engine)


def failed(policy: NlpPolicy, error: str, reason: str) -> NlpResult:
    """Nobody said anything, which counts as the worst and does what ``on_error`` says."""
    return NlpResult(
        policy_id=policy.policy_id,
        version=policy.version,
        provider=policy.draft.provider,
        model=policy.model,
        outcome=Outcome.ERROR,
        decision=_decision(policy, Outcome.ERROR),
        risk_score=_WORST,
        confidence=0.0,
        issues=(),
        reasoning=reason,
        engine="none",
        latency_ms=0.0,
        error=error,
    )
