"""What a coded body may become: by its own size, and in all."""

import gzip

import pytest

from headgate.kernel.errors import PayloadTooLargeError
from headgate.protocols.body import BodyKind, BodyReading, read_body
from headgate.protocols.content_coding import RATIO_FREE_BYTES, RATIO_MAX, decoded_bytes_max

_MAX = 10 << 20


@pytest.mark.parametrize(
    ("coded", "most"),
    [
        (0, RATIO_FREE_BYTES),
        (20, RATIO_FREE_BYTES),
        (10_000, RATIO_MAX * 10_000),
        (_MAX // RATIO_MAX + 1, _MAX),
        (_MAX, _MAX),
    ],
)
def test_by_the_size_of_the_coded_body(coded: int, most: int) -> None:
    assert decoded_bytes_max(coded, _MAX) == most


def _json(size: int) -> bytes:
    return b'{"a":"%s"}' % (b"x" * (size - 8))


def test_a_small_body_may_grow_as_it_likes() -> None:
    body = gzip.compress(_json(RATIO_FREE_BYTES), mtime=0)
    assert len(body) * RATIO_MAX < RATIO_FREE_BYTES
    assert read_body(body, "application/json", "gzip").kind is BodyKind.JSON


def test_beyond_the_ratio_a_body_is_unread_or_refused() -> None:
    body = gzip.compress(_json(9_900_000), mtime=0)
    unread = read_body(body, "application/json", "gzip")
    assert unread.kind is BodyKind.OPAQUE
    assert isinstance(unread.value, dict)
    assert unread.value["unread"] == "too_large"
    with pytest.raises(PayloadTooLargeError):
        read_body(body, "application/json", "gzip", reading=BodyReading.JSON)
