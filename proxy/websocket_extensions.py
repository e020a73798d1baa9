"""What a server's answer to a handshake agrees on beside RFC 6455: permessage-deflate (RFC 7692), and nothing else.

Extends a class of wsproto: what one stretch of a frame inflates to is bounded.
"""

import zlib
from typing import Any, Final

import wsproto.extensions
import wsproto.utilities
from wsproto.frame_protocol import CloseReason

_INFLATED_BYTES_MAX: Final = 4 << 20


class BoundedDeflate(wsproto.extensions.PerMessageDeflate):
    def frame_inbound_payload_data(self, proto: Any, data: bytes) -> bytes | CloseReason:
        if not self._inbound_compressed or not self._inbound_is_compressible or self._decompressor is None:
            return data
        try:
            inflated = self._decompressor.decompress(bytes(data), _INFLATED_BYTES_MAX)
        except zlib.error:
            return CloseReason.INVALID_FRAME_PAYLOAD_DATA
        return CloseReason.MESSAGE_TOO_BIG if self._decompressor.unconsumed_tail else inflated


def agreed(header: str) -> list[BoundedDeflate] | None:
    """Of one side. ``header``: Sec-WebSocket-Extensions of the answer; None: it has something that nobody could read
    the messages by."""
    found: list[BoundedDeflate] = []
    for one in wsproto.utilities.split_comma_header(header.encode("ascii", "replace")) if header else ():
        deflate = BoundedDeflate()
        if one.split(";", 1)[0].strip() != deflate.name:
            return None
        try:
            deflate.finalize(one)
        except (IndexError, ValueError):  # a parameter without its value, or with one that it cannot have
            return None
        found.append(deflate)
    return found
