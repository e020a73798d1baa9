"""Calls of gRPC, gRPC-Web and Connect: service, method, and the messages that the client sends.

Recognised by Content-Type. Some servers (gRPC's C core) ignore it: at a host that a catalogue names with
``protocol: grpc``, every POST is read as such a call.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import AmbiguousRequestError, ValidationError
from headgate.protocols.body import FRAMED, Body, BodyKind
from headgate.protocols.content_type import read_content_type
from headgate.protocols.draft import OpaquePart, ReadCall
from headgate.protocols.grpc_frames import MESSAGE_BYTES_MAX, Framed, decompress, read_frames
from headgate.protocols.headers import Headers
from headgate.protocols.json_numbers import refuse_inexact_integers
from headgate.protocols.names import altered_name
from headgate.protocols.protobuf_definitions import Definitions
from headgate.protocols.protobuf_names import Misfit, MisfitError, NameReader
from headgate.protocols.protobuf_numbers import NumberReader, Place
from headgate.protocols.protobuf_wire import Unread, UnreadableError

GRPC_TOOL: Final = "grpc"
MESSAGES: Final = "messages"
"""The member of ``params``."""
_LABEL: Final = re.compile(
    r"application/(?:(?P<form>grpc-web-text|grpc-web|grpc|connect(?=\+))(?:\+(?P<codec>[a-z0-9.-]+))?|(?P<unary>proto|json))"
)
_CONNECT_VERSION: Final = "connect-protocol-version"


class Form(StrEnum):
    GRPC = "grpc"
    GRPC_WEB = "grpc_web"
    GRPC_WEB_TEXT = "grpc_web_text"
    CONNECT = "connect"
    """A unary call of Connect: its body is its message."""
    CONNECT_STREAM = "connect_stream"


class Codec(StrEnum):
    """How messages are written, and named in ``params``."""

    NUMBERS = "numbers"
    """Protocol Buffers, its fields by number."""
    JSON = "json"
    NAMES = "names"
    """Protocol Buffers, by definitions."""


_FORMS: Final[Mapping[str, Form]] = MappingProxyType(
    {
        "grpc": Form.GRPC,
        "grpc-web": Form.GRPC_WEB,
        "grpc-web-text": Form.GRPC_WEB_TEXT,
        "connect": Form.CONNECT_STREAM,
        "proto": Form.CONNECT,
        "json": Form.CONNECT,
    }
)
_CODECS: Final[Mapping[str, Codec]] = MappingProxyType({"": Codec.NUMBERS, "proto": Codec.NUMBERS, "json": Codec.JSON})


class GrpcRequest(Struct, frozen=True):
    """``facts``: what policies read as ``input.grpc``. ``messages``: each as JSON, null where it is not read; None
    where the body is the message, in JSON. ``opaque``: bytes in messages that are neither text nor message."""

    operation: str
    facts: JsonObject
    messages: list[JsonValue] | None
    opaque: tuple[OpaquePart, ...]
    unread: Unread | None


class _Label(Struct, frozen=True):
    form: Form
    codec: Codec | None


class _Read(Struct, frozen=True):
    """``codec``: where it is another than the label says. ``misfit``: why the definitions do not fit."""

    messages: list[JsonValue] | None
    unread: Unread | None = None
    opaque: Sequence[OpaquePart] = ()
    codec: Codec | None = None
    misfit: Misfit | None = None
    has_unknown: bool = False


_NOT_FRAMED: Final = _Read(None)


def recognise(
    read_call: ReadCall,
    headers: Headers,
    body: Body,
    *,
    is_grpc_host: bool = False,
    definitions: Definitions | None = None,
) -> GrpcRequest | None:
    """None if the call is none of these. A body that is JSON is read as a message only for Connect, if it can be read
    as one: a framed message is never JSON, and few unary messages are (a field whose tag and length are white
    space)."""
    if read_call.call.method != "POST":
        return None
    label = _label(headers, is_grpc_host=is_grpc_host)
    if label is None:
        return None
    is_json_call = label.form is Form.CONNECT and label.codec is Codec.JSON and body.kind is BodyKind.JSON
    is_unexpected_json = body.kind is BodyKind.JSON and not is_json_call and not is_grpc_host
    if is_unexpected_json and label.form is not Form.CONNECT:
        return None
    service, method = _names(read_call.path)
    read = _NOT_FRAMED if is_json_call else _read(read_call.call.body, headers, label, definitions, (service, method))
    if is_unexpected_json and read.unread is not None:
        return None
    facts: JsonObject = {
        "form": label.form,
        "service": service,
        "method": method,
        "fields": read.codec or label.codec,
        "messages": 1 if read.messages is None else len(read.messages),
        "unread": read.unread,
        "misfit": read.misfit,
        "unknown_fields": read.has_unknown,
    }
    return GrpcRequest(altered_name(f"{service}.{method}"), facts, read.messages, tuple(read.opaque), read.unread)


def _label(headers: Headers, *, is_grpc_host: bool) -> _Label | None:
    media_type = read_content_type(headers.content_type or "").media_type
    found = _LABEL.fullmatch(media_type)
    if found is None:
        if media_type.startswith(FRAMED):
            return _Label(Form.GRPC, None)
        return _Label(Form.GRPC, Codec.NUMBERS) if is_grpc_host else None
    if found["unary"] == "json" and not is_grpc_host and _CONNECT_VERSION not in headers.shown:
        return None
    return _Label(_FORMS[found["form"] or found["unary"]], _CODECS.get(found["unary"] or found["codec"] or ""))


def _names(path: str) -> tuple[str | None, str | None]:
    """``/package.Service/Method``, behind a prefix too, as gRPC-Web and Connect permit."""
    _, service, method = ("", "", *path.split("/"))[-3:]
    return service or None, method or None


def _read(
    body: bytes,
    headers: Headers,
    label: _Label,
    definitions: Definitions | None,
    called: tuple[str | None, str | None],
) -> _Read:
    """By names where the definitions fit all messages, else by numbers."""
    framed = _framed(body, headers, label.form)
    if definitions is None or label.codec is not Codec.NUMBERS:
        return _by(framed, lambda data, place, numbers: _message(data, label.codec, numbers, place))
    type_name = definitions.methods.get((called[0] or "", called[1] or ""))
    if type_name is None:
        misfit = Misfit.METHOD
    else:
        try:
            return _by_names(framed, definitions, type_name)
        except MisfitError as error:
            misfit = error.reason
    return replace(_by(framed, lambda data, place, numbers: numbers.read(data, place)), misfit=misfit)


def _by_names(framed: Framed, definitions: Definitions, type_name: str) -> _Read:
    """Raises MisfitError."""
    readers: list[NameReader] = []

    def read(data: bytes, place: Place, numbers: NumberReader) -> JsonValue:
        if not readers:
            readers.append(NameReader(definitions, numbers))
        return readers[0].read(data, type_name, place)

    read_messages = _by(framed, read)
    return replace(read_messages, codec=Codec.NAMES, has_unknown=any(one.has_unknown for one in readers))


def _by(framed: Framed, read: Callable[[bytes, Place, NumberReader], JsonValue]) -> _Read:
    opaque: list[OpaquePart] = []
    numbers = NumberReader(lambda place, data: opaque.append((place, data)))
    messages: list[JsonValue] = []
    unread = framed.unread
    for number, data in enumerate(framed.messages):
        try:
            messages.append(read(data, (MESSAGES, number), numbers))
        except UnreadableError as error:
            messages.append(None)
            unread = unread or error.reason
    if framed.unread is not None:
        messages.append(None)
    return _Read(messages, unread, opaque)


def _framed(body: bytes, headers: Headers, form: Form) -> Framed:
    encoding = headers.content_encoding
    if form is Form.CONNECT:
        try:
            whole = (
                body if encoding in (None, "", "identity") else decompress(body, encoding, max_bytes=MESSAGE_BYTES_MAX)
            )
            if len(whole) > MESSAGE_BYTES_MAX:
                raise UnreadableError(Unread.TOO_LARGE)
        except UnreadableError as error:
            is_coding = error.reason is Unread.COMPRESSION
            return Framed((), Unread.CONTENT_ENCODING if is_coding else error.reason)
        return Framed((whole,), None)
    if encoding not in (None, "", "identity"):
        return Framed((), Unread.CONTENT_ENCODING)
    name = "connect-content-encoding" if form is Form.CONNECT_STREAM else "grpc-encoding"
    coding = headers.shown.get(name)
    # Of a list, servers take different ones.
    return read_frames(body, coding if isinstance(coding, str) else None, is_base64=form is Form.GRPC_WEB_TEXT)


def _message(data: bytes, codec: Codec | None, numbers: NumberReader, place: Place) -> JsonValue:
    """Raises UnreadableError."""
    if codec is None:
        raise UnreadableError(Unread.CODEC)
    if codec is Codec.NUMBERS:
        return numbers.read(data, place)
    try:
        value = parse_strict(data)
        refuse_inexact_integers(data, value)
    except (ValidationError, AmbiguousRequestError) as error:
        raise UnreadableError(Unread.INVALID) from error
    return value
