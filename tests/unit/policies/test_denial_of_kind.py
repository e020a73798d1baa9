"""Whether every call of one kind is denied: never said of a kind of which one call is not."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.policies.defaults import default_policies
from headgate.policies.evaluate import PolicySet
from headgate.policies.model import Decision, RulePolicy, Verdict

_NOW = datetime(2026, 11, 22, tzinfo=UTC)
_ALLOW = "allow := true"
_CALL = {"tool": "files", "operation": "save"}


def policy(text: str, priority: int = 100) -> RulePolicy:
    rego = text if text.startswith(("package", "#")) else f"package t\nimport rego.v1\n{text}"
    return RulePolicy(f"pol_{priority}_{len(text)}", 1, "one", None, rego, True, priority, None, _NOW, _NOW, "org_a")


def asked(*policies: RulePolicy, params: object = None, **members: object) -> tuple[Decision | None, Decision]:
    """What is said of all calls, and of the one with these params."""
    made = PolicySet(policies, b'{"names": ["save"]}')
    http = {"host": "a.example", "method": "POST", "path": "/mcp", "body_size": 80, "headers": {}, "query": {}}
    call = {**_CALL, "effect": "write", "http": http, "agent": {"id": "agt_1"}, "mcp": {"name": "save"}, **members}
    key = {"tool": "files", "operation": str(call["operation"]), "host": "a.example", "method": "POST"}
    smallest = json.dumps({**call, "params": {}}).encode()
    return made.denial_of_kind(smallest, **key), made.decide(
        json.dumps({**call, "params": params or {}}).encode(), **key
    )


@pytest.mark.parametrize(
    "text",
    [
        'deny contains "no" if input.operation == "save"',
        'deny contains "no" if input.action.operation == "save"',
        'deny if startswith(input.mcp.name, "sa")',
        'deny if { input.agent.id == "agt_1"; input.http.path == "/mcp" }',
        "deny if input.operation in data.names",
        "deny if input.http.body_size < 1000",
        'deny if not input.http.headers["x-ticket"]',
        "deny if data.t.other\nother := true",
        'allow if input.operation == "read"',
        "allow := 1",
        'deny if named\nnamed if input.operation == "save"\nrequire_approval if not input.params.to',
        'deny if input.operation == "save"\nallow if input.params.to == "me"\nreason := input.params.why',
    ],
)
def test_all_calls_are_denied(text: str) -> None:
    of_kind, of_one = asked(policy(text))
    assert of_kind is not None
    assert (of_kind.verdict, of_kind.policy_id) == (Verdict.DENY, of_one.policy_id)


@pytest.mark.parametrize(
    "text",
    [
        'deny if not endswith(input.params.to, "@corp.example")',
        'deny if not endswith(input["params"].to, "@corp.example")',
        'deny if { some name in ["params"]; not input[name].to }',
        'deny if { not object.get(input, ["params", "to"], false) }',
        "deny if not to\nto := input.params.to",
        "deny if not sent(input)\nsent(call) if call.params.to",
        "import input.params as given\ndeny if not given.to",
        "deny if { not input.mcp.params._meta }",
        'deny if input.http.body_sha256 != "sha256:"',
        "deny if not input.session.allowed",
        "deny if not input.provenance.to",
        "deny if not input.context.ticket",
        "deny if time.now_ns() > 0",
        "import data.lib.mail\ndeny if not mail.inside",
        "deny if not data.lib.mail.inside",
        _ALLOW,
        'require_approval contains "ask"',
        'deny if input.operation == "read"\nallow if input.params.to',
        'deny if input.operation == "read"\nallow := 1 / count(input.params)',
        "deny if named\nnamed if not input.params.to\nallow := true",
        "deny if data.t.named\nnamed if not input.params.to",
        "deny if named(1)\nnamed(x) if { x == 1; not input.params.to }",
    ],
)
def test_some_call_may_pass(text: str) -> None:
    assert asked(policy(text))[0] is None


def test_who_speaks_first_may_allow() -> None:
    denies = policy("deny := true")
    reads_params = policy('allow if input.params.to == "me"', 1)
    assert asked(reads_params, denies)[0] is None
    elsewhere = policy('allow if { input.operation == "read"; input.params.to }', 1)
    assert asked(elsewhere, denies)[0] is not None
    assert asked(denies, policy('allow if input.params.to == "me"', 200))[0] is not None
    assert asked(denies, policy('allow if input.params.to == "me"'))[0] is not None, (
        "of one priority the strictest wins"
    )
    assert asked(policy(_ALLOW, 1), denies)[0] is None


def test_a_policy_that_cannot_be_used_denies_every_call() -> None:
    assert asked(policy("allow if {"))[0] is not None


def test_the_default_policies_deny_what_destroys() -> None:
    defaults = [policy(one.rego_policy, one.priority) for one in default_policies()]
    assert asked(*defaults, operation="delete_repo")[0] is not None
    assert asked(*defaults, operation="save")[0] is None


_TEXTS = st.sampled_from(
    [
        "deny := true",
        'deny if input.operation == "save"',
        "deny if not input.params.to",
        'deny if input.params.to == "you"',
        _ALLOW,
        'allow if input.params.to == "me"',
        'require_approval contains "ask" if input.params.to',
        'allow if input.operation == "read"',
        'deny if input.operation == "save"\nallow if input.params.to == "me"',
        'deny if input.operation == "read"\nallow if input.params.to == "me"',
        "deny if named\nnamed if not input.params.to\nallow := true",
    ]
)


@given(
    st.lists(st.tuples(_TEXTS, st.sampled_from([1, 2])), max_size=4),
    st.sampled_from([{}, {"to": "me"}, {"to": "you"}, {"to": ""}]),
)
def test_no_call_of_a_denied_kind_passes(written: list[tuple[str, int]], params: dict[str, str]) -> None:
    of_kind, of_one = asked(*(policy(text, priority) for text, priority in written), params=params)
    assert of_kind is None or of_one.verdict is Verdict.DENY
