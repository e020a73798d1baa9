"""The parsers of untrusted bytes, as functions of bytes. Each raises if the parser breaks a promise.

The promises: a parser raises only the errors that its docstring names; it reads the same bytes in the same way; and
where that is cheap to check, its result can be written and read again.
"""

import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from headgate.actions.digest import action_digest
from headgate.detectors.assess import EmbeddedModel, assess
from headgate.evidence.note import parse_note
from headgate.evidence.pack_verifier import InvalidError, RefusedError, verify_pack
from headgate.kernel.canonical_json import canonical_bytes, parse_strict
from headgate.kernel.errors import AmbiguousRequestError, HeadgateError, ValidationError
from headgate.protocols.answer_head import StreamKind
from headgate.protocols.answer_pieces import Pieces, Windows
from headgate.protocols.coded_stream import UndecodableError, decoder_of
from headgate.protocols.content_coding import decode, is_readable
from headgate.protocols.dns import read_question
from headgate.protocols.git import read_push
from headgate.protocols.graphql_document import read_graphql_document
from headgate.protocols.grpc_frames import read_frames
from headgate.protocols.http_call import HttpCall
from headgate.protocols.llm_answer import LlmAnswerReader
from headgate.protocols.llm_endpoints import LlmForm
from headgate.protocols.mcp_tool_list import read_tool_list
from headgate.protocols.protobuf_definitions import read_definitions
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues
from headgate.tools.match import CatalogueIndex
from headgate.tools.model import HostProtocol

_HOST: Final = "{}.example.com"
"""Of each protocol that a catalogue names for a host."""
_WHO: Final = {"org_id": "org_1", "agent_id": "agt_1"}
_KEYWORDS: Final = "project x\nsecret plan"
_PORTS: Final = {"http": 80, "https": 443}


def call(data: bytes) -> None:
    """``POST https://host/path?query``, lines of headers, an empty line, the body; LF between them."""
    read = _call_of(data)
    if read is None:
        return
    with suppress(HeadgateError):
        draft = interpret(read, _catalogues())
        again = interpret(read, _catalogues())
        assert action_digest(draft, **_WHO) == action_digest(again, **_WHO)
        canonical_bytes(draft.params)


def _call_of(data: bytes) -> HttpCall | None:
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    method, _, address = first.decode("latin-1").partition(" ")
    scheme, _, rest = address.partition("://")
    authority, slash, target = rest.partition("/")
    path, _, query = target.partition("?")
    if scheme not in _PORTS or not slash:
        return None
    headers = tuple((name, value.strip()) for name, _, value in (line.partition(b":") for line in lines))
    return HttpCall(method, scheme, authority, _PORTS[scheme], f"/{path}", query, headers, body)


@cache
def _catalogues() -> CatalogueIndex:
    with tempfile.TemporaryDirectory() as folder:
        for one in HostProtocol:
            text = f"tool: {one}_host\ndescription: d\nprotocol: {one}\nhosts: [{_HOST.format(one)}]\n"
            (Path(folder) / f"{one}.yaml").write_text(text)
        return load_catalogues(Path(folder))


def strict_json(data: bytes) -> None:
    with suppress(ValidationError):
        value = parse_strict(data)
        assert json.loads(data) == value
        written = canonical_bytes(value)
        assert canonical_bytes(parse_strict(written)) == written


def graphql(data: bytes) -> None:
    with suppress(HeadgateError):
        text = data.decode("utf-8", "replace")
        assert read_graphql_document(text) == read_graphql_document(text)


def git_push(data: bytes) -> None:
    with suppress(AmbiguousRequestError):
        read_push(data)


def grpc(data: bytes) -> None:
    for coding in (None, "gzip"):
        for is_base64 in (False, True):
            assert all(isinstance(one, bytes) for one in read_frames(data, coding, is_base64=is_base64).messages)


def protobuf_definitions(data: bytes) -> None:
    with suppress(ValidationError):
        read_definitions(data, where="here")


def dns(data: bytes) -> None:
    read_question(data)


def tool_list(data: bytes) -> None:
    for is_stream in (False, True):
        with suppress(AmbiguousRequestError):
            offered = read_tool_list(data, is_stream=is_stream)
            names = {one.name for one in offered.tools}
            assert not read_tool_list(offered.without(names), is_stream=is_stream).tools


def pieces(data: bytes) -> None:
    """All of a stream comes out in order, however it is cut."""
    for kind in (StreamKind.EVENTS, StreamKind.LINES):
        cut = Pieces(kind)
        taken = b""
        for at in range(len(data)):
            cut.feed(data[at : at + 1])
            taken += cut.take()
        with suppress(AmbiguousRequestError):
            Windows().joined(kind, taken.decode("utf-8", "replace"))
        cut.finish()
        assert taken + cut.take() == data


def model_answer(data: bytes) -> None:
    for form in LlmForm:
        reader = LlmAnswerReader(form)
        reader.events(data)
        reader.message(data)
        for at in range(0, len(data), 7):
            reader.part(data[at : at + 7])
        usage = reader.usage(request_bytes=1, is_complete=True)
        assert usage.tokens_in >= 0 <= usage.tokens_out


def coding(data: bytes) -> None:
    """Whole, and piece by piece: where both decode, they agree."""
    name, _, coded = data.partition(b"\n")
    text = name.decode("latin-1")
    if not is_readable(text):
        return
    with suppress(HeadgateError, UndecodableError):
        whole = decode(coded, text, max_bytes=1 << 16)
        decoder = decoder_of(text, piece_bytes_max=1 << 17)
        if decoder is not None:
            parts = b"".join(decoder.feed(coded[at : at + 5]) for at in range(0, len(coded), 5)) + decoder.finish()
            assert parts == whole


def detectors(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for model in EmbeddedModel:
        found = assess(model, {"text": text}, _KEYWORDS)
        assert 0 <= found.risk_score <= 1


def note(data: bytes) -> None:
    with suppress(ValidationError, UnicodeDecodeError):
        text = data.decode()
        assert parse_note(text).render() == text


def pack(data: bytes) -> None:
    with suppress(InvalidError, RefusedError):
        verify_pack(data, [])


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    one.__name__: one
    for one in (
        call, coding, detectors, dns, git_push, graphql, grpc, model_answer, note, pack, pieces, protobuf_definitions,
        strict_json, tool_list,
    )
}  # fmt: skip
