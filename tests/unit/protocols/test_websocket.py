"""A handshake is a read, and a message a write whose digest covers its very bytes."""

import pytest

from headgate.actions.digest import action_digest
from headgate.kernel.canonical_json import JsonValue, sha256_hex
from headgate.protocols.draft import ActionDraft, ReadCall
from headgate.protocols.http_call import HttpCall
from headgate.protocols.websocket import is_handshake, message_draft
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues

_FIELDS = (
    (b"connection", b"Upgrade"),
    (b"upgrade", b"WebSocket"),
    (b"sec-websocket-version", b"13"),
    (b"sec-websocket-key", b"dGhlIHNhbXBsZSBub25jZQ=="),
)


def _handshake(host: str = "stream.example", key: bytes = _FIELDS[3][1]) -> ActionDraft:
    fields = (*_FIELDS[:3], (b"sec-websocket-key", key))
    return interpret(HttpCall("GET", "https", host, 443, "/live", "a=1", fields, b""), load_catalogues())


def _message(content: bytes, *, is_text: bool = True) -> ActionDraft:
    handshake = _handshake().read_call
    assert isinstance(handshake, ReadCall)
    return message_draft(handshake, content, is_text=is_text)


def _digest(draft: ActionDraft) -> bytes:
    return action_digest(draft, org_id="org", agent_id="agt")


@pytest.mark.parametrize("host", ["stream.example", "api.github.com"])
def test_a_handshake_is_a_read_also_where_a_catalogue_covers_the_host(host: str) -> None:
    draft = _handshake(host)
    assert (draft.tool, draft.operation, draft.effect) == ("websocket", "connect", "read")
    assert draft.params["host"] == host


def test_the_next_handshake_is_the_same_call() -> None:
    assert _digest(_handshake()) == _digest(_handshake(key=b"another"))


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (b'{"op": "buy", "n": 1}', "json", {"op": "buy", "n": 1}),
        (b"[1]", "json", [1]),
        (b' \r\n\t{"op": "buy"}\n', "json", {"op": "buy"}),
        (b"hello", "text", "hello"),
        (b"", "text", ""),
        (b'{"op": "a", "op": "b"}', "text", '{"op": "a", "op": "b"}'),
        (b'{"id": 9007199254740993}', "text", '{"id": 9007199254740993}'),
        (b"{", "text", "{"),
        (b"12", "text", "12"),
    ],
)
def test_texts(content: bytes, kind: str, message: JsonValue) -> None:
    draft = _message(content)
    assert (draft.operation, draft.effect) == ("send", "write")
    assert (draft.params["kind"], draft.params["message"]) == (kind, message)
    assert (draft.params["host"], draft.params["path"]) == ("stream.example", "/live")


@pytest.mark.parametrize(("content", "is_text"), [(b"\xff\x00", False), (b"hello", False), (b"x" * 65_537, True)])
def test_what_is_not_shown_is_known_by_its_digest(content: bytes, is_text: bool) -> None:
    draft = _message(content, is_text=is_text)
    assert draft.params["kind"] == ("text" if is_text else "binary")
    assert draft.params["message"] == {"size": len(content), "sha256": sha256_hex(content)}


def test_an_approval_covers_the_very_bytes() -> None:
    assert _digest(_message(b'{"a": 1}')) == _digest(_message(b'{"a": 1}'))
    assert len({_digest(_message(one)) for one in (b'{"a": 1}', b'{"a":1}', b'{"a": 2}', b"")}) == 4
    assert _digest(_message(b"a")) != _digest(_message(b"a", is_text=False))


@pytest.mark.parametrize(
    ("method", "upgrade", "version"), [("POST", "websocket", "13"), ("GET", "h2c", "13"), ("GET", "websocket", "8")]
)
def test_what_is_no_handshake(method: str, upgrade: str, version: str) -> None:
    assert not is_handshake(method, {"upgrade": upgrade, "sec-websocket-version": version})
