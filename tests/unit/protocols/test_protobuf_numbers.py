"""Messages by number: as the official parser reads them, and nothing that it reads otherwise."""

import struct
from typing import Any

import pytest
from google.protobuf import empty_pb2
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.kernel.canonical_json import canonical_bytes, parse_strict
from headgate.protocols.protobuf_numbers import TEXT_BYTES_MAX, NumberReader
from headgate.protocols.protobuf_wire import (
    DEPTH_MAX,
    FIELDS_MAX,
    Field,
    FieldBudget,
    Unread,
    UnreadableError,
    WireType,
    read_fields,
)

NUMBERS = st.integers(1, (1 << 29) - 1) | st.integers(1, 20)
UNSIGNED = st.integers(0, (1 << 64) - 1) | st.integers(0, 300)


def varint(value: int, pad: int = 0) -> bytes:
    """``pad``: needless bytes at the end."""
    encoded = bytearray()
    while value > 0x7F or pad > len(encoded):
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def field(number: int, kind: WireType, payload: bytes) -> bytes:
    return varint(number << 3 | kind) + payload


def text(number: int, value: bytes) -> bytes:
    return field(number, WireType.BYTES, varint(len(value)) + value)


def group(number: int, inner: bytes) -> bytes:
    return field(number, WireType.GROUP, inner) + varint(number << 3 | WireType.GROUP_END)


def encoded_fields() -> st.SearchStrategy[bytes]:
    plain = st.one_of(
        st.builds(lambda n, v: field(n, WireType.VARINT, varint(v)), NUMBERS, UNSIGNED),
        st.builds(lambda n, v: field(n, WireType.FIXED32, v), NUMBERS, st.binary(min_size=4, max_size=4)),
        st.builds(lambda n, v: field(n, WireType.FIXED64, v), NUMBERS, st.binary(min_size=8, max_size=8)),
        st.builds(text, NUMBERS, st.binary(max_size=40) | st.text(max_size=40).map(str.encode)),
    )
    return st.recursive(
        st.lists(plain, max_size=4).map(b"".join),
        lambda inner: st.lists(
            st.one_of(st.builds(text, NUMBERS, inner), st.builds(group, NUMBERS, inner), plain), max_size=4
        ).map(b"".join),
        max_leaves=12,
    )


def of_official(fields: UnknownFieldSet) -> list[Field]:
    return [
        Field(
            one.field_number,
            WireType(one.wire_type),
            of_official(one.data) if one.wire_type == WireType.GROUP else one.data,
        )
        for one in fields
    ]


def official(data: bytes) -> list[Field]:
    message = empty_pb2.Empty()
    message.ParseFromString(data)
    return of_official(UnknownFieldSet(message))


def read(data: bytes) -> Any:
    return NumberReader().read(data)


def reason(data: bytes) -> Unread:
    with pytest.raises(UnreadableError) as caught:
        read(data)
    return caught.value.reason


@given(encoded_fields())
@settings(max_examples=150, deadline=None)
def test_what_is_a_message_is_read_as_the_official_parser_reads_it(data: bytes) -> None:
    assert read_fields(data, FieldBudget()) == official(data)
    assert parse_strict(canonical_bytes(read(data))) is not None


@given(st.binary(max_size=60) | st.tuples(encoded_fields(), st.binary(max_size=6)).map(b"".join))
@settings(max_examples=400, deadline=None)
def test_what_the_official_parser_reads_is_read_alike(data: bytes) -> None:
    try:
        fields = official(data)
    except DecodeError:
        return
    assert read_fields(data, FieldBudget()) == fields


def test_a_message_of_every_wire_type() -> None:
    data = b"".join(
        (
            field(1, WireType.VARINT, varint(150)),
            field(2, WireType.FIXED32, struct.pack("<f", 1.5)),
            field(3, WireType.FIXED64, struct.pack("<d", float("nan"))),
            text(4, b"testing"),
            text(5, b"\xff\xfe"),
            group(6, field(1, WireType.VARINT, varint(1))),
            text(7, field(1, WireType.VARINT, varint((1 << 64) - 1))),
            text(8, b""),
        )
    )
    shown = read(data)
    assert shown["1"] == [150]
    assert shown["2"] == [{"fixed32": 0x3FC00000, "float": 1.5}]
    assert shown["3"][0]["double"] == "NaN"
    assert shown["4"] == [{"text": "testing"}]
    assert set(shown["5"][0]) == {"size", "sha256"}
    assert shown["6"] == [{"group": {"1": [1]}}]
    assert shown["7"][0]["message"] == {"1": [(1 << 64) - 1]}
    assert shown["8"] == [{"text": "", "message": {}}]


def test_all_occurrences_of_a_field_are_there_in_order() -> None:
    data = (
        text(1, b"first") + field(2, WireType.VARINT, b"\x01") + text(1, b"last") + field(2, WireType.VARINT, b"\x02")
    )
    assert read(data) == {"1": [{"text": "first"}, {"text": "last"}], "2": [1, 2]}


def test_bytes_that_are_text_and_message_are_both() -> None:
    """Field 1 of 36 tildes: a line feed, a dollar sign, and the tildes. ``hi`` is field 13 with the value 105."""
    inner = text(1, b"~" * 36)
    assert read(text(1, inner)) == {"1": [{"text": inner.decode(), "message": {"1": [{"text": "~" * 36}]}}]}
    assert read(text(1, b"hi")) == {"1": [{"text": "hi", "message": {"13": [105]}}]}


def test_a_packed_list_is_bytes() -> None:
    assert set(read(text(1, varint(300) + varint(5)))["1"][0]) == {"size", "sha256"}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a number without its end", b"\x08\x80"),
        ("a length beyond the end", b"\x0a\x05abc"),
        ("wire type 6", b"\x0e\x01"),
        ("wire type 7", b"\x0f\x01"),
        ("a group without its end", b"\x0b\x08\x01"),
        ("the end of another group", b"\x0b\x14"),
        ("an end without a group", b"\x0c"),
        ("a number of 11 bytes", b"\x08" + b"\x80" * 10 + b"\x00"),
        ("a cut number of 32 bits", b"\x0d\x01\x02\x03"),
        ("text", b"hello, world"),
    ],
)
def test_what_no_parser_reads_is_not_read(name: str, data: bytes) -> None:
    assert reason(data) is Unread.INVALID, name


@pytest.mark.parametrize(
    ("name", "data", "fields"),
    [
        ("field 0", b"\x00\x07\x08\x01", {"0": [7], "1": [1]}),
        ("a tag of six bytes", b"\x88\x80\x80\x80\x80\x00\x01", {"1": [1]}),
        ("a tag beyond 32 bits", b"\x88\x80\x80\x80\x10\x01", {"1": [1]}),
        ("a length beyond 32 bits", b"\x0a\x81\x80\x80\x80\x10~", {"1": [{"text": "~"}]}),
        ("a number beyond 64 bits", b"\x08" + b"\xff" * 9 + b"\x02", {"1": [(1 << 63) - 1]}),
    ],
)
def test_what_some_parsers_read_is_read_as_they_do(name: str, data: bytes, fields: object) -> None:
    """Also in a message: hidden from policies, and not from these servers, it would be a way around them."""
    assert read(data) == fields, name
    assert read(text(1, data))["1"][0]["message"] == fields, name


def test_needless_bytes_of_a_number_change_nothing() -> None:
    data = varint(1 << 3, pad=4) + varint(5, pad=9) + varint(2 << 3 | 2, pad=3) + varint(2, pad=4) + b"hi"
    assert (
        read_fields(data, FieldBudget())
        == official(data)
        == [
            Field(1, WireType.VARINT, 5),
            Field(2, WireType.BYTES, b"hi"),
        ]
    )


def nested(depth: int, innermost: bytes = b"\x08\x01") -> bytes:
    for _ in range(depth):
        innermost = text(1, innermost)
    return innermost


def test_depth() -> None:
    assert read(nested(DEPTH_MAX))
    assert reason(nested(DEPTH_MAX + 1)) is Unread.TOO_DEEP
    groups = b"\x0b" * (DEPTH_MAX + 1) + b"\x0c" * (DEPTH_MAX + 1)
    assert reason(groups) is Unread.TOO_DEEP
    assert reason(text(1, groups)) is Unread.TOO_DEEP
    # A text that opens groups and closes none is a text, and one at the very bottom, too.
    assert read(text(1, b"[" * 1000)) == {"1": [{"text": "[" * 1000}]}
    assert read(nested(DEPTH_MAX, text(1, b"no message")))


def test_number_of_fields() -> None:
    assert read(b"\x08\x01" * FIELDS_MAX)["1"] == [1] * FIELDS_MAX
    assert reason(b"\x08\x01" * (FIELDS_MAX + 1)) is Unread.TOO_MANY
    assert reason(text(1, b"\x08\x01" * FIELDS_MAX)) is Unread.TOO_MANY


def test_bytes_are_counted_in_each_message_that_they_are_in() -> None:
    assert read(nested(4, text(1, b"\xff" * (4 << 20))))
    assert reason(nested(12, text(1, b"\xff" * (4 << 20)))) is Unread.TOO_LARGE


def test_the_messages_of_one_call_share_the_bounds() -> None:
    reader = NumberReader()
    reader.read(b"\x08\x01" * FIELDS_MAX)
    with pytest.raises(UnreadableError):
        reader.read(b"\x08\x01")


def test_texts_are_bounded() -> None:
    assert reason(text(1, b"a" * (TEXT_BYTES_MAX + 1))) is Unread.TOO_LARGE


def test_bytes_that_are_neither_are_told_with_their_place() -> None:
    told: list[tuple[tuple[str | int, ...], bytes]] = []
    reader = NumberReader(lambda place, data: told.append((place, data)))
    reader.read(text(1, text(2, b"\xff\x00\x00")), ("messages", 0))
    assert told == [(("messages", 0, "1", 0, "message", "2", 0), b"\xff\x00\x00")]
