"""Reads the answer to an MCP tool's call as it passes, to record whether the tool succeeded.

Within a bound; what lies beyond it, or cannot be read, counts as HTTP's status says. Nothing that fails here reaches
the caller: it would hang the client.
"""

from typing import Final

import structlog

from headgate.protocols.answer_head import AnswerHead, StreamKind
from headgate.protocols.answer_pieces import Pieces
from headgate.protocols.coded_stream import Decoder, decoder_of
from headgate.protocols.mcp_answer import failure_in_events, failure_in_message
from headgate.protocols.mcp_exchange import McpId

_log = structlog.get_logger(__name__)

HELD_BYTES_MAX: Final = 1 << 20
"""Of an answer that is one message, or of one event, decoded."""


class ToolAnswer:
    """From the head of the answer to its end."""

    __slots__ = ("_decoder", "_failure", "_message", "_pieces", "_request_id")

    def __init__(self, request_id: McpId) -> None:
        self._request_id = request_id
        self._failure: str | None = None
        self._decoder: Decoder | None = None
        self._message: bytearray | None = None
        self._pieces: Pieces | None = None

    def begin(self, head: AnswerHead) -> None:
        """How the body is to be read."""
        try:
            self._decoder = None if head.bodyless else decoder_of(head.coding, piece_bytes_max=HELD_BYTES_MAX)
        except Exception as error:  # noqa: BLE001 - whatever it is ends the reading, and not the answer
            self._give_up(error)
            return
        if head.stream is StreamKind.EVENTS:
            self._pieces = Pieces(StreamKind.EVENTS)
        elif head.media_type == "application/json":
            self._message = bytearray()

    def feed(self, data: bytes) -> None:
        """A piece of the body, as it arrived."""
        if self._pieces is None and self._message is None:
            return
        try:
            self._read(data if self._decoder is None else self._decoder.feed(data))
        except Exception as error:  # noqa: BLE001 - as in begin
            self._give_up(error)

    def failure(self) -> str | None:
        """Why the call failed; None: its answer does not say so. At the end of the answer."""
        if self._message:
            return failure_in_message(bytes(self._message), self._request_id)
        return self._failure

    def _read(self, decoded: bytes) -> None:
        if self._pieces is not None:
            self._pieces.feed(decoded)
            if self._failure is None:
                self._failure = failure_in_events(self._pieces.take(), self._request_id)
            if len(self._pieces) > HELD_BYTES_MAX:
                self._pieces = None
        elif self._message is not None:
            self._message += decoded
            if len(self._message) > HELD_BYTES_MAX:
                self._message = None

    def _give_up(self, error: Exception) -> None:
        self._pieces = self._message = None
        _log.info("tool_answer_not_read", error=repr(error))
