"""Calls of gRPC, gRPC-Web and Connect: what is read of their frames, and what policies are told where it is not."""

import base64
import gzip
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.detectors.document import Attachment
from headgate.gate.judged_content import judged_content
from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.draft import ActionDraft, Effect
from headgate.protocols.grpc_frames import (
    MESSAGE_BYTES_MAX,
    MESSAGES_MAX,
    MessageEnds,
    read_frames,
    two_messages_bytes,
    whole_messages_bytes,
)
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogue
from headgate.tools.match import CatalogueIndex

NOTHING = CatalogueIndex([])
HELLO = b"\x0a\x05hello"
READ_HELLO = {"1": [{"text": "hello"}]}


def frame(message: bytes, flags: int = 0) -> bytes:
    return bytes([flags]) + len(message).to_bytes(4, "big") + message


def call(
    body: bytes,
    content_type: str | None = "application/grpc",
    *,
    path: str = "/tests.v1.Echo/SayHello",
    method: str = "POST",
    catalogue: CatalogueIndex = NOTHING,
    **headers: str,
) -> ActionDraft:
    fields = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    if content_type is not None:
        fields.append((b"content-type", content_type.encode()))
    return interpret(HttpCall(method, "https", "grpc.example.com", 443, path, "", tuple(fields), body), catalogue)


def facts(draft: ActionDraft) -> Any:
    assert draft.facts is not None, draft.operation
    assert draft.facts.member == "grpc"
    return parse_strict(draft.facts.shown)


def unread(draft: ActionDraft) -> object:
    """With what the params say of it."""
    reason = facts(draft)["unread"]
    body, messages = draft.params["body"], draft.params["messages"]
    assert isinstance(body, dict)
    assert isinstance(messages, list)
    assert body.get("unread") == reason
    assert (None in messages) == (reason is not None)
    content = judged_content(draft)
    assert content.unscannable is not None or reason is None
    assert draft.read_call is not None
    assert (Attachment(("body",), draft.read_call.call.body) in content.attachments) == (reason is not None)
    return reason


def test_a_unary_call() -> None:
    draft = call(frame(HELLO))
    assert (draft.tool, draft.effect) == ("grpc", Effect.WRITE)
    assert draft.operation.startswith("tests_v1_echo_say_hello_")
    assert draft.operation != call(frame(HELLO), path="/tests.v1.Echo/sayHello").operation
    assert facts(draft) == {
        "form": "grpc",
        "service": "tests.v1.Echo",
        "method": "SayHello",
        "fields": "numbers",
        "messages": 1,
        "unread": None,
        "misfit": None,
        "unknown_fields": False,
    }
    assert draft.params["messages"] == [READ_HELLO]


@pytest.mark.parametrize(
    ("content_type", "body", "headers", "form"),
    [
        ("application/grpc", frame(HELLO), {}, "grpc"),
        ("application/grpc+proto", frame(HELLO), {"grpc_encoding": "gzip"}, "grpc"),
        ("Application/gRPC", frame(gzip.compress(HELLO, mtime=0), 1), {"grpc_encoding": "gzip"}, "grpc"),
        ("application/grpc", frame(zlib.compress(HELLO), 1), {"grpc_encoding": "deflate"}, "grpc"),
        ("application/grpc-web+proto", frame(HELLO), {}, "grpc_web"),
        ("application/grpc-web-text", base64.b64encode(frame(HELLO)), {}, "grpc_web_text"),
        ("application/connect+proto", frame(HELLO), {}, "connect_stream"),
        (
            "application/connect+proto",
            frame(gzip.compress(HELLO, mtime=0), 1),
            {"connect_content_encoding": "gzip"},
            "connect_stream",
        ),
        ("application/proto", HELLO, {"connect_protocol_version": "1"}, "connect"),
        ("application/proto", gzip.compress(HELLO, mtime=0), {"content_encoding": "gzip"}, "connect"),
    ],
)
def test_every_form(content_type: str, body: bytes, headers: dict[str, str], form: str) -> None:
    draft = call(body, content_type, **headers)
    assert (facts(draft)["form"], draft.params["messages"], unread(draft)) == (form, [READ_HELLO], None)


def test_several_messages_and_none() -> None:
    assert call(frame(HELLO) + frame(b"") + frame(HELLO)).params["messages"] == [READ_HELLO, {}, READ_HELLO]
    assert call(b"").params["messages"] == []
    assert call(b"", "application/proto").params["messages"] == [{}]


def test_messages_in_json() -> None:
    draft = call(frame(b'{"name": "hello"}'), "application/grpc+json")
    assert (facts(draft)["fields"], draft.params["messages"]) == ("json", [{"name": "hello"}])
    draft = call(frame(b'{"name": "hello"}'), "application/connect+json")
    assert draft.params["messages"] == [{"name": "hello"}]
    assert unread(call(frame(b'{"name": 1, "name": 2}'), "application/connect+json")) == "invalid"
    assert unread(call(frame(b'{"id": 9007199254740993}'), "application/grpc+json")) == "invalid"


def test_a_unary_call_of_connect_in_json_is_its_body() -> None:
    draft = call(b'{"name": "hello"}', "application/json", connect_protocol_version="1")
    assert (draft.tool, facts(draft)["form"], facts(draft)["fields"]) == ("grpc", "connect", "json")
    assert draft.params["body"] == {"name": "hello"}
    assert "messages" not in draft.params
    assert judged_content(draft).value["body"] == {"name": "hello"}  # type: ignore[call-overload, index]
    assert call(b'{"name": "hello"}', "application/json").tool == "http"


@pytest.mark.parametrize(
    ("reason", "body", "content_type", "headers"),
    [
        ("truncated", b"\0\0\0", "application/grpc", {}),
        ("truncated", frame(HELLO)[:-1], "application/grpc", {}),
        ("truncated", frame(HELLO) + b"\0", "application/grpc", {}),
        ("flags", frame(HELLO, 2), "application/grpc", {}),
        ("flags", frame(HELLO, 0x80), "application/grpc-web", {}),
        ("flags", frame(b"{}", 2), "application/connect+json", {}),
        ("compression", frame(gzip.compress(HELLO, mtime=0), 1), "application/grpc", {}),
        ("compression", frame(gzip.compress(HELLO, mtime=0), 1), "application/grpc", {"grpc_encoding": "identity"}),
        ("compression", frame(gzip.compress(HELLO, mtime=0), 1), "application/grpc", {"grpc_encoding": "GZIP"}),
        ("compression", frame(gzip.compress(HELLO, mtime=0), 1), "application/grpc", {"content_encoding": "identity"}),
        ("compression", frame(HELLO, 1), "application/grpc", {"grpc_encoding": "gzip"}),
        ("compression", frame(gzip.compress(HELLO, mtime=0) * 2, 1), "application/grpc", {"grpc_encoding": "gzip"}),
        ("compression", frame(HELLO, 1), "application/grpc", {"grpc_encoding": "snappy"}),
        ("too_large", frame(gzip.compress(bytes(1 << 20), mtime=0), 1), "application/grpc", {"grpc_encoding": "gzip"}),
        ("too_large", frame(bytes(MESSAGE_BYTES_MAX + 1)), "application/grpc", {}),
        ("too_many", frame(b"") * (MESSAGES_MAX + 1), "application/grpc", {}),
        ("codec", frame(HELLO), "application/grpc+thrift", {}),
        ("codec", frame(HELLO), "application/grpcx", {}),
        ("content_encoding", gzip.compress(frame(HELLO), mtime=0), "application/grpc", {"content_encoding": "gzip"}),
        ("content_encoding", HELLO, "application/proto", {"content_encoding": "snappy"}),
        ("base64", base64.b64encode(frame(HELLO)) + b"\n", "application/grpc-web-text", {}),
        ("base64", base64.b64encode(b"\0\0\0\0") + base64.b64encode(b"\0"), "application/grpc-web-text", {}),
        ("base64", base64.urlsafe_b64encode(frame(b"\xff\xff\xff")), "application/grpc-web-text", {}),
        ("invalid", frame(b"hello, world"), "application/grpc", {}),
        ("invalid", frame(HELLO)[5:] + b"\x08", "application/proto", {}),
    ],
)
def test_what_is_not_read_is_said(reason: str, body: bytes, content_type: str, headers: dict[str, str]) -> None:
    assert unread(call(body, content_type, **headers)) == reason


def test_messages_before_an_unread_one_are_there() -> None:
    draft = call(frame(HELLO) + frame(b"hello, world") + frame(HELLO))
    assert draft.params["messages"] == [READ_HELLO, None, READ_HELLO]
    assert call(frame(HELLO) + b"\0\0").params["messages"] == [READ_HELLO, None]


@pytest.mark.parametrize(
    ("path", "service", "method"),
    [
        ("/api/rpc/tests.v1.Echo/SayHello", "tests.v1.Echo", "SayHello"),
        ("/SayHello", None, "SayHello"),
        ("/", None, None),
    ],
)
def test_names(path: str, service: str | None, method: str | None) -> None:
    shown = facts(call(frame(HELLO), path=path))
    assert (shown["service"], shown["method"]) == (service, method)


def test_what_is_labelled_as_two_protocols_is_refused() -> None:
    with pytest.raises(AmbiguousRequestError):
        call(b"0000", path="/acme/shop.git/git-upload-pack")
    with pytest.raises(AmbiguousRequestError):
        call(frame(HELLO), path="/dns-query")


def test_a_unary_message_that_is_json_too_stays_a_call() -> None:
    """Its first field is text: tag and length are white space to JSON."""
    draft = call(b'\n\x0d{"id":123456}', "application/proto", connect_protocol_version="1")
    assert (draft.tool, facts(draft)["form"], draft.params["messages"]) == (
        "grpc",
        "connect",
        [{"1": [{"text": '{"id":123456}'}]}],
    )
    assert (draft.params["body"], facts(draft)["unread"]) == ({"id": 123456}, None)
    with pytest.raises(AmbiguousRequestError, match="as one of gRPC and as one of JSON-RPC"):
        call(b'\n\x20{"jsonrpc":"2.0","method":"abc"}', "application/proto")


def test_json_under_the_label_of_another_protocol_stays_what_it_is() -> None:
    """Lenient servers read it as JSON; the header of Connect is one that servers of other protocols ignore."""
    question = b'{"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": []}'
    draft = call(question, "application/json", connect_protocol_version="1")
    assert draft.tool == "jsonrpc"
    for label in ("application/grpc", "application/grpc+json", "application/proto"):
        draft = call(b'{"method": "delete"}', label)
        assert (draft.tool, draft.params["body"]) == ("http", {"method": "delete"})
        assert b'"body_type_mismatch":true' in draft.read_call.shown  # type: ignore[union-attr]


def test_other_calls_are_none() -> None:
    assert call(HELLO, "application/octet-stream").tool == "http"
    assert call(HELLO, None).tool == "http"
    assert call(frame(HELLO), method="PUT").tool == "http"


def test_a_host_of_a_catalogue_is_read_whatever_the_label(tmp_path: Any) -> None:
    """gRPC's C core ignores Content-Type."""
    path = tmp_path / "echo.yaml"
    path.write_text("tool: echo\ndescription: Echo\nprotocol: grpc\nhosts: [grpc.example.com]\nentries: []\n")
    catalogue = CatalogueIndex([load_catalogue(path)])
    for label in ("application/octet-stream", "text/plain", None, "application/grpc"):
        draft = call(frame(HELLO), label, catalogue=catalogue)
        assert (draft.tool, draft.params["messages"]) == ("echo", [READ_HELLO])
    assert call(b"{}", "application/json", catalogue=catalogue).params["body"] == {}
    assert call(b"", None, method="GET", catalogue=catalogue).operation == "unlisted_get"


def test_detectors_see_the_texts_and_the_bytes_in_messages() -> None:
    inner = b"\x0a\x06secret\x12\x03\xff\xfe\xfd"
    content = judged_content(call(frame(b"\x0a" + bytes([len(inner)]) + inner)))
    assert "secret" in str(content.value)
    assert [(one.path, one.data) for one in content.attachments] == [
        (("messages", 0, "1", 0, "message", "2", 0), b"\xff\xfe\xfd")
    ]
    assert content.unscannable is None


def test_whole_messages() -> None:
    one = frame(HELLO)
    assert whole_messages_bytes(b"") == 0
    assert whole_messages_bytes(one * 3) == 3 * len(one)
    assert whole_messages_bytes(one + b"\0") == len(one)
    assert whole_messages_bytes(one[:-1]) == 0
    assert whole_messages_bytes(frame(b"") * (MESSAGES_MAX + 1)) == 5 * MESSAGES_MAX
    large = frame(bytes(MESSAGE_BYTES_MAX))
    assert whole_messages_bytes(large + one) == len(large)


@pytest.mark.parametrize(
    ("data", "needed"),
    [
        (b"", 10),
        (b"\0\0\0\0", 10),
        (b"\0\0\0\0\7", 17),
        (frame(HELLO), len(frame(HELLO)) + 5),
        (frame(HELLO) + frame(HELLO)[:5], 2 * len(frame(HELLO))),
        (frame(HELLO) * 3, 2 * len(frame(HELLO))),
    ],
)
def test_how_long_two_messages_are(data: bytes, needed: int) -> None:
    assert two_messages_bytes(data) == needed


@given(st.binary(max_size=80), st.sampled_from([None, "gzip", "identity"]), st.booleans())
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_or_said_to_be_unread(body: bytes, coding: str | None, is_base64: bool) -> None:
    framed = read_frames(body, coding, is_base64=is_base64)
    if framed.unread is None and not is_base64:
        assert sum(len(one) + 5 for one in framed.messages) <= len(body) or coding == "gzip"
    draft = call(body, "application/grpc-web-text" if is_base64 else "application/grpc")
    if draft.tool == "http":
        assert isinstance(draft.params["body"], list | dict)  # JSON under another label
        return
    assert facts(draft)["messages"] == len(draft.params["messages"])  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [1, 2, 3, 7, 100])
def test_the_ends_of_messages_are_found_in_any_pieces(step: int) -> None:
    stream = b"".join(b"\0" + len(one).to_bytes(4, "big") + one for one in (b"hello", b"", b"x" * 20))
    ends = MessageEnds()
    fed_to = [min(at + step, len(stream)) for at in range(0, len(stream), step)]
    found = [end for end in fed_to if ends.feed(stream[(end - 1) // step * step : end])]
    assert found == [end for end in fed_to if end in (10, 15, 40)]
