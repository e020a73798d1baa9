"""Formulas, and whether two of them can be true of one call."""

import pytest

from headgate.policies.formula import (
    FALSE,
    TRUE,
    CallKey,
    Field,
    Formula,
    OneOf,
    Present,
    all_of,
    any_of,
    at_least,
    at_most,
    can_hold_together,
    negation,
)

GITHUB = OneOf(Field.TOOL, frozenset({"github"}))
SLACK = OneOf(Field.TOOL, frozenset({"slack"}))
MERGE = OneOf(Field.OPERATION, frozenset({"merge"}))
WITH_HOST = Present(Field.HOST)
CALL = CallKey("github", "merge", None, None)


@pytest.mark.parametrize(
    ("formula", "holds"),
    [
        (TRUE, True),
        (FALSE, False),
        (GITHUB, True),
        (SLACK, False),
        (WITH_HOST, False),
        (negation(WITH_HOST), True),
        (all_of(GITHUB, MERGE), True),
        (all_of(GITHUB, SLACK), False),
        (any_of(SLACK, MERGE), True),
        (any_of(SLACK, WITH_HOST), False),
    ],
)
def test_holds(formula: Formula, holds: bool) -> None:
    assert formula.holds(CALL) is holds


def test_constants_vanish() -> None:
    assert all_of() == all_of(TRUE, TRUE) == TRUE
    assert any_of() == any_of(FALSE) == FALSE
    assert all_of(GITHUB, FALSE) == FALSE
    assert any_of(GITHUB, TRUE) == TRUE
    assert all_of(GITHUB, TRUE, GITHUB) == GITHUB
    assert negation(negation(GITHUB)) == GITHUB
    assert any_of(GITHUB, all_of(GITHUB, MERGE)) == GITHUB
    assert all_of(GITHUB, any_of(GITHUB, MERGE)) == GITHUB
    assert all_of(all_of(GITHUB, MERGE), WITH_HOST) == all_of(GITHUB, MERGE, WITH_HOST)
    assert negation(TRUE) == FALSE


def test_what_is_too_large_errs_to_the_safe_side() -> None:
    large = any_of(*(OneOf(Field.TOOL, frozenset({str(number)})) for number in range(300)))
    assert (at_most(large), at_least(large)) == (TRUE, FALSE)
    assert (at_most(GITHUB), at_least(GITHUB)) == (GITHUB, GITHUB)


@pytest.mark.parametrize(
    ("formulas", "possible"),
    [
        ([GITHUB, MERGE], True),
        ([GITHUB, SLACK], False),
        ([GITHUB, negation(GITHUB)], False),
        ([negation(GITHUB), negation(SLACK)], True),
        ([all_of(GITHUB, negation(MERGE)), MERGE], False),
        ([negation(WITH_HOST), GITHUB], True),
        ([FALSE], False),
        ([TRUE], True),
        ([OneOf(field, frozenset(map(str, range(20)))) for field in Field], True),  # too many kinds to try
    ],
)
def test_can_hold_together(formulas: list[Formula], possible: bool) -> None:
    assert can_hold_together(*formulas) is possible
