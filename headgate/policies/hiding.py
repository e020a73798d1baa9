"""Warnings at saving a policy that depend on other policies: an allow replaces a deny or a hold; equal names."""

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
        [
            (other, known_conditions(other, data, libraries))
            for other in others
            if _decides(other) and other.priority != policy.priority
        ],
    )


def namesake_warnings(policy: RulePolicy, others: Iterable[RulePolicy]) -> tuple[str, ...]:
    """A policy added twice decides twice, and a change of one of them has no visible effect."""
    ids = ", ".join(one.policy_id for one in others if one.name == policy.name)
    return (f"another policy has the same name: {ids}; update that policy to replace it",) if ids else ()


def _decides(policy: RulePolicy) -> bool:
    return policy.enabled and policy.mode is PolicyMode.ENFORCE
