"""The rule behind a verdict: found where only one can have made it, and never guessed."""

import pytest

from headgate.policies.compile import compile_policy
from headgate.policies.deciding_rule import DecidingRule, deciding_rule

_HEAD = "package demo\n\n"
_TWO = """require_approval contains "payments wait" if {
    input.tool == "pay"
}

require_approval contains "große Beträge warten" if {
    input.params.amount > 10
}
"""
_CASES = [
    # source, verdict, reason, line, last line (None: not known)
    ('require_approval if input.tool == "pay"\n', "require_approval", None, 3, 3),
    ('require_approval if {\n    input.tool == "pay"\n}\nallow := true\n', "require_approval", "x", 3, 5),
    (_TWO, "require_approval", "payments wait", 3, 5),
    (_TWO, "require_approval", "große Beträge warten", 7, 9),
    (_TWO, "require_approval", "payments wait; große Beträge warten", None, None),
    (_TWO, "require_approval", "reason of the reason rule", None, None),
    (_TWO, "require_approval", None, None, None),
    (_TWO, "deny", "payments wait", None, None),
    ("default allow := false\n\nallow if input.x\n", "allow", None, 5, 5),
    ("default allow := true\n\nallow if input.x\n", "allow", None, None, None),
    ("default allow := true\n", "allow", None, 3, 3),
    ('deny contains m if {\n    m := "no"\n}\ndeny contains "never" if true\n', "deny", "no", None, None),
    ('deny contains m if {\n    m := "no"\n}\ndeny contains "never" if true\n', "deny", "never", 6, 6),
    ("# deny contains this\nallow := true\n", "deny", "this", None, None),
]


@pytest.mark.parametrize(("source", "verdict", "reason", "line", "last_line"), _CASES)
def test_the_rule(source: str, verdict: str, reason: str | None, line: int | None, last_line: int | None) -> None:
    text = _HEAD + source
    found = deciding_rule(compile_policy(text, b"{}").engine.ast(), text, verdict, reason)
    if line is None or last_line is None:
        assert found is None
    else:
        assert found == DecidingRule(line, last_line, "\n".join(text.split("\n")[line - 1 : last_line]))


@pytest.mark.parametrize("ast", [b"", b"[]", b"{}", b"null", b'{"rules": [{"Spec": {}}]}', b'{"rules": [{"Spec": 1}]}'])
def test_a_tree_of_another_engine_is_not_known(ast: bytes) -> None:
    assert deciding_rule(ast, "package x", "deny", None) is None
