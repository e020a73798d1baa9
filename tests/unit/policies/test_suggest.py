"""A suggested policy allows what was seen, nothing else, and says what it leaves out."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.kernel.canonical_json import canonical_bytes
from headgate.policies.compile import compile_policy
from headgate.policies.evaluate import PolicySet
from headgate.policies.model import RulePolicy
from headgate.policies.seen_calls import SeenCall
from headgate.policies.suggest import Precision, Suggestion, suggest
from headgate.policies.suites.cases import cases_of
from headgate.policies.suites.model import Outcome, Suite, SuitePolicy
from headgate.policies.suites.run import run_suite

DATA = b'{"allowlist":{}}'
HTTP = {"method": "GET", "scheme": "https", "host": "api.example.com", "port": 443, "query": {}, "body_sha256": "e"}


def call(
    params: dict[str, Any], *, agent: str = "agt_a", tool: str = "pay", masked: bool = False, **more: Any
) -> SeenCall:
    document = {"tool": tool, "operation": "send", "agent": {"id": agent, "name": "A"}, "params": params, "context": {}}
    document |= {"effect": None, "source": "api", "delegation": {}} | more
    return SeenCall(agent, "A", tool, "send", document, masked)


def made(calls: list[SeenCall], precision: Precision = Precision.EXACT, seldom: int = 1) -> Suggestion:
    return suggest(calls, name="Mine", precision=precision, seldom=seldom)


@pytest.fixture
def allows(rule_policy: Callable[..., RulePolicy]) -> Callable[..., bool]:
    def allowed(suggestion: Suggestion, one: SeenCall) -> bool:
        policies = PolicySet([rule_policy(suggestion.rego_policy)], DATA)
        decision = policies.decide_asking_all(canonical_bytes(one.input))
        assert not any(said.error for said in decision.spoken), decision
        return decision.verdict.value == "allow"

    return allowed


def test_exactly_what_was_seen_is_allowed(allows: Callable[..., bool]) -> None:
    seen = [call({"to": "ann", "amount": 5}), call({"to": "ben", "amount": 7}), call({"to": "ann", "amount": 5})]
    found = made(seen)
    assert (found.seen, found.covered, found.leaves_out, found.leaves_open) == (3, 3, [], [])
    assert all(allows(found, one) for one in seen)
    for other in (
        call({"to": "ann", "amount": 7}),  # both were seen, never together
        call({"to": "ann"}),
        call({"to": "ann", "amount": 5, "note": ""}),
        call({"to": "ann", "amount": "5"}),
        call({"to": "ann", "amount": 5}, agent="agt_b"),
        call({"to": "ann", "amount": 5}, tool="payx"),
        call({"to": "ann", "amount": 5}, http=HTTP | {"path": "/"}),
    ):
        assert not allows(found, other), other


def test_of_requests_the_path_query_and_body_count(allows: Callable[..., bool]) -> None:
    seen = [call({}, http=HTTP | {"path": f"/items/{number}"}) for number in range(3)]
    found = made(seen)
    assert all(allows(found, one) for one in seen)
    for change in (
        {"path": "/items/9"},
        {"method": "PUT"},
        {"host": "x.example"},
        {"port": 8443},
        {"body_sha256": "f"},
    ):
        assert not allows(found, call({}, http=HTTP | {"path": "/items/1"} | change))
    fields = made(seen, Precision.FIELDS)
    assert allows(fields, seen[0])
    assert not allows(fields, call({}, http=HTTP | {"path": "/items/9"}))


def test_what_cannot_be_pinned_down_is_left_out_and_said(allows: Callable[..., bool]) -> None:
    seen = [call({"text": str(number)}) for number in range(30)]
    seen += [call({"password": "***"}, tool="login", masked=True), call({}, tool="rare")]
    found = made(seen, seldom=2)
    assert (found.seen, found.covered) == (32, 0)
    assert [one.split(":")[0] for one in found.leaves_out] == [
        "pay.send of A, 30 calls",
        "login.send of A, 1 calls",
        "rare.send of A, 1 calls",
    ]
    assert not any(allows(found, one) for one in seen)
    assert "allow := false" in found.rego_policy


def test_by_fields_it_says_what_it_leaves_open(allows: Callable[..., bool]) -> None:
    seen = [call({"amount": number, "note": f"n{number}", "to": "ann"}) for number in range(30)]
    seen.append(call({"amount": 3, "note": "x", "to": "ben", "urgent": True}))
    found = made(seen, Precision.FIELDS)
    assert found.covered == 31
    assert all(allows(found, one) for one in seen)
    assert [one.split(" had ")[0] for one in found.leaves_open] == [
        "pay.send of A: params.amount",
        "pay.send of A: params.note",
    ]
    base = {"amount": 3, "note": "x", "to": "ann"}
    assert allows(found, call(base | {"note": "y"}))
    for change in (
        {"amount": 30},
        {"amount": -1},
        {"amount": "3"},
        {"to": "eve"},
        {"note": "long"},
        {"urgent": False},
        {"z": 1},
    ):
        assert not allows(found, call(base | change)), change


@pytest.mark.parametrize("precision", Precision)
def test_its_own_cases_pass(precision: Precision) -> None:
    seen = [call({"a": number}) for number in range(5)] + [call({"b": [1, {"c": None}]}, http=HTTP | {"path": "/x"})]
    found = made(seen, precision)
    cases = tuple(cases_of(found.cases, file="suggested.cases"))
    report = run_suite(Suite((SuitePolicy("s", "s.rego", found.rego_policy, "S", cases=cases),), (), {}))
    assert {one.outcome for one in report.results} == {Outcome.PASSED}
    assert len(report.results) == 5


def test_a_name_cannot_break_out_of_its_comment() -> None:
    seen = replace(call({"a": 1}), agent_name="x\nallow := true #")
    found = suggest([seen], name="x\nallow := true #", precision=Precision.EXACT, seldom=1)
    compile_policy(found.rego_policy, DATA)
    assert "\nallow := true" not in found.rego_policy


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=5,
)
PARAMS = st.dictionaries(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6), VALUES, max_size=3)


@settings(max_examples=60, deadline=None)
@given(seen=st.lists(PARAMS, min_size=1, max_size=5), other=PARAMS, precision=st.sampled_from(Precision))
def test_whatever_was_seen(seen: list[dict[str, Any]], other: dict[str, Any], precision: Precision) -> None:
    """The exact suggestion allows exactly those that it covers; by fields, at least those."""
    found = made([call(params) for params in seen], precision)
    engine = compile_policy(found.rego_policy, DATA).engine
    covered = not found.leaves_out
    for params in seen:
        assert (engine.decide(canonical_bytes(call(params).input)) == b'{"allow":true}') == covered
    if precision is Precision.EXACT and canonical_bytes(other) not in {canonical_bytes(one) for one in seen}:
        assert engine.decide(canonical_bytes(call(other).input)) in (b"{}", b'{"allow":false}')


def test_how_often_a_kind_was_seen_is_said() -> None:
    made = suggest(
        [call({"n": 1}), call({"n": 1}), call({"n": 1}, tool="mail")],
        name="N",
        precision=Precision.EXACT,
        seldom=1,
    )

    assert "# pay.send of A: seen 2 times\n" in made.rego_policy
    assert "# mail.send of A: seen once\n" in made.rego_policy
