"""Who is told that an allow decides before a deny or a hold."""

from collections.abc import Callable

import pytest

from headgate.policies.compile import compile_policy
from headgate.policies.defaults import DefaultPolicy, default_policies
from headgate.policies.hiding import hiding_warnings
from headgate.policies.model import RulePolicy
from headgate.policies.shadowing import hidden_by_allow

HEAD = "package t\nimport rego.v1\n"


@pytest.mark.parametrize(
    ("saved", "saved_priority", "other", "warning"),
    [
        (
            "allow := true",
            10,
            "deny := true",
            'calls that "saved" (priority 10) allows never reach the deny of "other"',
        ),
        ('allow if input.tool == "a"', 10, 'require_approval if input.tool in {"a", "b"}', "the hold of"),
        ("allow := true", 10, "deny if input.x\nrequire_approval if input.y", "the deny or hold of"),
        ('allow if input.tool == "a"', 10, 'deny if input.tool == "b"', None),
        ("allow := true", 10, "allow if input.x", None),
        ("allow := true", 100, "deny := true", None),  # of one priority the strictest wins
        (
            "deny := true",
            200,
            "allow := true",
            'calls that "other" (priority 100) allows never reach the deny of "saved"',
        ),
        ("deny := true", 10, "allow := true", None),
    ],
)
def test_hidden_by_allow(
    rule_policy: Callable[..., RulePolicy], saved: str, saved_priority: int, other: str, warning: str | None
) -> None:
    def conditioned(rules: str, name: str, priority: int) -> tuple[RulePolicy, object]:
        policy = rule_policy(HEAD + rules, policy_id=f"pol_{name}", name=name, priority=priority)
        return policy, compile_policy(policy.rego_policy, b"{}").conditions

    warnings = hidden_by_allow(conditioned(saved, "saved", saved_priority), [conditioned(other, "other", 100)])  # type: ignore[arg-type, list-item]  # conditions
    assert len(warnings) == (warning is not None)
    assert warning is None or warning in warnings[0]


@pytest.mark.parametrize("default", default_policies(), ids=lambda one: one.key)
def test_every_allow_of_an_organization_decides_before_the_defaults(
    rule_policy: Callable[..., RulePolicy], default: DefaultPolicy
) -> None:
    def hidden(text: str) -> tuple[str, ...]:
        own = rule_policy(HEAD + "allow := true", policy_id="pol_own", name="own", priority=100)
        last = rule_policy(text, policy_id="pol_last", name=default.name, priority=default.priority)
        return hiding_warnings(own, [last], b'{"allowlist": {}}', ())

    assert hidden(default.rego_policy) == ()
    (warning,) = hidden(default.rego_policy + '\ndeny if input.http.host == "a.example"\n')
    assert "allows never reach the deny" in warning


def test_the_allow_of_a_default_policy_hides_a_later_deny(rule_policy: Callable[..., RulePolicy]) -> None:
    (providers,) = (one for one in default_policies() if one.key == "model_providers")
    default = rule_policy(providers.rego_policy, policy_id="pol_first", name=providers.name, priority=999)
    own = rule_policy(HEAD + "deny := true", policy_id="pol_own", name="own", priority=1000)
    (warning,) = hiding_warnings(own, [default], b'{"allowlist": {}}', ())
    assert warning.startswith(f'calls that "{providers.name}" (priority 999) allows never reach the deny of "own"')
