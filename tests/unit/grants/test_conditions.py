"""What a grant asks of params: exact, bounded, and not met by what is not there."""

from decimal import Decimal

import pytest

from headgate.grants.conditions import amount_of, param_of, parse_conditions
from headgate.kernel.errors import ValidationError

_PARAMS = {
    "path": "/repos/acme/site/issues",
    "amount": 100,
    "rate": 0.1,
    "draft": True,
    "host": "api.example.com",
    "query": {"state": ["open", "all"], "a/b": 1},
    "nothing": None,
}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"param": "amount", "equals": 100}, True),
        ({"param": "amount", "equals": 100.0}, True),
        ({"param": "amount", "equals": "100"}, False),
        ({"param": "draft", "equals": True}, True),
        ({"param": "draft", "equals": 1}, False),
        ({"param": "nothing", "equals": None}, True),
        ({"param": "absent", "equals": None}, False),
        ({"param": "path", "prefix": "/repos/acme/"}, True),
        ({"param": "path", "prefix": "/repos/acme2/"}, False),
        ({"param": "amount", "prefix": "1"}, False),
        ({"param": "host", "one_of": ["api.example.com", "b.example.com"]}, True),
        ({"param": "host", "one_of": ["example.com"]}, False),
        ({"param": "path", "matches": "/repos/acme/[a-z]+/issues"}, True),
        ({"param": "path", "matches": "/repos/acme/"}, False),
        ({"param": "amount", "at_most": 100}, True),
        ({"param": "amount", "at_most": 99.99}, False),
        ({"param": "amount", "at_least": 100, "at_most": 100}, True),
        ({"param": "rate", "at_least": 0.1, "at_most": 0.1}, True),
        ({"param": "draft", "at_least": 0, "at_most": 9}, False),
        ({"param": "path", "at_least": 0}, False),
        ({"param": "/query/state/0", "equals": "open"}, True),
        ({"param": "/query/state/00", "equals": "open"}, False),
        ({"param": "/query/state/2", "equals": "open"}, False),
        ({"param": "/query/a~1b", "equals": 1}, True),
        ({"param": "query.state", "equals": "open"}, False),
    ],
)
def test_a_condition(condition, holds) -> None:
    [parsed] = parse_conditions([condition])
    assert parsed.holds(_PARAMS) is holds


@pytest.mark.parametrize(
    "condition",
    [
        {},
        {"param": "amount"},
        {"param": "", "equals": 1},
        {"param": "amount", "equals": 1, "prefix": "1"},
        {"param": "amount", "contains": 1},
        {"param": "amount", "at_most": "9"},
        {"param": "amount", "at_most": True},
        {"param": "amount", "at_least": 2, "at_most": 1},
        {"param": "path", "prefix": ""},
        {"param": "path", "one_of": []},
        {"param": "path", "matches": "(a"},
        {"param": "path", "matches": "(a)\\1"},
        {"param": "path", "matches": "a" * 201},
        {"param": "host", "prefix": "api.example.com"},
        {"param": "/host", "prefix": "api.example.com"},
        {"param": "/a~2b", "equals": 1},
        {"param": "path", "equals": "x" * 3000},
    ],
)
def test_what_is_no_condition(condition) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_conditions([condition])
    assert refused.value.details["field"].startswith("conditions[0]")


def test_no_more_than_a_person_reads() -> None:
    with pytest.raises(ValidationError):
        parse_conditions([{"param": "a", "equals": 1}] * 21)


def test_amounts_are_exact() -> None:
    assert amount_of(0.1) == Decimal("0.1")
    assert amount_of(10**15) == Decimal(10**15)
    for none in (True, "1", None, 10**16, 1e300, [1]):
        assert amount_of(none) is None


def test_a_pattern_that_takes_a_backtracking_engine_for_ever_is_linear() -> None:
    [parsed] = parse_conditions([{"param": "text", "matches": "(a+)+b"}])
    assert not parsed.holds({"text": "a" * 100_000})


def test_the_name_itself_goes_before_nothing_else() -> None:
    assert param_of({"a.b": 1}, "a.b") == (True, 1)
    assert param_of({"a": {"b": 1}}, "a.b") == (False, None)
