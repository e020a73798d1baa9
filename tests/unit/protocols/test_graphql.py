"""GraphQL over HTTP: what a request runs is found out whatever hides it, or the request is refused."""

import hashlib
import json
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.kernel.canonical_json import JsonValue, canonical_bytes
from headgate.kernel.errors import AmbiguousRequestError, HeadgateError, PayloadTooLargeError
from headgate.protocols.body import BodyReading, read_body
from headgate.protocols.graphql import GraphqlRequest, read_graphql
from headgate.protocols.graphql_document import NESTING_MAX, TEXT_CHARACTERS_MAX, TOKENS_MAX
from headgate.protocols.query import parse_pairs

_REFUSALS = (AmbiguousRequestError, PayloadTooLargeError)
_DELETE = 'issueDelete(id: "a")'


def post(message: JsonValue, query: str = "") -> GraphqlRequest | None:
    body = read_body(json.dumps(message).encode(), "application/json", None, reading=BodyReading.JSON)
    return read_graphql("POST", parse_pairs(query, field="query"), body)


def get(**members: str) -> GraphqlRequest | None:
    return read_graphql("GET", parse_pairs(urlencode(members), field="query"), read_body(b"", None, None))


def runs(text: str, **members: JsonValue) -> list[tuple[str, JsonValue]]:
    """The root fields, their arguments; the kind before them."""
    request = post({"query": text, **members})
    assert request is not None
    return [(request.kind.value, None), *((one.name, one.arguments) for one in request.fields)]


def names(text: str, **members: JsonValue) -> list[str]:
    return [name for name, _ in runs(text, **members)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{viewer{id}}", ["query", "viewer"]),
        ("query issueDelete {viewer{id}}", ["query", "viewer"]),
        ("mutation {viewer: " + _DELETE + "{success}}", ["mutation", "issueDelete"]),
        ("mutation M {...F} fragment F on Mutation {" + _DELETE + "{success}}", ["mutation", "issueDelete"]),
        ("mutation {...A} fragment A on X {...B} fragment B on Y {...A " + _DELETE + "}", ["mutation", "issueDelete"]),
        ("mutation {... {... on Query {x: " + _DELETE + "}}}", ["mutation", "issueDelete"]),
        ("mutation {" + _DELETE + " @skip(if: true)}", ["mutation", "issueDelete"]),
        ("mutation {... @include(if: false) {" + _DELETE + "}}", ["mutation", "issueDelete"]),
        ("mutation($no: Boolean = false) {a " + _DELETE + " @include(if: $no)}", ["mutation", "a", "issueDelete"]),
        ("\ufeffmutation#{viewer}\n{,," + _DELETE + "}", ["mutation", "issueDelete"]),
        ("mutation {a: " + _DELETE + ' b: issueDelete(id: "b")}', ["mutation", "issueDelete", "issueDelete"]),
        ("mutation {" + _DELETE + "{success} " + _DELETE + "{lastSyncId}}", ["mutation", "issueDelete"]),
        ("mutation {__typename " + _DELETE + "}", ["mutation", "issueDelete"]),
        ("{t: __typename}", ["query", "__typename"]),
        ("subscription {issueUpdated {id}}", ["subscription", "issueUpdated"]),
        ('{a(text: "} mutation {issueDelete}")}', ["query", "a"]),
    ],
)  # fmt: skip
def test_what_a_document_runs(text: str, found: list[str]) -> None:
    assert names(text) == found


def test_the_named_operation_runs() -> None:
    text = "query A {viewer} mutation B {" + _DELETE + "}"
    assert names(text, operationName="A") == ["query", "viewer"]
    assert names(text, operationName="B") == ["mutation", "issueDelete"]
    assert names("{viewer}", operationName="") == ["query", "viewer"]


@pytest.mark.parametrize(
    "message",
    [
        [{"query": "{viewer}"}],
        "query",
        {"query": ["{viewer}"]},
        {"query": "query A {a} mutation B {b}"},
        {"query": "query A {a} mutation B {b}", "operationName": ""},
        {"query": "query A {a}", "operationName": "B"},
        {"query": "{a}", "operationName": 1},
        {"query": "query A {a} mutation A {b}", "operationName": "A"},
        {"query": "{a} mutation B {b}", "operationName": "B"},
        {"query": "{...F}"},
        {"query": "{...F} fragment F on Q {a} fragment F on Q {b}"},
        {"query": "{x: a x: b}"},
        {"query": "{x: a(i: 1) x: a(i: 2)}"},
        {"query": "{a(i: 1, i: 2)}"},
        {"query": "{a(i: {b: 1, b: 2})}"},
        {"query": "{a(i: $missing)}"},
        {"query": "query($a: Int, $a: Int) {a(i: $a)}"},
        {"query": "{a(i: 1e999)}"},
        {"query": "{a(i: " + "1" * 5000 + ")}"},
        {"query": 'query {a} extend type Query {b: Int} "x"'},
        {"query": "type Query {b: Int}"},
        {"query": "{a"},
        {"query": "#"},
        {"query": "{a}", "variables": "{}"},
        {"query": "{a}", "variables": []},
        {"query": "{a}", "extensions": []},
        {"query": "{a}", "extensions": {"persistedQuery": {"sha256Hash": "0" * 64}}},
        {"query": "{a}", "extensions": {"persistedQuery": "x"}},
        {"query": "{a}", "id": "stored"},
        {"query": "{a}", "documentId": "stored"},
        {"query": "{a" * (NESTING_MAX + 1) + "}" * (NESTING_MAX + 1)},
        {"query": "{a(i: " + "[" * 500 + "]" * 500 + ")}"},
        {"query": "{" + "a " * TOKENS_MAX + "}"},
        {"query": "{" + "a(i: []) " * TOKENS_MAX + "}"},
        {"query": "{a}" + " " * TEXT_CHARACTERS_MAX},
    ],
    ids=lambda message: json.dumps(message)[:60],
)  # fmt: skip
def test_what_can_be_read_in_two_ways_or_none_is_refused(message: JsonValue) -> None:
    with pytest.raises(_REFUSALS):
        post(message)


def test_a_post_says_everything_in_its_body() -> None:
    for query in ("query={b}", "operationName=B", "x=1"):
        with pytest.raises(AmbiguousRequestError):
            post({"query": "{a}"}, query.replace("{", "%7B").replace("}", "%7D"))


def test_a_get() -> None:
    request = get(query="query($id: ID!) {issue(id: $id) {id}}", variables='{"id": "A-1"}')
    assert request is not None and request.fields[0].arguments == {"id": "A-1"}
    assert get(extensions='{"persistedQuery": {"sha256Hash": "00"}}') is None
    for members in ({"query": "{a}", "variables": "{"}, {"query": "{a}", "id": "1"}):
        with pytest.raises(AmbiguousRequestError):
            get(**members)
    with pytest.raises(AmbiguousRequestError):
        read_graphql("GET", (("query", "{a}"), ("query", "{b}")), read_body(b"", None, None))
    body = read_body(b'{"query": "mutation {b}"}', None, None, reading=BodyReading.JSON)
    with pytest.raises(AmbiguousRequestError):
        read_graphql("GET", (("query", "{a}"),), body)


def test_without_text_nothing_is_known() -> None:
    for message in ({}, {"query": None}, {"id": "stored"}, {"extensions": {"persistedQuery": {"sha256Hash": "00"}}}):
        assert post(message) is None
    text = "{viewer}"
    stored: JsonValue = {"persistedQuery": {"version": 1, "sha256Hash": hashlib.sha256(text.encode()).hexdigest()}}
    assert names(text, extensions=stored) == ["query", "viewer"]


def test_arguments_are_json() -> None:
    text = """mutation($title: String = "t", $team: ID!, $gone: Int, $null: Int = 5, $ids: [ID!]) {
      create(input: {title: $title, teamId: $team, gone: $gone, list: [$gone, 1, -2.5, true, null, HIGH], n: $null,
        text: "a\\u00e9\\"", block: \"\"\"
          two
            lines
        \"\"\"}, gone: $gone, ids: $ids)
    }"""
    given: JsonValue = {"team": "T", "null": None, "ids": ["a"], "unused": 1}
    assert runs(text, variables=given)[1] == (
        "create",
        {
            "input": {
                "title": "t", "teamId": "T", "list": [None, 1, -2.5, True, None, "HIGH"], "n": None,
                "text": 'aé"', "block": "two\n  lines",
            },
            "ids": ["a"],
        },
    )  # fmt: skip


def test_a_large_variable_may_be_named_but_not_again_and_again() -> None:
    large = "x" * (1 << 20)
    assert names("query($x: String) {a(x: $x)}", variables={"x": large}) == ["query", "a"]
    with pytest.raises(PayloadTooLargeError):
        post({"query": "query($x: String) {a(x: [" + "$x " * 11 + "])}", "variables": {"x": large}})


_PIECES = st.sampled_from(
    ["{", "}", "(", ")", "[", "]", ":", "$", "!", "=", "@", "|", "&", "...", '"', '"""', "\\", "#", "\n", ",", " ",
     "on ", "query ", "mutation ", "subscription ", "fragment ", "F ", "a ", "b ", "1 ", "-1.5e3 ", "null ", "true ",
     "$a ", "@skip(if: true) ", "extend ", "schema ", "\\u{1F600}", "\\ud83d", "\ufeff", "\0", "é", "\U0001f600"]
)  # fmt: skip
_TEXTS = st.lists(_PIECES, max_size=40).map("".join) | st.text(max_size=60)
_JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=4)


@settings(max_examples=400, deadline=None)
@given(
    text=_TEXTS | _JSON,
    name=st.sampled_from([None, "", "a", "F"]) | _JSON,
    variables=st.dictionaries(st.sampled_from("ab"), _JSON) | _JSON,
    method=st.sampled_from(["POST", "GET"]),
)
def test_anything_is_read_or_refused(text: JsonValue, name: JsonValue, variables: JsonValue, method: str) -> None:
    try:
        request = (
            post({"query": text, "operationName": name, "variables": variables})
            if method == "POST"
            else get(query=str(text), variables=str(variables))
        )
    except HeadgateError as error:
        assert isinstance(error, _REFUSALS)
        return
    if request is not None:
        assert request.fields
        canonical_bytes([one.arguments for one in request.fields])


@settings(max_examples=300, deadline=None)
@given(body=st.binary(max_size=80), query=st.binary(max_size=30))
def test_any_bytes_raise_nothing_but_refusals(body: bytes, query: bytes) -> None:
    try:
        read = read_body(body, None, None, reading=BodyReading.JSON)
        read_graphql("POST" if body else "GET", parse_pairs(query.decode("latin-1"), field="query"), read)
    except HeadgateError as error:
        assert isinstance(error, _REFUSALS)


_ROOTS = st.lists(st.sampled_from(["issueDelete", "issueCreate", "viewer"]), min_size=1, max_size=5)


@settings(max_examples=200, deadline=None)
@given(roots=_ROOTS, data=st.data())
def test_no_wrapping_hides_a_mutation(roots: list[str], data: st.DataObject) -> None:
    selections, fragments = "", ""
    for number, root in enumerate(roots):
        field = f"{data.draw(st.sampled_from(['viewer', 'a', '__typename']))}{number}: {root}(id: {number})"
        for level in range(data.draw(st.integers(0, 4))):
            directive = data.draw(st.sampled_from(["", "@skip(if: true)", "@include(if: false)", "@client"]))
            if data.draw(st.booleans()):
                field = f"... {data.draw(st.sampled_from(['', 'on Query']))} {directive} {{ {field} }}"
            else:
                fragments += f" fragment F{number}_{level} on Query {directive} {{ {field} }}"
                field = f"...F{number}_{level} {directive}"
        selections += field + " "
    parts = [f"query viewer {{viewer}} mutation M {{ {selections} }}", fragments]
    text = " ".join(data.draw(st.permutations(parts)))
    assert names(text, operationName="M") == ["mutation", *roots]


@pytest.mark.parametrize(
    "message",
    [
        {"Query": "mutation{issueDelete}"},
        {"query": "{viewer{id}}", "Query": "mutation{issueDelete}"},
        {"query": "query A{a} mutation B{b}", "operationName": "A", "OperationName": "B"},
        {"query": "query($a: Int){a(b: $a)}", "variables": {"a": 1}, "Variables": {"a": 2}},
        {"query": "{a}", "extensions": {"PersistedQuery": {"sha256Hash": "b"}}},
        {"query": "{a}", "extensions": {"persistedQuery": {"SHA256HASH": "b"}}},
    ],
)
def test_a_member_in_another_spelling_is_refused(message: JsonValue) -> None:
    """Servers in Go and .NET read ``Query`` for ``query``; alone it would pass for a stored document."""
    with pytest.raises(AmbiguousRequestError, match="the GraphQL request can be read in more than one way"):
        post(message)


def test_a_query_string_in_another_spelling_is_refused() -> None:
    with pytest.raises(AmbiguousRequestError):
        get(Query="{viewer{id}}")
