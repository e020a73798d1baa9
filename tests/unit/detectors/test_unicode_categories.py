import unicodedata

import pytest

from headgate.detectors.unicode_categories import characters_of


@pytest.mark.parametrize("category", ["Cf", "Nd", "Zs", "Mn", "Me"])
def test_no_character_of_the_category_is_left_out(category: str) -> None:
    codes = [*range(0x80, 0x20000), *range(0xE0000, 0xE1000)]
    assert characters_of(category) == tuple(code for code in codes if unicodedata.category(chr(code)) == category)
