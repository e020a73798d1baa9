"""The warnings of saving a policy that depend on the others: whose deny or hold an allow takes the place of."""

from collections.abc import Iterable

from headgate.policies.compile import Libraries
from headgate.policies.known_conditions import known_conditions
from headgate.policies.model import PolicyMode, RulePolicy
from headgate.policies.shadowing import hidden_by_allow


def hiding_warnings(
    policy: RulePolicy, others: Iterable[RulePolicy], data: bytes, libraries: Libraries
) -> tuple[str, ...]:
    """One sentence for each policy that loses (or makes this one lose) a deny or a hold to an allow."""
    if not _decides(policy):
        return ()
    return hidden_by_allow(
        (policy, known_conditions(policy, data, libraries)),
        [(other, known_conditions(other, data, libraries)) for other in others if _decides(other)],
    )


def _decides(policy: RulePolicy) -> bool:
    return policy.enabled and policy.mode is PolicyMode.ENFORCE
