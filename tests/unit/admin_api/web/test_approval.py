"""What of a request stands first on its page, and what is only repeated by the request line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admin_api.web.approval import DiffLine, body_of, diff_of, facts_of, origin_of
from headgate.kernel.canonical_json import JsonObject

_HEADERS: JsonObject = {"accept": "*/*", "user-agent": "curl"}
_HTTP: JsonObject = {
    "method": "POST",
    "scheme": "https",
    "host": "api.example.com",
    "port": 443,
    "path": "/a",
    "headers": _HEADERS,
}
_LINE: JsonObject = {"scheme": "https", "host": "api.example.com", "port": 443, "path": "/a"}


@pytest.mark.parametrize(
    ("params", "facts"),
    [
        ({}, []),
        ({"note": "x", "to": "ada", "amount": 5}, [("amount", "5"), ("to", "ada"), ("note", "x")]),
        ({"amount": None, "to": ["ada"], "deep": {"a": 1}}, []),
        ({"text": "x" * 61, "flag": True}, [("flag", "true")]),
    ],
)
def test_facts_are_short_values_the_amount_and_the_recipient_first(
    params: JsonObject, facts: list[tuple[str, str]]
) -> None:
    assert facts_of(params) == facts


def test_what_the_catalogue_names_comes_first() -> None:
    params: JsonObject = {"amount": 5, "title": "Fix", "repo": "site", "labels": ["x"]}
    assert facts_of(params, ("repo", "labels", "title")) == [("repo", "site"), ("title", "Fix"), ("amount", "5")]


@pytest.mark.parametrize(
    ("params", "shown"),
    [
        (_LINE | {"body": {"a": 1}}, {"a": 1}),
        (_LINE | {"body": {"a": 1}, "more": 2}, {"body": {"a": 1}, "more": 2}),
        (_LINE | {"path": "/other"}, {"path": "/other"}),
        (_LINE | {"body": "text"}, {"body": "text"}),
        (_LINE | {"body": {"a": 1}, "headers": {"accept": "*/*"}}, {"a": 1}),
        (_LINE | {"headers": {"accept": "text/html"}}, {"headers": {"accept": "text/html"}}),
        (_LINE, {}),
    ],
)
def test_only_what_the_request_line_says_is_left_out(params: JsonObject, shown: JsonObject) -> None:
    assert body_of(params, _HTTP) == shown


@pytest.mark.parametrize(
    ("params", "name", "path"),
    [
        ({"to": "a"}, "to", "params.to"),
        ({"a.to": "a"}, "a.to", 'params["a.to"]'),
        (_LINE | {"body": {"to": "a"}}, "to", "params.body.to"),
        (_LINE | {"body": {"to": "a"}, "to": "b"}, "to", "params.to"),
    ],
)
def test_the_origin_of_a_fact_is_that_of_its_path(params: JsonObject, name: str, path: str) -> None:
    everywhere: JsonObject = {"params.to": "x", "params.body.to": "x", 'params["a.to"]': "x", "params.a": {"to": "x"}}
    shown = body_of(params, _HTTP)
    assert origin_of({**everywhere, path: "this"}, params, shown, name) == "this"
    assert origin_of({}, params, shown, name) is None


def test_a_difference_keeps_what_is_the_same() -> None:
    assert diff_of({"a": 1, "b": 2}, {"a": 1, "b": 3}) == [
        DiffLine(" ", "{"),
        DiffLine(" ", '  "a": 1,'),
        DiffLine("-", '  "b": 2'),
        DiffLine("+", '  "b": 3'),
        DiffLine(" ", "}"),
    ]


_TEXTS = st.lists(st.integers(0, 3), max_size=150)


@given(_TEXTS, _TEXTS)
def test_a_difference_has_all_of_both(before: list[int], after: list[int]) -> None:
    """Line by line, or beyond a number of lines as a whole."""
    lines = diff_of(list(before), list(after))
    assert [one.text for one in lines if one.sign != "+"] == json.dumps(before, indent=2).split("\n")
    assert [one.text for one in lines if one.sign != "-"] == json.dumps(after, indent=2).split("\n")


@pytest.mark.parametrize("rows", [["a" * 500_000, "x"], [f"row {number}" for number in range(20_000)]])
def test_a_difference_of_a_large_request_is_found_in_time(rows: list[str]) -> None:
    """Letter by letter, or each line with each other, it would take hours."""
    changed = diff_of(list(rows), [f"{one}!" for one in rows])
    assert sum(one.sign == "-" for one in changed) == len(rows)
