"""Reads the answer of a language model as it passes, for the tokens that it took and the tools that it asks for.

Within a bound. Beyond it only what the model wrote is counted, and bytes that cannot be read count as written. Nothing
that fails here reaches the caller: it would hang the client.
"""

from typing import Final

import structlog

from headgate.protocols.answer_head import AnswerHead, StreamKind
from headgate.protocols.answer_pieces import Pieces
from headgate.protocols.coded_stream import Decoder, PieceTooLargeError, decoder_of
from headgate.protocols.llm import ModelCall
from headgate.protocols.llm_answer import LlmAnswerReader, Usage

_log = structlog.get_logger(__name__)

HELD_BYTES_MAX: Final = 1 << 20
"""Of an answer that is one message, or of one event, decoded."""
_REFUSED: Final = 400


class LlmAnswer:
    """From the head of the answer to its end."""

    __slots__ = ("_decoder", "_is_unreadable", "_message", "_pieces", "_reader", "_status", "call")

    def __init__(self, call: ModelCall) -> None:
        self.call = call
        self._reader = LlmAnswerReader(call.form)
        self._status: int | None = None
        self._decoder: Decoder | None = None
        self._message: bytearray | None = None
        self._pieces: Pieces | None = None
        self._is_unreadable = False

    def begin(self, head: AnswerHead) -> None:
        """How the body is to be read."""
        self._status = head.status
        try:
            self._decoder = None if head.bodyless else decoder_of(head.coding, piece_bytes_max=HELD_BYTES_MAX)
        except Exception as error:  # noqa: BLE001 - whatever it is ends the reading, and not the answer
            self._give_up(error)
            return
        if head.stream is StreamKind.EVENTS:
            self._pieces = Pieces(StreamKind.EVENTS)
        else:
            self._message = bytearray()

    def feed(self, data: bytes) -> None:
        """A piece of the body, as it arrived."""
        if self._is_unreadable:
            self._reader.unread(len(data))
            return
        try:
            self._read(data if self._decoder is None else self._decoder.feed(data))
        except PieceTooLargeError as error:
            self._reader.part(error.decoded)
            self._give_up(error)
        except Exception as error:  # noqa: BLE001 - as in begin
            self._reader.unread(len(data))
            self._give_up(error)

    @property
    def tools(self) -> list[str]:
        """The tools that the model asks for, at the end of the answer."""
        return self._reader.tools

    def usage(self, *, request_bytes: int, is_complete: bool) -> Usage | None:
        """At the end of the answer. None: the provider refused the call, which takes no tokens."""
        if self._status is not None and self._status >= _REFUSED:
            return None
        try:
            self._finish()
        except Exception as error:  # noqa: BLE001 - as in begin; without a record of the outcome an estimate is better
            self._give_up(error)
        return self._reader.usage(request_bytes=request_bytes, is_complete=is_complete)

    def _finish(self) -> None:
        message, self._message = self._message, None
        pieces, self._pieces = self._pieces, None
        if message:
            self._reader.message(bytes(message))
        if pieces is not None and len(pieces):
            pieces.finish()
            self._reader.events(pieces.take())

    def _read(self, decoded: bytes) -> None:
        if self._pieces is not None:
            self._pieces.feed(decoded)
            if events := self._pieces.take():
                self._reader.events(events)
            if len(self._pieces) > HELD_BYTES_MAX:
                self._pieces.finish()
                self._reader.part(self._pieces.take())
                self._pieces = None
        elif self._message is not None:
            self._message += decoded
            if len(self._message) > HELD_BYTES_MAX:
                self._reader.part(bytes(self._message))
                self._message = None
        else:
            self._reader.part(decoded)

    def _give_up(self, error: Exception) -> None:
        self._pieces = self._message = None
        self._is_unreadable = True
        _log.info("llm_answer_not_read", error=repr(error))
