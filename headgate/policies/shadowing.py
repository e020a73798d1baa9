"""Shadowed policies: an allow at an earlier priority decides before them.

It is easy to forget that the first priority with a verdict decides. Saving a policy therefore names the denies and
holds that its allow overrides (semantics.md, "Combining and voting"). The default policies are no such case: they
decide what no policy of the organization does, so that every allow of an organization decides before them.
"""

from collections.abc import Iterable

from headgate.policies.conditions import Conditions
from headgate.policies.defaults import default_policies
from headgate.policies.formula import can_hold_together
from headgate.policies.model import RulePolicy, Verdict

_RESTRICTIONS = {Verdict.DENY: "deny", Verdict.REQUIRE_APPROVAL: "hold"}


def hidden_by_allow(
    saved: tuple[RulePolicy, Conditions], others: Iterable[tuple[RulePolicy, Conditions]]
) -> tuple[str, ...]:
    """One sentence for each policy whose deny or hold an allow of an earlier priority overrides."""
    warnings: list[str] = []
    for other in others:
        for earlier, later in ((saved, other), (other, saved)):
            if _is_default(later[0]):
                continue
            if earlier[0].priority < later[0].priority and (lost := _lost(earlier[1], later[1])):
                warnings.append(
                    f'calls that "{earlier[0].name}" (priority {earlier[0].priority}) allows never reach the'
                    f' {" or ".join(lost)} of "{later[0].name}" (priority {later[0].priority})'
                )
    return tuple(warnings)


def _lost(earlier: Conditions, later: Conditions) -> list[str]:
    allow = earlier.speaks[Verdict.ALLOW]
    return [word for verdict, word in _RESTRICTIONS.items() if can_hold_together(allow, later.speaks[verdict])]


def _is_default(policy: RulePolicy) -> bool:
    """Unchanged, whatever the organization calls it."""
    return any(policy.rego_policy == one.rego_policy for one in default_policies())
