"""Content codings: read back, bounded, and refused where decoders differ."""

import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.errors import AmbiguousRequestError, HeadgateError, PayloadTooLargeError
from headgate.protocols.content_coding import decode, decode_beginning, is_readable

_ENCODERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
_LIMIT = 10_000


@pytest.mark.parametrize("coding", list(_ENCODERS))
@pytest.mark.parametrize("body", [b"", b"x", b"abc" * 1000, bytes(_LIMIT)])
def test_what_was_encoded_reads_back(coding: str, body: bytes) -> None:
    assert decode(_ENCODERS[coding](body), coding, max_bytes=_LIMIT) == body


@pytest.mark.parametrize("coding", list(_ENCODERS))
@pytest.mark.parametrize("size", [_LIMIT + 1, 50_000_000])
def test_what_decodes_to_too_much_is_refused(coding: str, size: int) -> None:
    with pytest.raises(PayloadTooLargeError):
        decode(_ENCODERS[coding](bytes(size)), coding, max_bytes=_LIMIT)


@pytest.mark.parametrize("coding", list(_ENCODERS))
def test_damage_is_refused(coding: str) -> None:
    encoded = _ENCODERS[coding](b"some text " * 20)
    for damaged in (b"", encoded[:-1], encoded + encoded, encoded + b"x", b"not encoded at all"):
        with pytest.raises(AmbiguousRequestError):
            decode(damaged, coding, max_bytes=_LIMIT)


def test_a_raw_deflate_stream_is_refused() -> None:
    compressor = zlib.compressobj(wbits=-15)
    with pytest.raises(AmbiguousRequestError):
        decode(compressor.compress(b"text") + compressor.flush(), "deflate", max_bytes=_LIMIT)


@pytest.mark.parametrize("coding", ["", "identity"])
def test_identity(coding: str) -> None:
    assert decode(b"abc", coding, max_bytes=3) == b"abc"
    with pytest.raises(PayloadTooLargeError):
        decode(b"abcd", coding, max_bytes=3)


@pytest.mark.parametrize("coding", ["gzip, br", "compress", "GZIP"])
def test_other_codings_are_not_read(coding: str) -> None:
    assert not is_readable(coding)


@given(st.binary(max_size=200), st.sampled_from(list(_ENCODERS)))
def test_arbitrary_bytes_raise_nothing_else(body: bytes, coding: str) -> None:
    try:
        decode(body, coding, max_bytes=_LIMIT)
    except HeadgateError:
        return


@pytest.mark.parametrize("coding", list(_ENCODERS))
def test_the_beginning_of_a_cut_body_is_decoded(coding: str) -> None:
    text = bytes(range(256)) * 400
    encoded = _ENCODERS[coding](text)
    assert decode_beginning(encoded, coding, max_bytes=len(text)) == text
    assert decode_beginning(encoded, coding, max_bytes=1000) == text[:1000]
    cut = decode_beginning(encoded[: len(encoded) // 2], coding, max_bytes=len(text))
    assert text.startswith(cut)
    assert len(cut) < len(text)
    for damaged in (b"plain text, and no more than that", encoded + encoded, encoded + b"x"):
        with pytest.raises(AmbiguousRequestError):
            decode_beginning(damaged, coding, max_bytes=2 * len(text))


def test_what_is_in_no_coding_is_its_own_beginning() -> None:
    assert decode_beginning(b"plain text", "", max_bytes=5) == b"plain"
    assert decode_beginning(b"plain text", "", max_bytes=10) == b"plain text"
