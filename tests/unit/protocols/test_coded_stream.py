"""Answers out of their coding: what they become is bounded, whoever wrote them."""

import gzip
import os
from collections.abc import Callable

import brotli
import pytest
import zstandard

from headgate.protocols.coded_stream import Decoder, UndecodableError, decoder_of

_WRITE: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, 9),
    "br": lambda data: brotli.compress(data, quality=5),
    "zstd": lambda data: zstandard.ZstdCompressor(level=3).compress(data),
}


def _decoder(coding: str) -> Decoder:
    found = decoder_of(coding)
    assert found is not None
    return found


@pytest.mark.parametrize("coding", [*_WRITE])
def test_a_piece_that_becomes_too_large_is_refused_before_it_does(coding: str) -> None:
    """256 MiB of zeros are 405 bytes of brotli: an agent could store such a thing, and fetch it through the gate."""
    bomb = _WRITE[coding](b"\0" * (1 << 27))
    with pytest.raises(UndecodableError, match="too large"):
        _decoder(coding).feed(bomb)


@pytest.mark.parametrize("coding", [*_WRITE])
@pytest.mark.parametrize("size", [1, 7, 5000, 1 << 20])
def test_in_pieces_it_is_what_it_was(coding: str, size: int) -> None:
    data = os.urandom(30_000) + b"a" * 2_000_000
    coded, decoder = _WRITE[coding](data), _decoder(coding)
    pieces = [decoder.feed(coded[at : at + size]) for at in range(0, len(coded), size)]
    assert b"".join([*pieces, decoder.finish()]) == data
