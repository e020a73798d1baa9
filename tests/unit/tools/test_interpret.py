"""The same call written another way is the same tool or is refused; and nothing but our errors is raised."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.actions.digest import action_digest
from headgate.actions.recorded_request import recorded_request
from headgate.actions.rego_input import rego_input
from headgate.kernel.canonical_json import parse_strict, sha256_hex
from headgate.kernel.errors import AmbiguousRequestError, HeadgateError
from headgate.protocols.draft import ActionDraft, Effect
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret, is_long_document
from headgate.tools.load import load_catalogues

_CATALOGUE = load_catalogues()
_JSON = (b"Content-Type", b"application/json")
_BODY = b'{"state":"closed"}'


def _call(**changes: object) -> HttpCall:
    values: dict[str, object] = {
        "method": "PATCH",
        "scheme": "https",
        "host": "api.github.com",
        "port": 443,
        "path": "/repos/acme/app/issues/5",
        "query": "",
        "headers": (_JSON,),
        "body": _BODY,
        **changes,
    }
    return HttpCall(**values)  # type: ignore[arg-type] # a table of changes, checked by what it makes


def _digest(draft: ActionDraft) -> bytes:
    return action_digest(draft, org_id="org_1", agent_id="agt_1")


_PLAIN = interpret(_call(), _CATALOGUE)


@pytest.mark.parametrize(
    "changes",
    [
        {"host": "API.GITHUB.COM"},
        {"host": "api.github.com."},
        {"headers": ((b"content-type", b"application/json"),)},
        {"headers": (_JSON, (b"User-Agent", b"other"), (b"X-Request-Id", b"1"), (b"Authorization", b"Bearer y"))},
        {"headers": (_JSON, (b"Idempotency-Key", b"1"), (b"traceparent", b"00-1-1-00"), (b"Proxy-Thing", b"x"))},
    ],
)
def test_the_same_action_with_the_same_digest(changes: dict[str, object]) -> None:
    draft = interpret(_call(**changes), _CATALOGUE)
    assert (draft.tool, draft.operation, draft.params) == (_PLAIN.tool, _PLAIN.operation, _PLAIN.params)
    assert _digest(draft) == _digest(_PLAIN)


@pytest.mark.parametrize(
    "changes",
    [
        {"path": "//repos///acme/app/issues/5"},
        {"path": "/repos/acme/app/issues/5/"},
        {"path": "/repos/%61cme/app/issues/%35"},
        {"path": "/repos/ACME/App/issues/5"},
        {"body": b' {"state" : "cl\\u006fsed"}\n'},
        {"body": gzip.compress(_BODY, mtime=0), "headers": (_JSON, (b"Content-Encoding", b"gzip"))},
        {"headers": ()},
        {"headers": ((b"Content-Type", b"text/plain"),)},
        {"headers": ((b"Content-Type", b"application/x-www-form-urlencoded"),)},
        {"headers": ((b"Content-Type", b"application/octet-stream"),)},
        {"headers": ((b"Content-Type", b"multipart/form-data; boundary=x"),)},
        {"scheme": "http", "port": 80},
        {"port": 8443},
    ],
)
def test_the_same_action_asked_for_in_other_bytes(changes: dict[str, object]) -> None:
    """The policy sees the same; an approval covers bytes, so these ask anew."""
    draft = interpret(_call(**changes), _CATALOGUE)
    assert (draft.tool, draft.operation, draft.params) == (_PLAIN.tool, _PLAIN.operation, _PLAIN.params)
    assert _digest(draft) != _digest(_PLAIN)


@pytest.mark.parametrize(
    "changes",
    [
        {"path": "/repos%2Facme/app/issues/5"},
        {"path": "/repos/acme/app/issues/%2e%2e/issues/5"},
        {"path": "/repos/acme/../acme/app/issues/5"},
        {"path": "/repos/acme/app/Issues/5"},
        {"path": "/repos/acme/app\\issues/5"},
        {"path": "repos/acme/app/issues/5"},
        {"path": "https://api.github.com/repos/acme/app/issues/5"},
        {"path": "/repos/acme/app/issues/5#x"},
        {"body": b'{"state":"open","state":"closed"}'},
        {"body": b'{"state":"closed",}'},
        {"body": '{"state":"closed"}'.encode("utf-16")},
        {"body": b"\xef\xbb\xbf" + _BODY},
        {"query": "state=open"},
        {"query": "_method=DELETE"},
        {"query": "a=%ff"},
        {"method": "patch"},
        {"method": "Patch"},
        {"headers": (_JSON, (b"X-HTTP-Method-Override", b"DELETE"))},
        {"headers": (_JSON, _JSON)},
        {"headers": (_JSON, (b"Content-Encoding", b"zstd"))},
        {"headers": (_JSON, (b"Content-Encoding", b"gzip"))},
        {"host": "api.github.com:443"},
        {"host": "x@api.github.com"},
    ],
)
def test_refused(changes: dict[str, object]) -> None:
    with pytest.raises(HeadgateError) as caught:
        interpret(_call(**changes), _CATALOGUE)
    assert caught.value.http_status in (400, 413)


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "DELETE"},
        {"method": "PURGE"},
        {"path": "/repos/acme/app/issues/05"},
        {"path": "/repos/acme/app/issues"},
        {"path": "/"},
        {"path": "/repos/acme;x/app/issues/5"},
        {"host": "api.github.com", "port": 1},
        {
            "method": "POST",
            "headers": (_JSON, (b"Accept", b"application/json, text/event-stream")),
            "body": b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
        },
    ],
)
def test_another_call_to_a_covered_host_is_still_its_tool(changes: dict[str, object]) -> None:
    assert interpret(_call(**changes), _CATALOGUE).tool == "github"


@pytest.mark.parametrize(
    "changes",
    [
        {"query": "x=1"},
        {"query": "&"},
        {"body": b'{"state":"closed","a":1}'},
        {"headers": (_JSON, (b"X-Custom", b"1"))},
        {"headers": (_JSON, (b"X-Api-Key", b"1"))},
        {"headers": (_JSON, (b"Accept", b"a"), (b"Accept", b"b"))},
        {"path": "/repos/acme/app/issues/6"},
    ],
)
def test_an_approval_covers_everything_that_is_sent(changes: dict[str, object]) -> None:
    assert _digest(interpret(_call(**changes), _CATALOGUE)) != _digest(_PLAIN)


def test_the_draft_says_what_success_is() -> None:
    assert [status for status in (200, 201, 204, 302, 404) if _PLAIN.expected_status(status)] == [200]
    generic = interpret(_call(host="api.example.com"), _CATALOGUE)
    assert [status for status in (200, 302, 399, 400, 500) if generic.expected_status(status)] == [200, 302, 399]
    assert (generic.tool, generic.operation, generic.effect) == ("http", "patch", Effect.WRITE)


def test_the_call_has_the_one_spelling_of_its_host() -> None:
    """``input.http.host`` and the index of policies must speak of the same."""
    draft = interpret(_call(host="API.GitHub.com."), _CATALOGUE)
    assert draft.call is not None
    assert draft.call.host == "api.github.com"


def test_an_mcp_call_carries_its_id() -> None:
    accept = (b"Accept", b"application/json, text/event-stream")
    body = b'{"jsonrpc":"2.0","id":%b,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":%b}}}'
    drafts = [
        interpret(
            _call(method="POST", host="mcp.example.com", headers=(_JSON, accept), body=body % (token, token)),
            _CATALOGUE,
        )
        for token in (b"1", b'"two"')
    ]
    assert [draft.mcp and draft.mcp.request_id for draft in drafts] == [1, "two"]
    assert _digest(drafts[0]) == _digest(drafts[1])


_HOSTS = st.sampled_from(["api.github.com", "slack.com", "api.githubcopilot.com", "example.com"]) | st.text(max_size=12)


def _mcp_digest(number: str, request_id: int = 1) -> bytes:
    accept = (b"accept", b"application/json, text/event-stream")
    body = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"pay","arguments":{"cents":%s}}}'
    sent = (body % (request_id, number)).encode()
    call = _call(method="POST", host="mcp.example.com", headers=(_JSON, accept), body=sent)
    return _digest(interpret(call, _CATALOGUE))


def test_no_two_numbers_of_an_mcp_call_have_one_digest() -> None:
    """2^53 + 1 is the first that a double cannot hold: read as one, two amounts would be approved as one."""
    numbers = [str(2**53), str(2**53 + 2), str(2**64)] + [f"{2**53 + more}.0" for more in range(3)]
    numbers += ["9007199254740993e0", "0.9007199254740993e16"]
    assert len({_mcp_digest(number) for number in numbers}) == len(numbers)


@pytest.mark.parametrize("number", [str(2**53 + 2), str(2**64), "0.7", "1e3", "-9007199254740991.0"])
def test_the_same_number_sent_again_is_the_same_call(number: str) -> None:
    assert _mcp_digest(number, request_id=1) == _mcp_digest(number, request_id=2)


_PATHS = st.sampled_from(["/repos/a/b", "/api/chat.postMessage", "/mcp"]) | st.text(max_size=20).map(lambda x: "/" + x)
_HEADER_NAMES = st.sampled_from([b"Content-Type", b"Content-Encoding", b"Accept"]) | st.binary(max_size=8)
_HEADER_VALUES = (
    st.sampled_from([b"application/json", b"application/json, text/event-stream", b"gzip", b"multipart/form-data"])
    | st.sampled_from([b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=x", b"text/plain"])
    | st.binary(max_size=12)
)
_BODIES = (
    st.binary(max_size=60)
    | st.sampled_from([_BODY, b"a=1&b=2", b"--x\r\n\r\n--x--", gzip.compress(_BODY)])
    | st.text('{}[]":,jsonrpc2.0methodtools/listparams1', max_size=60).map(str.encode)
)


@given(
    st.builds(
        HttpCall,
        st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD"]) | st.text(max_size=6),
        st.sampled_from(["http", "https"]),
        _HOSTS,
        st.integers(1, 65535),
        _PATHS,
        st.text(max_size=12),
        st.lists(st.tuples(_HEADER_NAMES, _HEADER_VALUES), max_size=3).map(tuple),
        _BODIES,
    )
)
def test_arbitrary_calls_raise_nothing_else(call: HttpCall) -> None:
    try:
        draft = interpret(call, _CATALOGUE)
    except HeadgateError:
        return
    assert len(_digest(draft)) == 32
    assert isinstance(parse_strict(rego_input(draft, agent_id="agt_1", agent_name="a")), dict)
    assert isinstance(parse_strict(recorded_request(draft)), dict)
    if call.host == "api.github.com":
        assert draft.tool == "github"


def test_a_draft_names_the_entry_that_interpreted_the_call() -> None:
    """Its digest is recorded with the action, so that a proof pack can show the entry's very text."""
    digest = interpret(_call(), _CATALOGUE).catalogue_sha256
    assert digest is not None
    document = _CATALOGUE.documents[digest]
    assert sha256_hex(document) == digest
    assert b'"operation":"close_issue"' in document
    assert interpret(_call(host="elsewhere.example"), _CATALOGUE).catalogue_sha256 is None


def test_long_documents_are_those_of_hosts_that_speak_graphql() -> None:
    for host, size, is_long in (
        ("api.linear.app", 100, False),
        ("API.Linear.app.", 5000, True),
        ("api.github.com", 5000, False),
        ("example.com", 5000, False),
    ):
        for query, body in (("", b"x" * size), ("x" * size, b"")):
            call = HttpCall("POST", "https", host, 443, "/graphql", query, (), body)
            assert is_long_document(call, _CATALOGUE) is is_long


@pytest.mark.parametrize(
    ("label", "kind", "mismatch"),
    [
        (b"application/json", "json", None),
        (b"text/plain", "json", True),
        (b"application/x-www-form-urlencoded", "json", True),
    ],
)
def test_json_under_another_label_is_what_policies_see_and_is_said(
    label: bytes, kind: str, mismatch: bool | None
) -> None:
    call = _call(method="POST", host="tool.example", headers=((b"content-type", label),), body=b'{"amount":1000}')
    draft = interpret(call, _CATALOGUE)
    assert draft.params["body"] == {"amount": 1000}
    assert draft.read_call is not None
    shown = json.loads(draft.read_call.shown)
    assert (shown["body_kind"], shown.get("body_type_mismatch")) == (kind, mismatch)


@pytest.mark.parametrize("label", [(), ((b"Content-Type", b"application/octet-stream"),)])
@pytest.mark.parametrize("body", [b'{"prompt":"a"} x', b'{"prompt":"a"}{"prompt":"b"}', b'{"prompt":"a","prompt":"b"}'])
@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("localhost", "/api/generate"),
        ("api.openai.com", "/v1/completions"),
        ("bedrock-runtime.us-east-1.amazonaws.com", "/model/m/invoke"),
    ],
)
def test_a_language_model_gets_one_json_value_whatever_its_label(
    host: str, path: str, body: bytes, label: tuple[tuple[bytes, bytes], ...]
) -> None:
    with pytest.raises(AmbiguousRequestError):
        interpret(_call(method="POST", host=host, path=path, headers=label, body=body), _CATALOGUE)


def test_a_file_of_loose_json_is_uploaded_but_not_to_a_call_that_a_catalogue_lists() -> None:
    octets = {"method": "PUT", "headers": ((b"Content-Type", b"binary/octet-stream"),), "body": b'{"loss":NaN}'}
    draft = interpret(_call(host="b.s3.us-east-1.amazonaws.com", path="/run.json", **octets), _CATALOGUE)
    assert draft.tool == "http"
    with pytest.raises(AmbiguousRequestError):
        interpret(_call(host="slack.com", path="/api/chat.postMessage", **octets | {"method": "POST"}), _CATALOGUE)


def test_the_length_of_a_url_is_that_of_the_one_that_was_sent() -> None:
    draft = interpret(_call(host="tool.example", path="/a" + "/" * 3000 + "b", query="q=%41"), _CATALOGUE)
    assert draft.read_call is not None
    shown = json.loads(draft.read_call.shown)
    assert (shown["path"], shown["url_bytes"]) == ("/a/b", len("https://tool.example/a") + 3001 + len("?q=%41"))


@pytest.mark.parametrize("body", [b'{"State":"closed"}', b'{"STATE":"closed","title":"x"}'])
def test_a_condition_in_another_spelling_is_refused(body: bytes) -> None:
    """A server without regard to case closes the issue, where Headgate would read an update of it."""
    with pytest.raises(AmbiguousRequestError, match=r"(State|STATE) for state"):
        interpret(_call(body=body), _CATALOGUE)


@pytest.mark.parametrize(
    "headers",
    [
        (_JSON, (b"Accept", b"*/*")),
        (),
        ((b"Content-Type", b"text/plain"),),
        ((b"Content-Type", b"application/octet-stream"), (b"Accept", b"application/json")),
    ],
)
def test_policies_read_a_call_to_a_named_mcp_server_whatever_its_headers(
    headers: tuple[tuple[bytes, bytes], ...],
) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_repository"}}'
    call = _call(method="POST", host="api.githubcopilot.com", path="/mcp", headers=headers, body=body)
    read = parse_strict(rego_input(interpret(call, _CATALOGUE), agent_id="agt_1", agent_name="b"))
    assert isinstance(read, dict) and isinstance(read["mcp"], dict)
    assert (read["operation"], read["mcp"]["name"]) == ("delete_repository", "delete_repository")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (b"text/plain", b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}'),
        (b"application/octet-stream", b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}'),
        (b"text/plain", b'{"jsonrpc":"2.0","id":1,"method":"ping","x":NaN}'),
        (b"application/x-www-form-urlencoded", b"a=1"),
    ],
)
def test_a_named_mcp_server_gets_nothing_but_json(content_type: bytes, body: bytes) -> None:
    headers = ((b"Content-Type", content_type),)
    with pytest.raises(HeadgateError):
        interpret(
            _call(method="POST", host="api.githubcopilot.com", path="/mcp", headers=headers, body=body), _CATALOGUE
        )


@pytest.mark.parametrize("accept", [b"application/json, text/event-stream", b"*/*"])
@pytest.mark.parametrize("content", [b'{"sure":true}', b'{"sum":9007199254740993.5}', b'{"a":{"b":1,"B":2}}'])
def test_an_approved_response_serves_one_mcp_session(content: bytes, accept: bytes) -> None:
    """Ids begin at 0 in each session: the same bytes answer another question there."""
    body = b'{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":' + content + b"}}"

    def digest(*sessions: bytes) -> bytes:
        headers = (_JSON, (b"Accept", accept), *((b"Mcp-Session-Id", one) for one in sessions))
        return _digest(
            interpret(_call(method="POST", host="mcp.example.com", path="/mcp", headers=headers, body=body), _CATALOGUE)
        )

    assert digest(b"A") == digest(b"A")
    assert len({digest(), digest(b"A"), digest(b"B"), digest(b"A", b"B")}) == 4


_RESPONSE = b'{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}'


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (b"application/json", _RESPONSE[:-1] + b',"method":null}'),
        (b"application/json", _RESPONSE[:-1] + b',"method":""}'),
        (b"application/json", _RESPONSE[:-1] + b',"method":["x"]}'),
        (b"application/json", b'{"id":1,"result":{}}'),
        (b"application/json; charset=utf-8", b"[" + _RESPONSE + b"]"),
        (None, _RESPONSE + b" {}"),
        (b"text/plain", _RESPONSE + b" {}"),
        (b"application/octet-stream", _RESPONSE + b"\0"),
        (b"text/plain", b"/* */" + _RESPONSE),
        (b"application/x-www-form-urlencoded", b"id=1&method=x"),
    ],
)
def test_an_approved_body_that_may_respond_serves_one_mcp_session(content_type: bytes | None, body: bytes) -> None:
    label = () if content_type is None else ((b"Content-Type", content_type),)

    def digest(accept: bytes, *sessions: bytes) -> bytes:
        headers = (*label, (b"Accept", accept), *((b"Mcp-Session-Id", one) for one in sessions))
        return _digest(
            interpret(_call(method="POST", host="mcp.example.com", path="/mcp", headers=headers, body=body), _CATALOGUE)
        )

    # With all headers of a client, a list with a message is refused.
    accepts = [b"*/*"] if body.startswith(b"[") else [b"*/*", b"application/json, text/event-stream"]
    for accept in accepts:
        assert len({digest(accept), digest(accept, b"A"), digest(accept, b"B")}) == 3


@pytest.mark.parametrize("accept", [b"application/json, text/event-stream", b"*/*"])
@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_me"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"vendor/extension"}',
    ],
)
def test_an_approved_call_serves_a_client_that_begins_another_session(accept: bytes, body: bytes) -> None:
    calls = [
        _call(
            method="POST",
            host="mcp.example.com",
            path="/mcp",
            headers=(_JSON, (b"Accept", accept), (b"Mcp-Session-Id", one)),
            body=body,
        )
        for one in (b"A", b"B")
    ]
    assert len({_digest(interpret(call, _CATALOGUE)) for call in calls}) == 1
