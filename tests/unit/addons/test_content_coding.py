"""Decoding has a bound, and one result."""

import contextlib
import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from addons.content_coding import decode_body
from headgate.kernel.errors import AmbiguousRequestError, HeadgateError, PayloadTooLargeError

CODINGS = {
    b"gzip": gzip.compress,
    b"deflate": zlib.compress,
    b"br": brotli.compress,
    b"zstd": zstandard.ZstdCompressor().compress,
    b"identity": bytes,
    b"": bytes,
}


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("body", [b"", b"x", b"hello " * 1000, bytes(range(256)) * 100])
def test_there_and_back(coding, body) -> None:
    assert decode_body(CODINGS[coding](body), coding, max_bytes=100_000) == body


@pytest.mark.parametrize("coding", CODINGS)
def test_the_bound_is_exact(coding) -> None:
    body = CODINGS[coding](bytes(1000))
    assert len(decode_body(body, coding, max_bytes=1000)) == 1000
    with pytest.raises(PayloadTooLargeError):
        decode_body(body, coding, max_bytes=999)


@pytest.mark.parametrize("coding", [b"gzip", b"deflate", b"br", b"zstd"])
def test_a_bomb_is_not_unpacked(coding) -> None:
    bomb = CODINGS[coding](bytes(100_000_000))
    assert len(bomb) < 200_000
    with pytest.raises(PayloadTooLargeError):
        decode_body(bomb, coding, max_bytes=1_000_000)


@pytest.mark.parametrize("coding", [b"gzip", b"deflate", b"br", b"zstd"])
def test_cut_short_or_followed_by_more(coding) -> None:
    body = CODINGS[coding](b"hello world" * 100)
    for damaged in (body[:-1], body[: len(body) // 2], body + body, body + b"x", b"garbage", b""):
        with pytest.raises(AmbiguousRequestError):
            decode_body(damaged, coding, max_bytes=100_000)


@pytest.mark.parametrize("coding", [b"gzip, gzip", b"gzip,identity", b"compress", b"x", b"\xff"])
def test_codings_that_are_not_read(coding) -> None:
    with pytest.raises(AmbiguousRequestError):
        decode_body(b"", coding, max_bytes=10)


@pytest.mark.parametrize("coding", [b"gzip", b"deflate", b"br", b"zstd"])
@given(body=st.binary(max_size=300))
def test_noise_raises_nothing_else(coding, body) -> None:
    with contextlib.suppress(HeadgateError):
        decode_body(body, coding, max_bytes=1000)
