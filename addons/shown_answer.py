"""Reads the answer of one call as it passes, for the memory of what its agent was shown.

Texts only, decoded within a bound: what lies beyond it stays unknown, which trusts it less. It cannot fail: what it
raised would hang the client.
"""

import zlib
from collections.abc import Callable
from typing import Final

import brotli
import regorus
import structlog
import zstandard

from headgate.protocols.answer_head import AnswerHead
from headgate.provenance.memory import ValueMemory
from headgate.provenance.model import Source

_log = structlog.get_logger(__name__)

READ_BYTES_MAX: Final = 1 << 20
"""Of one answer, decoded."""
_ZSTD_WINDOW_MAX: Final = 8 << 20
_ZSTD_STEP: Final = 128
_TEXTUAL: Final = ("text/", "application/json", "application/xml", "application/javascript", "application/x-ndjson")
_TEXTUAL_WORDS: Final = ("json", "xml", "javascript", "form-urlencoded", "graphql", "yaml")
_NAMING_HEADERS: Final = frozenset({b"location", b"link", b"content-disposition"})


class ShownAnswer:
    """From the head of the answer to its end."""

    __slots__ = ("_agent_id", "_decode", "_left", "_memory", "_number", "_org_id", "_overlap", "_source")

    def __init__(self, memory: ValueMemory, org_id: str, agent_id: str, source: Source) -> None:
        self._memory = memory
        self._org_id = org_id
        self._agent_id = agent_id
        self._source = source
        self._number = memory.number(source)
        self._overlap = b""
        self._left = 0
        self._decode: Callable[[bytes], bytes] = bytes

    def begin(self, head: AnswerHead) -> None:
        """The header fields that name other places, and how the body is to be read."""
        named = [value for name, value in head.fields if name.lower() in _NAMING_HEADERS]
        if named:
            self._show(b"\n".join(named))
        if not head.bodyless and is_textual(head.media_type):
            decode = decoder(head.coding)
            if decode is not None:
                self._decode, self._left = decode, READ_BYTES_MAX

    def feed(self, data: bytes) -> None:
        if self._left <= 0:
            return
        try:
            text = self._decode(data)[: self._left]
            self._left -= len(text)
            self._show(self._overlap + text)
            self._overlap = regorus.ProvenanceIndex.overlap(text)
        except Exception as error:  # noqa: BLE001 - whatever a decoder raises ends the reading, and not the answer
            self._left = 0
            _log.info("answer_not_read", action_id=self._source.action_id, error=repr(error))

    def _show(self, text: bytes) -> None:
        self._memory.show(self._org_id, self._agent_id, text, self._source, self._number)


def is_textual(media_type: str) -> bool:
    """Whether a model could be shown it as it is; an answer without a type is."""
    return not media_type or media_type.startswith(_TEXTUAL) or any(word in media_type for word in _TEXTUAL_WORDS)


def decoder(coding: str) -> Callable[[bytes], bytes] | None:
    """Decodes piece by piece, at most ``READ_BYTES_MAX`` of each; None: nobody here reads this coding."""
    if coding in ("", "identity"):
        return bytes
    if coding in ("gzip", "x-gzip", "deflate"):
        inflater = zlib.decompressobj(zlib.MAX_WBITS | (0 if coding == "deflate" else 16))
        return lambda data: inflater.decompress(data, READ_BYTES_MAX)
    if coding == "br":
        brotli_decoder = brotli.Decompressor()
        return lambda data: bytes(brotli_decoder.process(data, output_buffer_limit=READ_BYTES_MAX))
    if coding == "zstd":
        zstd = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX).decompressobj()
        return lambda data: _unzstd(zstd, data)
    return None


def _unzstd(decoding: "zstandard.ZstdDecompressionObj", data: bytes) -> bytes:
    """The library has no bound on what one call gives, hence the small steps."""
    text = bytearray()
    for at in range(0, len(data), _ZSTD_STEP):
        text += decoding.decompress(data[at : at + _ZSTD_STEP])
        if len(text) > READ_BYTES_MAX:
            break
    return bytes(text)
