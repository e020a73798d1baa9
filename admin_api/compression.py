"""Sends pages and static files as gzip (RFC 1952) where the client accepts it (RFC 9110, section 12.5.3).

The length of a compressed page tells a little about its text. An agent that writes into a page and sees the encrypted
answers on the network could guess a secret beside its text (BREACH). So only answers to GET are compressed, none of
which has a secret, and a random name in the header varies the length ("Heal the BREACH", Palacios et al. 2022).
"""

import asyncio
import secrets
import zlib
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from admin_api.request_state import request_state

_LEVEL: Final = 1
_LEAST_BYTES: Final = 1024
_GZIP_WINDOW_BITS: Final = 31
_FLAGS_AT: Final = 3
_HAS_A_NAME: Final = 8
_FIXED_HEADER_BYTES: Final = 10
_NAME_CHARACTERS_MAX: Final = 100
_VARY: Final = "Accept-Encoding"


def accepts_gzip(request: Request) -> bool:
    for one in request.headers.get("accept-encoding", "").split(","):
        coding, _, weight = one.partition(";")
        if coding.strip().lower() == "gzip":
            return weight.replace(" ", "").lower() not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


async def compressed(request: Request, response: Response) -> Response:
    """The answer to a GET or HEAD, compressed in a thread if that is worth it. Other methods' answers stay as they
    are: some of them show a key, once."""
    if request.method != "GET" or not response.headers.get("content-type", "").startswith("text/html"):
        return response
    response.headers.add_vary_header(_VARY)
    if not accepts_gzip(request):
        return response
    if request_state(request.scope).is_head:
        del response.headers["content-length"]  # that of the compressed page is not known (RFC 9110, section 8.6)
    elif len(response.body) >= _LEAST_BYTES:
        response.body = await asyncio.to_thread(gzip_of_random_length, bytes(response.body))
        response.headers["content-encoding"] = "gzip"
        response.headers["content-length"] = str(len(response.body))
    return response


def gzip_of_random_length(content: bytes) -> bytes:
    whole = bytearray(zlib.compress(content, _LEVEL, wbits=_GZIP_WINDOW_BITS))
    whole[_FLAGS_AT] |= _HAS_A_NAME
    whole[_FIXED_HEADER_BYTES:_FIXED_HEADER_BYTES] = b"a" * secrets.randbelow(_NAME_CHARACTERS_MAX + 1) + b"\0"
    return bytes(whole)
