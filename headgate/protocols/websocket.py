"""WebSocket (RFC 6455): the opening handshake, and each message that a client sends, as an action.

Pure. A message is decided with the address of its handshake: ``input.http`` is the handshake's.
"""

from typing import Final

from msgspec.structs import replace

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict, sha256_hex
from headgate.kernel.errors import AmbiguousRequestError, ValidationError
from headgate.protocols import llm_socket
from headgate.protocols.body import begins_as_json
from headgate.protocols.draft import ActionDraft, Effect, ProtocolFacts, ReadCall, Source, make_draft
from headgate.protocols.json_numbers import refuse_inexact_integers

WEBSOCKET_TOOL: Final = "websocket"
CONNECT: Final = "connect"
SEND: Final = "send"
MESSAGE: Final = "message"
_JSON: Final = "json"
_LLM: Final = "llm"
_VERSION: Final = "13"
_TEXT_CHARACTERS_MAX: Final = 64 << 10


def is_handshake(method: str, headers: JsonObject) -> bool:
    """Of what ``headers`` shows (RFC 6455, 4.1); ``addons.wellformed`` has refused other upgrades."""
    upgrade = headers.get("upgrade")
    return (
        method == "GET"
        and isinstance(upgrade, str)
        and upgrade.lower() == WEBSOCKET_TOOL
        and headers.get("sec-websocket-version") == _VERSION
    )


def handshake_draft(read_call: ReadCall, params: JsonObject) -> ActionDraft:
    """As any GET a read: what the address says leaves, and what follows is decided message by message."""
    return make_draft(
        tool=WEBSOCKET_TOOL,
        operation=CONNECT,
        params=params,
        source=Source.PROXY,
        read_call=read_call,
        effect=Effect.READ,
    )


def message_draft(handshake: ReadCall, content: bytes, *, is_text: bool) -> ActionDraft:
    """``params``: ``host``, ``port``, ``path``, ``kind`` (``json``, ``text``, ``binary``) and ``message``: the value,
    the text, or of a binary message and of a long text its size and SHA-256. Raises ValidationError."""
    digest = sha256_hex(content)
    kind, message = _read(content, digest, is_text=is_text)
    call = handshake.call
    facts = llm_socket.recognise(call.host, handshake.path, handshake.query, message) if kind == _JSON else None
    params: JsonObject = {
        "host": call.host,
        "port": call.port,
        "path": handshake.path,
        "kind": kind,
        MESSAGE: message,
    }
    return make_draft(
        tool=WEBSOCKET_TOOL,
        operation=SEND,
        params=params,
        source=Source.PROXY,
        read_call=replace(handshake, covered_body_sha256=digest),
        effect=Effect.WRITE,
        facts=None if facts is None else ProtocolFacts(_LLM, canonical_bytes(facts)),
        message=content,
    )


def _read(content: bytes, digest: str, *, is_text: bool) -> tuple[str, JsonValue]:
    if is_text and len(content) <= _TEXT_CHARACTERS_MAX:
        text = content.decode()
        try:
            value = parse_strict(content) if begins_as_json(content) else None
            refuse_inexact_integers(content, value)
        except (ValidationError, AmbiguousRequestError):
            value = None  # parsers read it differently: policies get its very text
        return ("text", text) if value is None else (_JSON, value)
    return ("text" if is_text else "binary"), {"size": len(content), "sha256": digest}
