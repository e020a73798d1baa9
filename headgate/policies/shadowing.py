"""Shadowed policies: an allow at an earlier priority decides before them.

It is easy to forget that the first priority with a verdict decides. Saving a policy therefore names the denies and
holds that its allow overrides (semantics.md, "Combining and voting").
"""

from collections.abc import Iterable

from headgate.policies.conditions import Conditions
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
            if earlier[0].priority < later[0].priority and (lost := _lost(earlier[1], later[1])):
                warnings.append(
                    f'calls that "{earlier[0].name}" (priority {earlier[0].priority}) allows never reach the'
                    f' {" or ".join(lost)} of "{later[0].name}" (priority {later[0].priority})'
                )
    return tuple(warnings)


def _lost(earlier: Conditions, later: Conditions) -> list[str]:
    allow = earlier.speaks[Verdict.ALLOW]
    return [word for verdict, word in _RESTRICTIONS.items() if can_hold_together(allow, later.speaks[verdict])]
