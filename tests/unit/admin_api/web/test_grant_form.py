"""The rows of the grant form, and the conditions that its fields make."""

import pytest

from admin_api.grants.schemas import ApproveAndGrant
from admin_api.web.form import Form
from admin_api.web.grant_form import draft_of, read_grant, rows_of
from admin_api.web.grant_words import words_of
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ValidationError

_PARAMS: JsonObject = {
    "amount": 12.5,
    "to": "sales@example.com",
    "host": "api.example.com",
    "draft": True,
    "body": {"a/b": "x", "tags": ["one"]},
    "token": "[masked]",
}
_BOUNDS = {"max_uses": "3", "expires_in_seconds": "3600", "reason": "tonight", "which": "conditions"}


def _form(**fields: str) -> Form:
    return Form({name.replace("_row_", "-"): [value] for name, value in (_BOUNDS | fields).items()})


def _read(**fields: str) -> ApproveAndGrant:
    return read_grant(_form(**fields), rows_of(_PARAMS))


def test_a_row_for_each_value_with_the_conditions_it_can_meet() -> None:
    kinds = {row.param: [kind.value for kind in row.kinds] for row in rows_of(_PARAMS)}
    assert kinds == {
        "amount": ["this", "any", "one_of", "at_most", "at_least", "between"],
        "to": ["this", "any", "one_of", "prefix", "matches"],
        "host": ["this", "any", "one_of", "matches"],
        "draft": ["this", "any"],
        "/body/a~1b": ["this", "any", "one_of", "prefix", "matches"],
        "/body/tags": ["this", "any"],
        "token": ["any"],
    }


def test_objects_are_divided_only_while_a_grant_has_room() -> None:
    params: JsonObject = {f"p{number}": number for number in range(18)}
    assert len(rows_of({**params, "body": {"a": 1, "b": 2}})) == 20
    assert [row.param for row in rows_of({**params, "body": {"a": 1, "b": 2, "c": 3}})][-1] == "body"
    assert rows_of({f"p{number}": 0 for number in range(101)}) == []
    assert rows_of({"x" * 201: 1}) == []


def test_a_long_value_is_shown_by_its_beginning_and_not_offered() -> None:
    (row,) = rows_of({"text": "x" * 10_000})
    assert (row.shown, row.offered) == ('"' + "x" * 120 + '…"', "")
    (row,) = rows_of({"text": "exe\u202e"})
    assert (row.shown, row.offered) == ('"exe\u202e"', "")


def test_a_row_that_is_left_alone_keeps_the_value() -> None:
    body = _read()
    assert [one.given() for one in body.conditions or []] == [
        {"param": "amount", "equals": 12.5},
        {"param": "to", "equals": "sales@example.com"},
        {"param": "host", "equals": "api.example.com"},
        {"param": "draft", "equals": True},
        {"param": "/body/a~1b", "equals": "x"},
        {"param": "/body/tags", "equals": ["one"]},
    ]
    assert _read(which="exact").conditions is None


def test_each_condition_and_its_words() -> None:
    fields = {"kind_row_3": "any", "kind_row_5": "any"}
    fields |= {"kind_row_0": "between", "value_row_0": "1 to 1000"}
    fields |= {"kind_row_1": "prefix", "value_row_1": "sales@ "}
    fields |= {"kind_row_2": "one_of", "value_row_2": "api.example.com\n\nb.example.com\n"}
    fields |= {"kind_row_4": "matches", "value_row_4": "[a-z]+"}
    given = [one.given() for one in _read(**fields).conditions or []]
    assert given == [
        {"param": "amount", "at_least": 1, "at_most": 1000},
        {"param": "to", "prefix": "sales@ "},
        {"param": "host", "one_of": ["api.example.com", "b.example.com"]},
        {"param": "/body/a~1b", "matches": "[a-z]+"},
    ]
    assert [f"{one.param} {one.relation} {one.value}" for one in words_of(given)] == [
        "amount is at least 1",
        "amount is at most 1000",
        'to begins with "sales@ "',
        'host is one of "api.example.com", "b.example.com"',
        '/body/a~1b matches "[a-z]+"',
    ]


@pytest.mark.parametrize(
    ("fields", "place", "words"),
    [
        ({"kind_row_0": "at_most", "value_row_0": "many"}, "value-0", "not a number"),
        ({"kind_row_0": "at_most", "value_row_0": "1e999"}, "value-0", "not a number"),
        ({"kind_row_0": "between", "value_row_0": "1"}, "value-0", "two numbers"),
        ({"kind_row_1": "prefix", "value_row_1": ""}, "value-1", "required"),
        ({"kind_row_1": "this", "value_row_1": "other@example.com"}, "value-1", "does not use the value"),
        ({"kind_row_2": "prefix", "value_row_2": "api"}, "value-2", "Unknown condition"),
        ({"kind_row_6": "this"}, "value-6", "Unknown condition"),
        ({"which": "any"}, "which", "Unknown choice"),
        ({"max_uses": "0"}, "max_uses", "greater than or equal to 1"),
        ({"sum_param": "amount", "sum_at_most": "x"}, "sum_at_most", "not a number"),
    ],
)
def test_what_is_wrong_stands_at_its_field(fields: dict[str, str], place: str, words: str) -> None:
    form, rows = _form(**fields), rows_of(_PARAMS)
    with pytest.raises(ValidationError) as refused:
        read_grant(form, rows)
    ((named, reason),) = draft_of(form, rows, error=refused.value).problems.items()
    assert (named, words in reason) == (place, True), reason


def test_a_condition_that_the_grant_refuses_is_found_among_the_rows() -> None:
    form, rows = _form(kind_row_0="any", value_row_0="", kind_row_1="matches", value_row_1="("), rows_of(_PARAMS)
    body = read_grant(form, rows)
    with pytest.raises(ValidationError) as refused:
        body.scope(body.conditions, None)
    problems = draft_of(form, rows, error=refused.value).problems
    assert list(problems) == ["value-1"]
    assert "not an RE2 pattern" in problems["value-1"]


@pytest.mark.parametrize("typed", ["99,95", "500,00", "1,000", "1 5", "1.000,50", "1_0", "٣", "1e5", "inf", "0x10", ""])
def test_a_number_that_two_people_read_differently_is_refused(typed: str) -> None:
    with pytest.raises(ValidationError):
        _read(kind_row_0="at_most", value_row_0=typed)
