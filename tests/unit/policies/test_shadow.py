"""What the decision would have been with one more policy, without asking the others again."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from headgate.policies.evaluate import PolicySet
from headgate.policies.model import PolicyMode, RulePolicy
from headgate.policies.shadow import ShadowSet

DATA = b'{"allowlist":{}}'
INPUT = b'{"tool":"mail","operation":"send","params":{}}'
CALL = {"tool": "mail", "operation": "send", "host": None, "method": None}
SAYING = {
    "deny": 'package p\ndeny contains "no"',
    "require_approval": "package p\nrequire_approval := true",
    "allow": "package p\nallow := true",
    "none": 'package p\nallow if input.tool == "other"',
    "error": "package p\ndeny if to_number(input.tool) > 1",
}


@pytest.mark.parametrize("enforced", SAYING)
@pytest.mark.parametrize("watching", SAYING)
@pytest.mark.parametrize("priority", [50, 100, 150])
def test_it_is_what_enforcing_it_would_decide(
    rule_policy: Callable[..., RulePolicy], enforced: str, watching: str, priority: int
) -> None:
    deciding = rule_policy(SAYING[enforced], policy_id="pol_a", priority=100)
    later = rule_policy(SAYING["allow"], policy_id="pol_b", priority=200)
    shadow = replace(rule_policy(SAYING[watching], policy_id="pol_c", priority=priority), mode=PolicyMode.SHADOW)
    decision = PolicySet([deciding, later, shadow], DATA).decide(INPUT, **CALL)
    with_it = PolicySet([deciding, later, replace(shadow, mode=PolicyMode.ENFORCE)], DATA).decide(INPUT, **CALL)
    [answer] = ShadowSet([deciding, later, shadow], DATA).ask(decision, INPUT, **CALL)
    assert answer.would is with_it.verdict
    assert (answer.said is None) == (watching == "none")


def test_it_decides_nothing(rule_policy: Callable[..., RulePolicy]) -> None:
    shadow = replace(rule_policy(SAYING["allow"]), mode=PolicyMode.SHADOW)
    decision = PolicySet([shadow], DATA).decide(INPUT, **CALL)
    assert (decision.verdict, decision.policy_id) == ("deny", None)


def test_what_is_disabled_or_quarantined_is_not_evaluated(rule_policy: Callable[..., RulePolicy]) -> None:
    off = replace(rule_policy(SAYING["allow"], enabled=False), mode=PolicyMode.SHADOW)
    suspect = replace(rule_policy("not rego", quarantine="it crashed"), mode=PolicyMode.SHADOW)
    shadows = ShadowSet([off, suspect], DATA)
    [answer] = shadows.ask(PolicySet([], DATA).decide(INPUT, **CALL), INPUT, **CALL)
    assert answer.said is not None
    assert "quarantined: it crashed" in (answer.said.error or "")
