"""One encoding of a value, and nothing behind it."""

import pytest

from headgate.evidence.der import check_der
from headgate.kernel.errors import ValidationError


@pytest.mark.parametrize(
    "text",
    ["0500", "020100", "02020080", "0201ff", "3000", "3003020100", "0101ff", "3006a0043002 0500".replace(" ", ""),
     "0481" + "80" + "00" * 128],
)  # fmt: skip
def test_what_is_der_passes(text: str) -> None:
    check_der(bytes.fromhex(text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "cut off"),
        ("05", "cut off"),
        ("050000", "behind the value"),
        ("30800000", "indefinite"),
        ("048100", "more bytes than it needs"),
        ("04817f" + "00" * 127, "more bytes than it needs"),
        ("04820080" + "00" * 128, "more bytes than it needs"),
        ("0485010000000000", "too long"),
        ("0482ff", "cut off"),
        ("300402010005", "behind|cut off|longer"),
        ("3002020100", "longer|cut off|behind"),
        ("02020001", "more bytes than it needs"),
        ("0202ff80", "more bytes than it needs"),
        ("0200", "more bytes than it needs"),
        ("010101", "truth value"),
        ("1f8101 00".replace(" ", ""), "tag of several bytes"),
        ("3080" * 1, "indefinite|cut off"),
    ],
)
def test_what_is_not_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        check_der(bytes.fromhex(text))


def test_nesting_has_an_end() -> None:
    def nested(times: int) -> bytes:
        data = b"\x05\x00"
        for _ in range(times):
            size = len(data)
            length = (
                bytes([size]) if size < 128 else b"\x81" + bytes([size]) if size < 256 else b"\x82" + size.to_bytes(2)
            )
            data = b"\x30" + length + data
        return data

    check_der(nested(60))
    with pytest.raises(ValidationError, match="too deep"):
        check_der(nested(70))
