"""Reads the answer of one call as it passes, for the memory of what its agent was shown.

Texts only, decoded within a bound: what lies beyond it stays unknown, which trusts it less. Nothing that fails here
reaches the caller: it would hang the client.
"""

from typing import Final

import regorus
import structlog

from headgate.protocols.answer_head import AnswerHead
from headgate.protocols.coded_stream import Decoder, PieceTooLargeError, decoder_of
from headgate.provenance.memory import ValueMemory
from headgate.provenance.model import Source

_log = structlog.get_logger(__name__)

READ_BYTES_MAX: Final = 1 << 20
"""Of one answer, decoded."""
_TEXTUAL: Final = ("text/", "application/json", "application/xml", "application/javascript", "application/x-ndjson")
_TEXTUAL_WORDS: Final = ("json", "xml", "javascript", "form-urlencoded", "graphql", "yaml")
_NAMING_HEADERS: Final = frozenset({b"location", b"link", b"content-disposition"})


class ShownAnswer:
    """From the head of the answer to its end."""

    __slots__ = ("_agent_id", "_decoder", "_left", "_memory", "_number", "_org_id", "_overlap", "_source")

    def __init__(self, memory: ValueMemory, org_id: str, agent_id: str, source: Source) -> None:
        self._memory = memory
        self._org_id = org_id
        self._agent_id = agent_id
        self._source = source
        self._number = memory.number(source)
        self._overlap = b""
        self._left = 0
        self._decoder: Decoder | None = None

    def begin(self, head: AnswerHead) -> None:
        """The header fields that name other places, and how the body is to be read."""
        try:
            named = [value for name, value in head.fields if name.lower() in _NAMING_HEADERS]
            if named:
                self._show(b"\n".join(named))
            if not head.bodyless and is_textual(head.media_type):
                self._decoder = decoder_of(head.coding, piece_bytes_max=READ_BYTES_MAX)
                self._left = READ_BYTES_MAX
        except Exception as error:  # noqa: BLE001 - whatever it is ends the reading, and not the answer
            self._give_up(error)

    def feed(self, data: bytes) -> None:
        """A piece of the body, as it arrived."""
        if self._left <= 0:
            return
        try:
            self._read(data)
        except Exception as error:  # noqa: BLE001 - as in begin
            self._give_up(error)

    def _read(self, data: bytes) -> None:
        try:
            decoded = data if self._decoder is None else self._decoder.feed(data)
        except PieceTooLargeError as error:
            decoded = error.decoded
        # A value may lie in several pieces, however small they are.
        text = self._overlap + decoded[: self._left]
        self._left -= len(decoded)
        self._show(text)
        self._overlap = regorus.ProvenanceIndex.overlap(text)

    def _show(self, text: bytes) -> None:
        self._memory.show(self._org_id, self._agent_id, text, self._source, self._number)

    def _give_up(self, error: Exception) -> None:
        self._left = 0
        _log.info("answer_not_read", action_id=self._source.action_id, error=repr(error))


def is_textual(media_type: str) -> bool:
    """Whether a model could be shown it as it is; an answer without a type is."""
    return not media_type or media_type.startswith(_TEXTUAL) or any(word in media_type for word in _TEXTUAL_WORDS)
