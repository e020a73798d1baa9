"""Warnings at saving that depend on other policies: an allow that overrides a deny or a hold, and equal names."""

from collections.abc import Iterable

from headgate.policies.compile import Libraries
from headgate.policies.known_conditions import known_conditions
from headgate.policies.model import PolicyMode, RulePolicy
from headgate.policies.shadowing import hidden_by_allow


def warnings_beside(
    policy: RulePolicy, enabled: Iterable[RulePolicy], data: bytes, libraries: Libraries
) -> tuple[str, ...]:
    """``enabled``: all policies of the organization that are enabled; an earlier version of this one is left out."""
    others = [one for one in enabled if one.policy_id != policy.policy_id]
    return _namesake_warnings(policy, others) + hiding_warnings(policy, others, data, libraries)


def hiding_warnings(
    policy: RulePolicy, others: Iterable[RulePolicy], data: bytes, libraries: Libraries
) -> tuple[str, ...]:
    """One sentence for each policy whose deny or hold an allow overrides."""
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


def _namesake_warnings(policy: RulePolicy, others: Iterable[RulePolicy]) -> tuple[str, ...]:
    """Two policies of one name both decide, so changing one of them has no visible effect."""
    ids = ", ".join(one.policy_id for one in others if one.name == policy.name)
    return (f"another policy has the same name: {ids}; update that policy to replace it",) if ids else ()


def _decides(policy: RulePolicy) -> bool:
    return policy.enabled and policy.mode is PolicyMode.ENFORCE
