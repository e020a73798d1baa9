"""JSON-RPC over HTTP: which methods a request calls, whatever its server makes of case and of lists."""

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import AmbiguousRequestError, HeadgateError, PayloadTooLargeError
from headgate.protocols.draft import ActionDraft, Effect
from headgate.protocols.http_call import HttpCall
from headgate.protocols.json_rpc import recognise
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogue
from headgate.tools.match import CatalogueIndex


def read(body: object, *, catalogue: CatalogueIndex | None = None, method: str = "POST") -> ActionDraft:
    headers = ((b"Content-Type", b"application/json"),)
    call = HttpCall(method, "https", "node.example", 443, "/", "", headers, json.dumps(body).encode())
    return interpret(call, CatalogueIndex([]) if catalogue is None else catalogue)


def facts(draft: ActionDraft) -> Any:
    return None if draft.facts is None else parse_strict(draft.facts.shown)


def call(method: object, **members: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, **members}


@pytest.mark.parametrize(
    ("body", "operation", "told"),
    [
        (call("eth_call"), "eth_call", {"methods": ["eth_call"], "notifications": 0, "batch": False}),
        (
            {"jsonrpc": "2.0", "method": "log", "params": []},
            "log",
            {"methods": ["log"], "notifications": 1, "batch": False},
        ),
        (call("user.login", auth="x"), None, {"methods": ["user.login"], "notifications": 0, "batch": False}),
        (call("a", jsonrpc="1.0"), "a", {"methods": ["a"], "notifications": 0, "batch": False}),
        ([call("a"), call("b")], "several", {"methods": ["a", "b"], "notifications": 0, "batch": True}),
        ([call("a")], "several", {"methods": ["a"], "notifications": 0, "batch": True}),
        (call("several"), None, {"methods": ["several"], "notifications": 0, "batch": False}),
    ],
)
def test_methods(body: object, operation: str | None, told: object) -> None:
    draft = read(body)
    assert (draft.tool, draft.effect, facts(draft)) == ("jsonrpc", Effect.WRITE, told)
    assert draft.params["body"] == body
    assert operation is None or draft.operation == operation
    assert draft.operation != "several" or isinstance(body, list)


@pytest.mark.parametrize(
    "body",
    [
        call("a", Method="b"),
        call("a", METHOD="b"),
        call("a") | {"param\u017f": {}},
        {"jsonRPC": "2.0", "Method": "a"},
        [call("a"), {"id": 1}],
        [call("a"), call("b", Method="c")],
        [call("a"), "b"],
    ],
)
def test_what_a_server_may_read_otherwise_is_refused(body: object) -> None:
    with pytest.raises(AmbiguousRequestError):
        read(body)


@pytest.mark.parametrize(
    "body",
    [{"method": "a"}, {"jsonrpc": "2.0"}, call(""), call(None), call(1), [], ["a"], {"jsonrpc": "2.0", "result": 1}],
)
def test_every_other_body_stays_generic(body: object) -> None:
    assert (read(body).tool, read(body).operation) == ("http", "post")
    assert read(call("a"), method="PUT").tool == "http"


def test_a_batch_has_a_bound() -> None:
    with pytest.raises(PayloadTooLargeError):
        read([call("a")] * 101)


@pytest.mark.parametrize("protocol", ["jsonrpc", "a2a"])
@pytest.mark.parametrize(
    ("content_type", "coding", "body"),
    [
        (b"text/plain", None, b'{"method":"eth_sendTransaction"} x'),
        (b"application/x-ndjson", None, b'{"method":"eth_sendTransaction"}\n{}'),
        (None, None, b' {"method":"eth_sendTransaction",}'),
        (b"application/octet-stream", None, b'{"method":"eth_sendTransaction"} // x'),
        (b"application/x-www-form-urlencoded", None, b'{"method":"eth_sendTransaction"}x'),
        (b"text/plain", b"gzip", gzip.compress(b'{"method":"eth_sendTransaction"} x', mtime=0)),
        (b"application/json", b"compress", b"\x1f\x9d"),
    ],
)
def test_a_named_server_gets_nothing_that_it_may_read_a_call_from(
    tmp_path: Any, protocol: str, content_type: bytes | None, coding: bytes | None, body: bytes
) -> None:
    named = [(b"Content-Type", content_type), (b"Content-Encoding", coding)]
    headers = tuple((name, value) for name, value in named if value is not None)
    file = tmp_path / "node.yaml"
    file.write_text(f"tool: node\ndescription: A node\nprotocol: {protocol}\nhosts: [node.example]\n")
    catalogue = CatalogueIndex([load_catalogue(file)])
    with pytest.raises(AmbiguousRequestError):
        interpret(HttpCall("POST", "https", "node.example", 443, "/", "", headers, body), catalogue)
    form = ((b"Content-Type", b"application/x-www-form-urlencoded"),)
    token = HttpCall("POST", "https", "node.example", 443, "/token", "", form, b"grant_type=client_credentials")
    assert interpret(token, catalogue).operation == "unlisted_post"


def test_a_named_server_is_read_without_a_version(tmp_path) -> None:
    file = tmp_path / "node.yaml"
    file.write_text("tool: node\ndescription: A node\nprotocol: jsonrpc\nhosts: [node.example]\n")
    catalogue = CatalogueIndex([load_catalogue(file)])
    draft = read({"id": 1, "method": "getinfo"}, catalogue=catalogue)
    assert (draft.tool, draft.operation, facts(draft)["methods"]) == ("node", "getinfo", ["getinfo"])
    assert read({"id": 1}, catalogue=catalogue).operation == "unlisted_post"
    assert read(call("unlisted_post"), catalogue=catalogue).operation != "unlisted_post"


_BODIES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["jsonrpc", "method", "params", "id", "Method", "METHOD", "x"]),
            inner | st.sampled_from(["2.0", "a", "b"]),
            max_size=5,
        )
    ),
    max_leaves=8,
)


@given(body=_BODIES)
def test_a_method_that_a_server_could_call_is_told_or_refused(body: Any) -> None:
    """The other reader takes members as Go's decoder does: whatever their case, and the last one counts."""
    try:
        request = recognise(body)
    except HeadgateError:
        return
    told = [] if request is None else [one.method for one in request.calls]
    for one in body if isinstance(body, list) else [body]:
        if isinstance(one, dict):
            last = {name.casefold(): value for name, value in one.items()}
            if last.get("jsonrpc") == "2.0" and isinstance(last.get("method"), str) and last["method"]:
                assert last["method"] in told
