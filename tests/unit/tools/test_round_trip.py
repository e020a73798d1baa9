"""Both directions of every catalogue: what is rendered is read as what was asked for, for every entry."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.protocols.body import BodyReading
from headgate.protocols.draft import ActionDraft, Source
from headgate.tools.explicit import explicit_draft
from headgate.tools.load import load_catalogues
from headgate.tools.model import Content, Entry, GraphqlRoot, SegmentKind

_CATALOGUE = load_catalogues()
_ENTRIES = [
    entry
    for entries in _CATALOGUE.tools.values()
    for entry in entries.values()
    if entry.reading is not BodyReading.RAW  # an upload: params hold no bytes
]
_ISSUES = "https://api.github.com/repos/acme/app/issues"

_text = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
_segment = _text.filter(lambda text: not set(text) & set("/\\") and text.partition(";")[0] not in (".", ".."))
_scalar = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _text
_json = st.recursive(_scalar, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3))


def explicit(tool: str, operation: str, params: JsonObject) -> ActionDraft:
    return explicit_draft(tool, operation, params, _CATALOGUE, context=b"{}", delegation=b"{}")


def _arguments_of(root: GraphqlRoot) -> st.SearchStrategy[JsonObject]:
    """A value for each variable that needs one, and for some of the others, in the form that its type has."""
    values: dict[bool, dict[str, st.SearchStrategy[JsonValue]]] = {True: {}, False: {}}
    for name, variable in root.variables.items():
        one: st.SearchStrategy[JsonValue] = _text if variable.type_name in ("ID", "String") else _json
        values[variable.is_required][name] = st.lists(one, max_size=3) if variable.is_list else one
    return st.fixed_dictionaries(values[True], optional=values[False])


@st.composite
def params_of(draw: st.DrawFn, entry: Entry) -> JsonObject:
    """Params of this operation in the form in which they are read: texts in the query, any JSON in a body."""
    params: JsonObject = {}
    for segment in entry.path:
        if segment.kind is SegmentKind.INTEGER:
            params[segment.text] = draw(st.integers(0, 10**17))
        elif segment.kind is not SegmentKind.LITERAL:
            pieces = draw(st.lists(_segment, min_size=1, max_size=3 if segment.kind is SegmentKind.REST else 1))
            params[segment.text] = "/".join(pieces)
    for pattern in entry.hosts:
        if pattern == entry.sending.host and pattern.startswith("*."):
            index = _CATALOGUE.for_host("any" + pattern[1:])
            assert index is not None and index.catalogue.host_param is not None
            params[index.catalogue.host_param] = "acme"
    if entry.graphql is not None:
        return params | draw(_arguments_of(entry.graphql))
    params |= entry.conditions.query | dict(entry.conditions.body)
    value: st.SearchStrategy[JsonValue] = _json if entry.sending.content is Content.JSON else _text
    names = st.from_regex(r"[a-z]{3,9}_x", fullmatch=True)  # the names of no entry
    params |= draw(st.dictionaries(names, value, max_size=4))
    for name in entry.mapping.fold_case & params.keys():
        folded = params[name]
        assert isinstance(folded, str)
        params[name] = folded.lower()
    return params


@pytest.mark.parametrize("entry", _ENTRIES, ids=lambda entry: f"{entry.tool}.{entry.operation}")
def test_what_is_rendered_is_read_as_what_was_asked_for(entry: Entry) -> None:
    @settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(params_of(entry))
    def holds(params: JsonObject) -> None:
        try:
            draft = explicit(entry.tool, entry.operation, params)
        except ValidationError as error:
            # A value that happens to be a literal of another entry's path makes another call, and is refused.
            assert "make the call" in error.message or "is not" in error.message
            return
        assert (draft.tool, draft.operation, draft.source) == (entry.tool, entry.operation, Source.API)
        assert draft.params == params
        assert draft.effect is entry.effect
        assert draft.read_call is not None and json.loads(draft.read_call.shown)["method"] == entry.sending.method

    holds()


@settings(max_examples=60, deadline=None)
@given(
    method=st.sampled_from(["get", "post", "put", "patch", "delete"]),
    query=st.dictionaries(_text, st.lists(_text, min_size=1, max_size=3), max_size=3),
    body=st.dictionaries(_text, _json, max_size=3),
    path=st.lists(st.from_regex(r"[A-Za-z0-9~_-]{1,8}", fullmatch=True), max_size=3),
)
def test_the_generic_tool(method: str, query: JsonObject, body: JsonObject, path: list[str]) -> None:
    params: JsonObject = {
        "scheme": "https",
        "host": "api.example.com",
        "port": 8443,
        "path": "/" + "/".join(path),
        "query": query,
        "headers": {"x-version": "2", "content-type": "application/json"},
        "body": body,
    }
    try:
        assert explicit("http", method, params).params == params
    except ValidationError as error:
        assert "can be read in more than one way" in error.message


@pytest.mark.parametrize(
    "name", ["X-HTTP-Method-Override", "X_HTTP_Method_Override", "X-Original-URL", "X.Rewrite.URL"]
)
def test_an_explicit_call_has_no_header_that_an_intercepted_one_may_not_have(name: str) -> None:
    with pytest.raises(ValidationError, match=r"overrides|with hyphens"):
        explicit("http", "get", {"url": "https://api.example.com/a", "headers": {name: "DELETE"}})


def test_a_url_stands_for_its_parts() -> None:
    draft = explicit("http", "get", {"url": "https://API.example.com/a//b/?q=1&q=2"})
    assert draft.params == {
        "scheme": "https",
        "host": "api.example.com",
        "port": 443,
        "path": "/a/b",
        "query": {"q": ["1", "2"]},
        "headers": {},
    }


def test_without_a_call_an_action_stays_its_agents() -> None:
    for tool, operation, params in (
        ("mail", "send", {"to": "x@example.com"}),
        ("github", "invent_repo", {"owner": "acme"}),
        ("http", "get", {"address": "https://example.com"}),
        ("github", "upload_release_asset", {"owner": "acme", "repo": "app", "release_id": 1, "name": "a.zip"}),
        ("http", "brew", {"url": "https://example.com"}),
    ):
        draft = explicit(tool, operation, params)
        assert (draft.call, draft.params, draft.source) == (None, params, Source.API)


@pytest.mark.parametrize(
    ("tool", "operation", "params", "field"),
    [
        ("github", "delete_repo", {"repo": "app"}, "params.owner"),
        ("jira", "get_issue", {"issue": "ABC-7"}, "params.site"),
        ("linear", "update_issue", {"id": "ENG-7"}, "params.input"),
    ],
)
def test_a_catalogued_action_that_lacks_a_param_is_refused(
    tool: str, operation: str, params: dict[str, object], field: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        explicit(tool, operation, params)
    assert refused.value.details["field"] == field


_REPO = {"owner": "acme", "repo": "app"}


@pytest.mark.parametrize(
    ("tool", "operation", "params", "says"),
    [
        ("github", "get_repo", {"owner": "acme", "repo": ".."}, "another path"),
        ("github", "get_repo", {"owner": "acme", "repo": "app/issues"}, "another path"),
        ("github", "get_repo", {"owner": "acme", "repo": "..;x"}, "another path"),
        ("github", "get_repo", {"owner": "acme", "repo": 1.5}, "must be a text"),
        ("github", "get_repo", {"owner": "acme", "repo": "a\nb"}, "control character"),
        ("github", "get_issue", _REPO | {"issue_number": -1}, "whole number"),
        ("github", "update_ref", _REPO | {"ref": "heads/x", "sha": "0", "force": True}, "force_update_ref"),
        ("github", "update_issue", _REPO | {"issue_number": 1, "state": "closed"}, "close_issue"),
        ("github", "close_issue", _REPO | {"issue_number": 1, "state": "open"}, "update_issue"),
        ("github", "list_issues", _REPO | {"labels": ["a", "b"]}, "travels in the query"),
        ("http", "post", {"url": _ISSUES, "body": {"title": "t"}}, "create_issue"),
        ("http", "get", {"url": "https://user:pass@example.com/"}, "credentials"),
        ("http", "get", {"url": "ftp://example.com/"}, "must begin with"),
        ("http", "get", {"host": "127.1"}, "more than one way"),
        ("http", "get", {"url": "https://example.com/", "headers": {"Host": "other"}}, "set by Headgate"),
        ("http", "get", {"url": "https://example.com/", "headers": {"x": "a\r\nY: b"}}, "control character"),
        ("http", "get", {"url": "https://example.com/", "headers": {"X-HTTP-Method": "DELETE"}}, "overrides"),
        ("http", "get", {"host": "example.com", "path": "/a/../b"}, "dot segments"),
    ],
)  # fmt: skip
def test_a_value_that_makes_another_call_is_refused(tool: str, operation: str, params: JsonObject, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        explicit(tool, operation, params)


def test_what_makes_the_call_this_operation_is_added() -> None:
    assert explicit("github", "close_issue", _REPO | {"issue_number": 1}).params["state"] == "closed"


def test_case_is_folded_for_policies_and_sent_as_written() -> None:
    draft = explicit("github", "get_repo", {"owner": "ACME", "repo": "app"})
    assert draft.params["owner"] == "acme" and draft.call is not None and draft.call.path == "/repos/ACME/app"
