import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.agents.keys import (
    KEY_PATTERN,
    compose_key,
    display_prefix,
    generate_key,
    hash_key,
    is_well_formed,
    keys_in,
)

ZERO = compose_key(bytes(32)).reveal()


def test_the_form_is_fixed() -> None:
    # Keys are handed out: a change of their form would refuse those that exist.
    assert ZERO == "hg_" + "0" * 43 + "2CZclj"
    assert compose_key(b"\xff" * 32).reveal() == "hg_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp13sRzl1"


@given(st.binary(min_size=32, max_size=32))
def test_every_key_is_well_formed_and_distinct(random: bytes) -> None:
    key = compose_key(random).reveal()
    assert is_well_formed(key)
    assert re.fullmatch(KEY_PATTERN, key)
    assert len(key) == 52


@given(st.binary(min_size=32, max_size=32), st.integers(3, 51), st.characters(codec="ascii", categories=["L", "N"]))
def test_one_changed_character_is_noticed(random: bytes, position: int, character: str) -> None:
    key = compose_key(random).reveal()
    changed = key[:position] + character + key[position + 1 :]
    assert is_well_formed(changed) == (changed == key)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hg_",
        ZERO[3:],
        "HG_" + ZERO[3:],
        "sk_" + ZERO[3:],
        ZERO + "0",
        ZERO[:-1],
        ZERO + "\n",
        " " + ZERO,
        ZERO.replace("0", "\u0660"),  # a digit, but not of base62
        ZERO[:-1] + "w",
        "hg_" + "0" * 49,
    ],
)
def test_what_cannot_be_a_key(text: str) -> None:
    assert not is_well_formed(text)


def test_a_key_is_random_and_shown_only_by_its_beginning() -> None:
    one, other = generate_key(), generate_key()
    assert one != other
    assert display_prefix(one) == one.reveal()[:9] + "…"
    assert one.reveal() not in repr(one)
    assert len(hash_key(one.reveal())) == 32


def test_random_bytes_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="expected 32 random bytes, got 31"):
        compose_key(bytes(31))


def test_keys_in_a_text_are_found_once_and_only_where_they_stand_alone() -> None:
    one, two = compose_key(bytes(32)).reveal(), compose_key(b"\x01" * 32).reveal()
    text = f"{one} '{two}', {one}\nx{one} {two}0 {one[:-1]}_ hg_{'0' * 49}"
    assert keys_in(text) == [one, two]
