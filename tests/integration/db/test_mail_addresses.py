"""The database and the program lower the same letters of an address, over all of Unicode."""

import sys
from typing import Final

from headgate.organizations.mail_addresses import lower_ascii

_SURROGATES: Final = range(0xD800, 0xE000)
_LETTERS: Final = [chr(number) for number in range(1, sys.maxunicode + 1) if number not in _SURROGATES]


async def test_the_same_letters(api_database) -> None:
    async with api_database.across_organizations() as connection:
        cursor = await connection.execute(
            'SELECT t.letter, lower(t.letter COLLATE "C") AS lowered FROM unnest(%s::text[]) AS t(letter)'
            ' WHERE lower(t.letter COLLATE "C") <> t.letter',
            [_LETTERS],
        )
        changed = {row["letter"]: row["lowered"] for row in await cursor.fetchall()}
    assert changed == {letter: lower_ascii(letter) for letter in _LETTERS if lower_ascii(letter) != letter}
    assert len(changed) == 26
