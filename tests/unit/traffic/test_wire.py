"""Captured exchanges as bytes."""

import pytest

from headgate.traffic.wire import decode_captured, encode_captured
from tests.unit.traffic.samples import sample


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"answer": None, "error": "the connection was lost"},
        {"body": bytes(range(256)), "answer": b""},
        {"action_id": None, "reason": "ÄÖ", "path": "/ÿ?\x80"},
    ],
)
def test_back_is_the_same(changes) -> None:
    captured = sample(**changes)
    assert decode_captured(encode_captured(captured)) == captured


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 12, encode_captured(sample())[:40], b"\xff" * 100], ids=["empty", "zeros", "cut", "ones"]
)
def test_what_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        decode_captured(data)
