"""What clients choose is kept where it is short only."""

import pytest

from headgate.detectors.labels import Labels
from headgate.kernel.short_key_cache import KEY_LENGTH_MAX, short_key_cache
from headgate.protocols.content_type import read_content_type
from headgate.protocols.headers import _classify
from headgate.provenance.values import step_of


@pytest.mark.parametrize(("length", "calls"), [(KEY_LENGTH_MAX, 1), (KEY_LENGTH_MAX + 1, 2)])
def test_a_long_key_is_not_kept(length: int, calls: int) -> None:
    asked = []

    @short_key_cache(10)
    def shown(key: str) -> str:
        asked.append(key)
        return key.upper()

    assert shown("a" * length) == shown("a" * length) == "A" * length
    assert len(asked) == calls


def test_the_entries_are_bounded() -> None:
    asked = []

    @short_key_cache(2)
    def shown(key: str) -> None:
        asked.append(key)

    for key in ("a", "b", "c", "a"):
        shown(key)
    assert asked == ["a", "b", "c", "a"]


def test_what_a_name_of_a_megabyte_becomes_is_made_anew() -> None:
    """Each of a thousand such names would stay, in memory that no budget counts."""
    long = "x" * 1_000_000
    assert Labels().label(long, None) is not Labels().label(long, long)
    assert step_of(long) is not step_of(long)
    assert _classify(long.encode()) is not _classify(long.encode())
    assert read_content_type(f"text/{long}") is not read_content_type(f"text/{long}")
