"""Whether the risk of a decision is somebody's statement, or what a decision has that nobody rates."""

from headgate.policies.combine import DEFAULT_RISK
from headgate.policies.model import Decision, RiskLevel, Verdict


def is_risk_stated(verdict: Verdict, risk_level: str, *, is_named: bool) -> bool:
    """``is_named``: a policy that decided states a risk. Only a statement differs from the default of the verdict."""
    return is_named or risk_level != DEFAULT_RISK[verdict].value


def stated_risk(decision: Decision) -> RiskLevel | None:
    """The risk that a policy behind the verdict states, or a stop or a canary token. None: nobody states one."""
    is_named = any(one.risk_level is not None for one in decision.spoken if one.verdict is decision.verdict)
    is_stated = is_risk_stated(decision.verdict, decision.risk_level.value, is_named=is_named)
    return decision.risk_level if is_stated else None
