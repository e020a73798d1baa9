"""Parts of a body: as hexadecimal digits, and as text whose characters no part cuts."""

import pytest

from admin_api.actions.body_schemas import BodyPartAnswer
from admin_api.web.call_body import hex_rows, is_text, offset_of, parts_of, text_of
from headgate.kernel.errors import ValidationError


def test_a_row_has_offset_digits_and_ascii() -> None:
    first, second = hex_rows(b"Hello, \x00world!\xff\r\n\x7f.", 0x1000)
    assert (first.offset, first.digits[0]) == ("00001000", "48 65 6c 6c 6f 2c 20 00")
    assert first.digits[1] == "77 6f 72 6c 64 21 ff 0d"
    assert first.characters == "Hello, .world!.."
    assert (second.offset, second.digits, second.characters) == ("00001010", ("0a 7f 2e", ""), "...")


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 16])
@pytest.mark.parametrize("text", ["plain", "žluťoučký kůň", "日本語テキスト", "🙂🙃" * 5, "a🙂b日c\u202e"])
def test_parts_join_to_the_whole_text(text: str, size: int) -> None:
    content = text.encode()
    parts = [text_of(content[at : at + size + 4], size, is_first=at == 0) for at in range(0, len(content), size)]
    assert "".join(parts) == text


@pytest.mark.parametrize("content", [b"\x80\x80\x80\x80\x80\x80abc", b"abc\xff\xfe\x80\x80\x80\x80", b"\xf0\x9f"])
def test_no_byte_that_is_no_text_is_left_out(content: bytes) -> None:
    size = 4
    parts = [text_of(content[at : at + size + 4], size, is_first=at == 0) for at in range(0, len(content), size)]
    kept = "".join(parts)
    assert kept.replace("\ufffd", "") == content.decode(errors="replace").replace("\ufffd", "")
    assert kept.count("\ufffd") >= content.decode(errors="replace").count("\ufffd")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"text\n", True),
        ("日本".encode()[1:-1], True),
        (b"nul \0", False),
        (b"\x89PNG\r\n\x1a\n\0", False),
        (b"caf\xe9 au lait", False),
        (b"", True),
    ],
)
def test_what_counts_as_text(content: bytes, expected: bool) -> None:
    assert is_text(content) is expected


@pytest.mark.parametrize(("text", "at"), [("0", 0), ("4096", 4096), ("0x1000", 4096), ("0XfF", 255)])
def test_an_offset(text: str, at: int) -> None:
    assert offset_of(text) == at


@pytest.mark.parametrize("text", ["", "-1", "x", "0x", "1e3", "٣", str(1 << 30), "9" * 16])
def test_no_offset(text: str) -> None:
    with pytest.raises(ValidationError, match="Invalid offset"):
        offset_of(text)


@pytest.mark.parametrize(
    ("size", "at", "expected"),
    [
        (0, 0, (1, 1, None, None, 0)),
        (10, 0, (1, 1, None, None, 0)),
        (8192, 0, (1, 2, None, 4096, 4096)),
        (8193, 4096, (2, 3, 0, 8192, 8192)),
        (8193, 8192, (3, 3, 4096, None, 8192)),
        (8193, 100, (1, 3, 0, 4196, 8192)),
    ],
)
def test_neighbors_of_a_part(size: int, at: int, expected: tuple[int | None, ...]) -> None:
    found = BodyPartAnswer(
        size=size,
        sha256="",
        content_type=None,
        masked_places=0,
        decoded_from=None,
        is_exact=True,
        offset=at,
        content="",
    )
    parts = parts_of(found, at, 4096)
    assert (parts.number, parts.count, parts.before, parts.after, parts.last) == expected
