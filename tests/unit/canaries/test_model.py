"""A canary is found by the keyed hash of its value, wherever it stands in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.canaries.model import NO_CANARIES, CanarySet, TooManyPlacesError, canary_set, check_value
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from tests.unit.canaries.tokens import FIRST, KEY, SECOND, canary_of


@pytest.fixture(scope="module")
def canaries() -> CanarySet:
    return canary_set(KEY, [canary_of("first", FIRST), canary_of("second", SECOND)])


def _names(canaries: CanarySet, text: str) -> list[str]:
    return [canary.name for _, canary in canaries.in_text(text.encode())]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (FIRST, ["first"]),
        (FIRST.upper(), ["first"]),
        (f"x{FIRST}x", ["first"]),
        (f"{FIRST[:10]}{FIRST}", ["first"]),
        (f"{SECOND} and {FIRST} and {SECOND}", ["second", "first"]),
        (SECOND.lower() + ".example.com", ["second"]),
        (FIRST[:-1], []),
        (FIRST[:-1] + "7", []),
        ("", []),
    ],
)
def test_what_is_found(canaries: CanarySet, text: str, names: list[str]) -> None:
    assert _names(canaries, text) == names


@given(st.text(max_size=50), st.text(max_size=50))
def test_it_is_found_between_any_texts(before: str, after: str) -> None:
    canaries = canary_set(KEY, [canary_of("first", FIRST)])
    text = before.encode("utf-8", "replace") + FIRST.encode() + after.encode("utf-8", "replace")
    assert [canary.name for _, canary in canaries.in_text(text)] == ["first"]


def test_another_key_finds_nothing() -> None:
    other = canary_set(Secret("cd" * 32), [canary_of("first", FIRST)])
    assert _names(other, FIRST) == []
    assert not NO_CANARIES
    assert NO_CANARIES.in_text(FIRST.encode()) == []


def test_a_text_of_beginnings_is_not_looked_at_for_ever(canaries: CanarySet) -> None:
    with pytest.raises(TooManyPlacesError):
        canaries.in_text(FIRST[:4].encode() * 100 + FIRST.encode(), places_max=50)


@pytest.mark.parametrize(
    "value", ["short", "a" * 40, "abcdefg" * 4, "with a space in it 123", "ümlaut-ümlaut-ümlaut", "x" * 257]
)
def test_values_that_occur_by_chance_or_are_no_token_are_refused(value: str) -> None:
    with pytest.raises(ValidationError):
        check_value(value)


@pytest.mark.parametrize(
    "value", [FIRST, SECOND, "nobody.reads-this@corp.example", "https://corp.example/x?".rstrip("?")]
)
def test_values_that_are_taken(value: str) -> None:
    assert check_value(value) == value
