"""The answer of a call that carries a connection's credential: out of its content coding, and with the credential's
echoes masked before anybody, the flow included, sees it."""

import dataclasses
from collections.abc import Iterator
from typing import Final

from mitmproxy.http import Headers, Response
from mitmproxy.proxy import events
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
    ResponseTrailers,
)

from addons.replaced_body import leave_length_open
from headgate.connections.echoes import EchoMask
from headgate.protocols.coded_stream import Decoder, decoder_of
from headgate.protocols.grpc_frames import MessageEnds

_WITHOUT_BODY: Final = frozenset({204, 304})
UNREADABLE: Final = "its answer is in a content coding in which an echo of the credential could not be masked"


class MaskedAnswer:
    """One answer on its way in. ``is_in_messages``: its client waits for each message of gRPC or Connect, so that the
    end of none is kept back."""

    def __init__(self, mask: EchoMask, stream_id: int, method: bytes, *, is_http2: bool, is_in_messages: bool) -> None:
        self._mask = mask
        self._stream_id = stream_id
        self._method = method
        self._is_http2 = is_http2
        self._echoes = mask.stream()
        self._decoder: Decoder | None = None
        self._ends = MessageEnds() if is_in_messages else None

    def masked(self, event: events.Event) -> list[events.Event]:
        """What the stream gets in place of ``event``. Raises UndecodableError; then it gets ``unreadable``."""
        return list(self._masked(event))

    def unreadable(self) -> events.Event:
        return ResponseProtocolError(self._stream_id, UNREADABLE, ErrorCode.GENERIC_SERVER_ERROR)

    def _masked(self, event: events.Event) -> Iterator[events.Event]:
        if isinstance(event, ResponseHeaders):
            self._decoder = _decoder_for(event.response, self._method)
            self._mask_head(event.response)
            yield event
        elif isinstance(event, ResponseData):
            data = event.data if self._decoder is None else self._decoder.feed(event.data)
            ends_message = self._ends is not None and self._ends.feed(data)
            yield from self._data(self._echoes.feed(data, ends_message=ends_message))
        elif isinstance(event, ResponseTrailers):
            event.trailers = self._masked_fields(event.trailers)
            yield event
        elif isinstance(event, ResponseEndOfMessage):
            rest = b"" if self._decoder is None else self._decoder.finish()
            yield from self._data(self._echoes.feed(rest) + self._echoes.finish())
            yield event
        elif isinstance(event, ResponseProtocolError):
            yield dataclasses.replace(event, message=self._mask.mask_text(event.message))
        else:
            yield event

    def _data(self, data: bytes) -> Iterator[events.Event]:
        if data:
            yield ResponseData(self._stream_id, data)

    def _mask_head(self, response: Response) -> None:
        data = response.data
        data.headers = self._masked_fields(data.headers)
        data.reason = self._mask.mask(data.reason)
        if self._decoder is not None:
            for name in ("content-encoding", "etag", "content-md5", "digest", "repr-digest"):
                data.headers.pop(name, None)
            leave_length_open(data.headers, is_http2=self._is_http2)

    def _masked_fields(self, headers: Headers) -> Headers:
        return Headers((self._mask.mask(name), self._mask.mask(value)) for name, value in headers.fields)


def _decoder_for(response: Response, method: bytes) -> Decoder | None:
    """None: it is in no coding, or has no body. Raises UndecodableError. The gate asks for ``identity``; some servers
    answer in a coding all the same."""
    if method == b"HEAD" or response.status_code in _WITHOUT_BODY:
        return None
    return decoder_of(response.headers.get("content-encoding", "").strip().lower())
