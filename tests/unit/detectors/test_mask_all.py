"""Everything that some detector found is gone, and the rest is as it was."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.detectors.limits import Budget
from headgate.detectors.mask import mask_all
from headgate.detectors.model import GapReason, Match
from headgate.detectors.personal_data import find_personal_data
from headgate.detectors.secrets import find_secrets
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.secrets import MASK

MAIL = "eva.muster@example.com"
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
BOTH = (find_secrets, find_personal_data)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f"to {MAIL}, {MAIL}", f"to {MASK}, {MASK}"),
        ({"a": [MAIL, {"b": f"{TOKEN} {MAIL}"}], "n": 1}, {"a": [MASK, {"b": f"{MASK} {MASK}"}], "n": 1}),
        ({"text": f'{{"inner": "{MAIL}"}}'}, {"text": f'{{"inner":"{MASK}"}}'}),
        (["plain", None, True, 1.5], ["plain", None, True, 1.5]),
    ],
)
def test_what_is_found_is_masked(value: JsonValue, expected: JsonValue) -> None:
    masked = mask_all(value, BOTH)
    assert masked.value == expected
    assert masked.gaps == ()


def marks(*spans: tuple[int, int]):
    """A detector that finds exactly these bytes."""

    def find(buffer: bytes, budget: Budget) -> Iterable[Match]:
        return [Match("mark", start, end, 0.1) for start, end in spans]

    return find


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(0, 5), (3, 8)], [f"{MASK}89", "abcdefghij"]),
        ([(0, 5), (3, 4)], [f"{MASK}56789", "abcdefghij"]),
        # Over the end of a text, from between two, and over both of them.
        ([(8, 12)], [f"01234567{MASK}", "abcdefghij"]),
        ([(11, 15)], ["0123456789", f"{MASK}cdefghij"]),
        ([(5, 20)], [f"01234{MASK}", f"{MASK}hij"]),
        ([(10, 13)], ["0123456789", "abcdefghij"]),
    ],
)
def test_overlaps_and_what_reaches_over_two_texts(spans: list[tuple[int, int]], expected: list[str]) -> None:
    assert mask_all(["0123456789", "abcdefghij"], [marks(*spans)]).value == expected


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12)), max_size=6))
def test_no_character_that_was_found_is_left(found: list[tuple[int, int]]) -> None:
    texts = ["ABCDEFGHIJ", "KLMNOPQRST", "UVWXYZ0123"]
    buffer = "\n\0\n".join(texts)
    spans = [(start, min(start + length, len(buffer))) for start, length in found if start < len(buffer)]
    left = "".join(str(one) for one in mask_all(list(texts), [marks(*spans)]).value).replace(MASK, "")  # type: ignore[union-attr]
    gone = {character for start, end in spans for character in buffer[start:end]}
    assert left == "".join(one for text in texts for one in text if one not in gone)


def test_how_often_and_what_is_told() -> None:
    masked = mask_all([MAIL, MAIL, TOKEN], BOTH)
    assert masked.kinds["email"] == 2
    assert sum(masked.kinds.values()) >= 3


def test_what_was_not_looked_at_is_told() -> None:
    masked = mask_all("a" * (2 << 20), BOTH)
    assert GapReason.INPUT_SIZE in {gap.reason for gap in masked.gaps}
