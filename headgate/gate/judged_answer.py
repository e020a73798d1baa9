"""Extracts the text that content policies judge from a response, or from a part of a stream.

The bytes count, not their Content-Type: text that claims to be a picture is read as text. Unreadable content is
reported, because a detector that finds nothing in it proves nothing.
"""

import codecs
import json
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from regorus import as_text

from headgate.detectors.document import Attachment
from headgate.gate.masked_events import EVENTS, data_of_events
from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError, ValidationError
from headgate.nlp_policies.content import JudgedContent
from headgate.protocols import content_coding
from headgate.protocols.a2a import CARD_OPERATIONS
from headgate.protocols.answer_head import PART, AnswerHead, StreamKind, is_part
from headgate.protocols.answer_pieces import Windows
from headgate.protocols.grpc_answer import read_messages

# Protocol: dates, tags and sizes that look like something else, and cookies, which are made for the client.
_NOT_JUDGED: Final = frozenset(
    b"age alt-svc content-length content-security-policy content-security-policy-report-only date etag expires"
    b" last-modified nel report-to reporting-endpoints server-timing set-cookie strict-transport-security traceparent"
    b" vary x-request-id".split()
)
# Those of the Encoding standard that keep ASCII as it is, and UTF-16. Others (UTF-7, ISO-2022-JP) write ASCII
# in other ways, which no detector reads.
_CHARSETS: Final = {
    **dict.fromkeys(("", "utf-8", "utf8", "us-ascii", "ascii"), "utf-8"),
    **dict.fromkeys(("iso-8859-1", "latin1", "windows-1252", "cp1252"), "windows-1252"),
    **{name: name for name in ("iso-8859-15", "windows-1250", "windows-1251", "koi8-r", "gb18030", "shift_jis")},
    **dict.fromkeys(("gbk", "gb2312"), "gb18030"),
    **{name: name for name in ("euc-jp", "euc-kr", "big5", "utf-16", "utf-16le", "utf-16be")},
}
BEGINNING_BYTES: Final = 128 << 10
"""Of an answer that passes once its beginning is clear. Detectors of instructions take a third of a second for it."""
_LARGE_BYTES: Final = 16 << 10
_NO_BODY: Final = "it has a body where there is none"
_MESSAGES: Final = "messages"
_NOT_TEXT: Final = "the body is not text"


class AnsweredCall(Struct, frozen=True):
    """What was called."""

    tool: str
    operation: str

    @property
    def describes_an_agent(self) -> bool:
        """Whether the answer is an agent card: what it says is read by a model, as definitions of tools are."""
        return self.operation in CARD_OPERATIONS


class Answer(Struct, frozen=True):
    """A whole answer, or its beginning. ``body`` is as it came, still in its content coding."""

    head: AnswerHead
    body: bytes
    trailers: tuple[tuple[bytes, bytes], ...] = ()
    is_whole: bool = True

    @property
    def is_large(self) -> bool:
        """Whether reading it would hold up everybody else for longer than a thread costs."""
        return len(self.body) > _LARGE_BYTES or (bool(self.body) and self.head.is_coded)


def judged_answer(call: AnsweredCall, answer: Answer, *, max_bytes: int, in_part: bool = False) -> JudgedContent:
    """``in_part``: of an answer that decodes to more than ``max_bytes`` the beginning is enough."""
    value = _value(call, answer.head, answer.trailers)
    if not answer.body:
        return JudgedContent(value, None)
    if answer.head.bodyless:  # HTTP/2 keeps nobody from sending one (RFC 9113, 8.1), nor a client from reading it
        return JudgedContent(value, _NO_BODY)
    try:
        most = content_coding.decoded_bytes_max(len(answer.body), max_bytes)
        decoded = content_coding.decode(answer.body, answer.head.coding, max_bytes=most)
    except PayloadTooLargeError as error:
        return judged_beginning(call, answer, max_bytes=max_bytes) if in_part else JudgedContent(value, error.message)
    except AmbiguousRequestError as error:
        return JudgedContent(value, error.message)
    content = _with_body(value, decoded, answer.head.charset)
    return replace(content, unscannable=PART) if in_part and is_part(answer.head) else content


def beginning_bytes(max_bytes: int) -> int:
    """Of an answer that is inspected in part, on the wire and decoded. ``max_bytes``: of one that is read whole."""
    return min(max_bytes, BEGINNING_BYTES)


def judged_beginning(call: AnsweredCall, answer: Answer, *, max_bytes: int) -> JudgedContent:
    """At most ``beginning_bytes`` of it. What is not looked at is unscannable."""
    value, body, most = _value(call, answer.head, answer.trailers), answer.body, beginning_bytes(max_bytes)
    if answer.head.bodyless:
        return JudgedContent(value, _NO_BODY)
    try:
        decoded = content_coding.decode_beginning(body, answer.head.coding, max_bytes=most)
    except AmbiguousRequestError as error:
        return JudgedContent(value, error.message)
    if len(body) > most and 2 * len(decoded) < most:
        return JudgedContent(value, "its content coding hides what it begins with")  # a long name, empty blocks
    content = _with_body(value, _without_cut_character(decoded, answer.head.charset), answer.head.charset)
    return replace(content, unscannable=f"only its first {len(decoded)} bytes were inspected")


def _without_cut_character(body: bytes, charset: str) -> bytes:
    """Without an incomplete character at the end, with which it would be no text."""
    decoder = codecs.getincrementaldecoder(_CHARSETS.get(charset, "utf-8"))("replace")
    decoder.decode(body)
    pending = decoder.getstate()[0]
    return body[: len(body) - len(pending)] if pending else body


def _with_body(value: JsonObject, decoded: bytes, charset: str) -> JudgedContent:
    if not decoded:
        return JudgedContent(value)
    texts, unread = _texts(decoded, charset)
    if unread == _NOT_TEXT:
        return JudgedContent(value, attachments=(Attachment(("body",), decoded),))
    if texts:
        value["body"] = _as_json(texts[0])
    if len(texts) > 1:
        value["body_in_utf_8"] = texts[1]
    return JudgedContent(value, unread)


class Definitions(Struct, frozen=True):
    """What a server says of the tools that it offers. ``other_tools``: names of other servers' tools."""

    offered: Sequence[JsonObject]
    other_tools: frozenset[str]


def with_definitions(content: JudgedContent, definitions: Definitions) -> JudgedContent:
    """With the definitions as values, where the body is a text: in one of an event stream escapes hide words."""
    value = content.value
    if isinstance(value, dict) and not isinstance(value.get("body"), dict):
        offered: list[JsonValue] = list(definitions.offered)
        value = {**value, "tools": offered}
    return replace(content, value=value, other_tools=definitions.other_tools)


def judged_head(call: AnsweredCall, head: AnswerHead, trailers: tuple[tuple[bytes, bytes], ...] = ()) -> JudgedContent:
    """Before the first piece of a stream, and with its trailers after the last."""
    return JudgedContent(_value(call, head, trailers), None)


def judged_pieces(call: AnsweredCall, head: AnswerHead, pieces: bytes, windows: Windows) -> JudgedContent:
    """What has come, and what it makes together with what came before."""
    value: JsonObject = {"tool": call.tool, "operation": call.operation}
    texts, unread = _texts(pieces, head.charset)
    for text in texts:
        value[f"stream {len(value)}"] = text
    if texts and head.stream is not None:
        try:
            value["together"] = windows.joined(head.stream, texts[0].removeprefix("\ufeff"))
        except AmbiguousRequestError as error:
            return JudgedContent(value, error.message)
    return JudgedContent(value, unread)


def judged_events(call: AnsweredCall, events: bytes) -> JudgedContent:
    """The data of each event by itself, to find the places of what is masked."""
    return JudgedContent({"tool": call.tool, "operation": call.operation, EVENTS: data_of_events(events)})


def judged_messages(call: AnsweredCall, head: AnswerHead, stretch: bytes, windows: Windows) -> JudgedContent:
    """The messages of gRPC or Connect that have come, and their texts together with those before them."""
    read = read_messages(head, stretch)
    value: JsonObject = {"tool": call.tool, "operation": call.operation, _MESSAGES: read.values}
    text = "\n".join(json.dumps(one, ensure_ascii=False) for one in read.values)
    try:
        value["together"] = windows.joined(StreamKind.LINES, text)
    except AmbiguousRequestError as error:
        return JudgedContent(value, error.message)
    attachments = tuple(Attachment((_MESSAGES, *place), data) for place, data in read.opaque)
    unscannable = None if read.unread is None else f"a message of the answer cannot be read: {read.unread}"
    return JudgedContent(value, attachments=attachments, unscannable=unscannable)


def _value(call: AnsweredCall, head: AnswerHead, trailers: Iterable[tuple[bytes, bytes]]) -> JsonObject:
    fields: dict[str, JsonValue] = {}
    for name, value in (*head.fields, *trailers):
        lowered = name.lower()
        if lowered not in _NOT_JUDGED:
            shown = lowered.decode("latin-1")
            text = value.decode("utf-8", "replace")
            fields[shown] = f"{fields[shown]}, {text}" if shown in fields else text
    answer: JsonObject = {"status": head.status, "headers": fields}
    if head.reason:
        answer["reason"] = head.reason
    return {"tool": call.tool, "operation": call.operation, "answer": answer}


def _texts(body: bytes, charset: str) -> tuple[list[str], str | None]:
    """As the charset says, and as a reader takes it who does not look at the charset; or why neither can be."""
    codec = _CHARSETS.get(charset)
    if codec is None:
        return [], "its character set is not read"
    plain = as_text(body)
    if codec == "utf-8":
        return ([], _NOT_TEXT) if plain is None else ([plain], None)
    try:
        text = codecs.decode(body, codec)
    except ValueError:
        return [], "it is not in the character set that it names"
    if plain is None and as_text(text.encode("utf-8", "replace")) is None:
        return [], _NOT_TEXT
    return ([text] if plain is None or plain == text else [text, plain]), None


def _as_json(text: str) -> JsonValue:
    try:
        return parse_strict(text.encode("utf-8", "replace"))
    except ValidationError:
        return text
