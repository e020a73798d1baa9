"""Texts that digits spell, against a reader that decodes one digit after another, in whole numbers."""

import base64
import binascii
import gzip
import random
import re
from collections.abc import Callable
from typing import Literal, get_args

import pytest
from regorus import DigitTexts, base85_texts, long_words, texts_in

type _Base = Literal["hex", "base64", "base64url", "base32"]

_ORDINARY = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_DIGITS: dict[_Base, tuple[bytes, int, int]] = {
    "hex": (b"0123456789abcdef", 4, 2),
    "base64": (_ORDINARY, 6, 4),
    "base64url": (_ORDINARY, 6, 4),
    "base32": (b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 5, 8),
}
_PACKED = (b"\x1f\x8b\x08", b"PK\x03\x04", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
_WORDS = b"the token is AKIAIOSFODNN7EXAMPLE, and what follows is only more of the same"


def _read(text: bytes, base: _Base) -> bytes:
    if base == "hex":
        return re.sub(rb"0[xX]", b"  ", text).lower()
    return text.translate(bytes.maketrans(b"-_", b"+/")) if base == "base64url" else text


def _expected(text: bytes, base: _Base) -> list[tuple[int, int, bytes]]:
    digits, bits, shifts = _DIGITS[base]
    places = [at for at, code in enumerate(_read(text, base)) if code in digits]
    read = _read(text, base)
    found = []
    for shift in range(shifts):
        number = "".join(f"{digits.index(read[at]):0{bits}b}" for at in places[shift:])
        data = bytes(int(number[at : at + 8], 2) for at in range(0, len(number) - 7, 8))
        if len(data) < 12:
            break
        runs = [(data.find(magic), len(data)) for magic in _PACKED if magic in data]
        runs += [one.span() for one in re.finditer(rb"[\t\n\r\x20-\x7e]{12,}", data)]
        for start, end in runs:
            first = places[shift + start * 8 // bits]
            past = places[min(len(places) - 1, shift + -(-end * 8 // bits) - 1)] + 1
            found.append((first, past, data[start:end]))
    return found


def _spelled(chance: random.Random, base: _Base) -> bytes:
    data = _WORDS[chance.randrange(20) : chance.randrange(30, 70)]
    if chance.random() < 0.2:
        data = gzip.compress(data, mtime=0)
    match base:
        case "hex":
            written = binascii.hexlify(data)
        case "base32":
            written = base64.b32encode(data)
        case "base64":
            written = base64.b64encode(data)
        case "base64url":
            written = base64.urlsafe_b64encode(data)
    between, size = (
        chance.choice([b"", b" ", b"-", b", ", b"\n", b" 0x", b"\\x", b"\xc3\xa9"]),
        chance.choice([2, 4, 9]),
    )
    groups = [written[at : at + size] for at in range(0, len(written), size)]
    return chance.choice([b"", b"key=", b"0x", b"see "]) + between.join(groups) + chance.choice([b"", b" end", b"Q="])


@pytest.mark.parametrize("base", get_args(_Base.__value__))
def test_each_text_is_found_at_its_place(base: _Base) -> None:
    chance = random.Random(11)  # noqa: S311 - the same texts each time
    texts = [b"".join(_spelled(chance, base) for _ in range(chance.randint(1, 3))) for _ in range(300)]
    texts += [
        bytes(chance.choice(b"0xX\\aAbB17-_+/=. \n\0\xc3zK") for _ in range(chance.randrange(90))) for _ in range(300)
    ]
    found = 0
    for text in texts:
        expected = _expected(text, base)
        answers = list(DigitTexts(text, base))
        assert [(start, end) for start, end, _ in answers] == [(start, end) for start, end, _ in expected]
        assert all(
            one[2] == wanted[2] or one[2].startswith(wanted[2] + b"\n")
            for one, wanted in zip(answers, expected, strict=True)
        )
        found += len(expected)
    assert found > 200


def test_a_text_is_found_without_the_letters_of_the_word_beside_it() -> None:
    [(start, end, data)] = DigitTexts(b"41 " + binascii.hexlify(_WORDS[:24]), "hex")
    assert (start, end) == (0, 51)
    assert data.split(b"\n")[:2] == [b"A" + _WORDS[:24], _WORDS[:24]]


@pytest.mark.parametrize("text", [b"", b"\0", b"41", b"  ", b"\xff" * 100, b"a" * 70_000, b"A" * 70_001])
@pytest.mark.parametrize("base", get_args(_Base.__value__))
def test_it_ends_for_any_bytes(text: bytes, base: _Base) -> None:
    assert all(0 <= start < end <= len(text) for start, end, _ in DigitTexts(text, base))


@pytest.mark.parametrize("base", get_args(_Base.__value__))
@pytest.mark.parametrize("seed", range(12))
def test_a_text_is_found_wherever_it_begins_and_however_short_it_is(base: _Base, seed: int) -> None:
    """Among thousands of digits that spell nothing, at the edges of what is looked at at once."""
    chance = random.Random(seed)  # noqa: S311 - the same texts each time
    digits, bits, shifts = _DIGITS[base]
    data = chance.choice([*_PACKED, *(b"a text as short as it may be"[:size] for size in range(11, 15))])
    number = int.from_bytes(data) << (-8 * len(data) % bits)
    count = -(-8 * len(data) // bits)
    written = bytes(digits[number >> bits * at & (1 << bits) - 1] for at in reversed(range(count)))
    before = chance.choice([0, 1, 2, 3, 5, 6143, 6144, 6145, 6170]) + chance.randrange(2 * shifts)
    text = digits[-1:] * before + written + digits[-1:] * chance.randrange(40)

    assert [one[:2] for one in DigitTexts(text, base)] == [one[:2] for one in _expected(text, base)]


def test_an_unknown_base_is_refused() -> None:
    with pytest.raises(ValueError, match="no such base"):
        DigitTexts(b"", "base58")  # type: ignore[arg-type]  # what is tested


def test_long_words() -> None:
    assert long_words(b"abcd 12345-ABcd9\xc3", 4) == [(0, 4), (5, 10), (11, 16)]
    assert long_words(b"abc", 4) == []


def test_what_is_packed_counts_as_text() -> None:
    packed = gzip.compress(b"", mtime=0)
    assert texts_in(b"\0\1" + packed) == [packed]
    assert texts_in(b"\0" + b"printable 12\0short\0") == [b"printable 12"]


_RFC_1924 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def _in_z85(data: bytes) -> bytes:
    return base64.b85encode(data).translate(bytes.maketrans(_RFC_1924, _Z85))


@pytest.mark.parametrize("size", range(60, 77))
@pytest.mark.parametrize("encode", [base64.b85encode, base64.a85encode, _in_z85])
def test_base85_is_found(encode: Callable[[bytes], bytes], size: int) -> None:
    token = encode(_WORDS[:size])
    assert (4, 4 + len(token), _WORDS[:size]) in base85_texts(b"see " + token + b" end")


def test_ascii85_in_its_frame_is_found_with_what_stands_for_zeros() -> None:
    data = b"a text of some words" + bytes(8) + b"and others behind them"
    token = base64.a85encode(data, adobe=True)
    assert b"z" in token
    assert [one for _, _, one in base85_texts(token)] == [data[:20], data[28:]]


@pytest.mark.parametrize(
    "token", [b"0" * 19, b"plain-words-and-a-path/of/some-length", b"ALL-UPPER-CASE-WORDS-WITH-DASHES", b"s8W-!" * 30]
)
def test_ordinary_tokens_are_no_base85(token: bytes) -> None:
    assert base85_texts(token) == []
