"""The index's conditions are told in words that a policy's author knows."""

import pytest

from headgate.policies.compile import compile_policy
from headgate.policies.formula_text import formula_text

HEAD = "package t.p\nimport rego.v1\n"


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ('deny if input.tool == "github"', 'input.tool == "github"'),
        (
            'deny if { input.tool == "github"; not input.http.method in {"GET", "HEAD"} }',
            'input.tool == "github" and not input.http.method in {"GET", "HEAD"}',
        ),
        (
            'deny if { input.tool == "a"; input.http.host == "x.example" }\nallow if input.tool in {"b", "c"}',
            'input.tool in {"b", "c"} or (input.tool == "a" and input.http.host == "x.example")',
        ),
        ("deny if input.params.amount > 3", "always"),
        ("helper if true", "never"),
    ],
)
def test_when_a_policy_is_asked(rules: str, text: str) -> None:
    assert formula_text(compile_policy(HEAD + rules, b"{}").conditions.concerns) == text
