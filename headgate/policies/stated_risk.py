"""Whether the risk of a decision is somebody's statement, or what a decision has that nobody rates."""

from headgate.policies.combine import DEFAULT_RISK
from headgate.policies.model import Verdict


def is_risk_stated(verdict: Verdict, risk_level: str, *, is_named: bool) -> bool:
    """``is_named``: a policy that decided states a risk. Only a statement differs from the default of the verdict."""
    return is_named or risk_level != DEFAULT_RISK[verdict].value
