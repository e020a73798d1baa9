"""Recovery codes: long enough, all different, and read as people type them."""

import pytest

from headgate.kernel.errors import ValidationError
from headgate.mfa.codes import CODE_BITS, CODES_EACH, new_codes, parse_code, shown


def test_ten_different_codes_of_sixty_bits() -> None:
    codes = new_codes()
    assert len({one.reveal() for one in codes}) == CODES_EACH == 10
    assert CODE_BITS == 60
    assert {len(one.reveal()) for one in codes} == {12}
    letters = "".join(one.reveal() for one in new_codes(400))
    assert len(set(letters)) == 32
    assert not set("ILOU") & set(letters)


def test_what_is_shown_is_read_again_however_it_is_typed() -> None:
    [code] = new_codes(1)
    text = shown(code)
    assert [len(part) for part in text.split("-")] == [4, 4, 4]
    for typed in (text, text.lower(), f" {text} ", text.replace("-", " "), code.reveal().replace("0", "o")):
        assert parse_code(typed) == code


@pytest.mark.parametrize("text", ["", "7KQ2-M4XW", "7KQ2-M4XW-9TBC-0000", "7KQ2-M4XW-9TB!", "7KQ2-M4XW-9TBU", "é" * 12])
def test_what_cannot_be_one_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_code(text)
    assert len(text) < 12 or text not in f"{refused.value.message} {refused.value.details}"
