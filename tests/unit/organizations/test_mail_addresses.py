"""One address, in either case of ASCII letters."""

import pytest

from headgate.organizations.mail_addresses import is_one_address, same_address


def test_in_either_case() -> None:
    assert same_address("Ada@Example.COM", " ada@example.com")


@pytest.mark.parametrize(
    ("invited", "other"),
    [
        ("ada@strasse.example", "ada@straße.example"),  # two domains since IDNA 2008
        ("kim@example.com", "\u212aim@example.com"),  # KELVIN SIGN
        ("susan@example.com", "\u017fusan@example.com"),  # LATIN SMALL LETTER LONG S
        ("office@example.com", "o\ufb03ce@example.com"),  # a ligature
    ],
)
def test_what_only_folds_to_it_is_another_address(invited: str, other: str) -> None:
    assert not same_address(invited, other)


@pytest.mark.parametrize(
    "text", ["mike@corp.de", "ada@localhost", "o'hara+x@a-b.example", "büro@straße.example", "!#$%&*/=?^_`{|}~.-@x.y"]
)
def test_one_address(text: str) -> None:
    assert is_one_address(text)


@pytest.mark.parametrize(
    "text",
    [
        *("Mike <mike@corp.de>", "<mike@corp.de>", "mike@corp.de,ada@corp.de", "mike@corp.de, ada@corp.de"),
        *("mike@corp.de;ada@corp.de", "mike@corp.de ada@corp.de", " mike@corp.de", "mike@corp.de\n", "mike @corp.de"),
        *("mailto:mike@corp.de", "mike@corp.de (Mike)", "mike@corp.de,", "a@b@c", "@ops", "ops@", "@", "ops", ""),
        *("mike@corp.de\u200b", "\u202emike@corp.de", '"mike"@corp.de', "mike@[10.0.0.1]", "mike\u00a0@corp.de"),
    ],
)
def test_what_is_not_exactly_one_address(text: str) -> None:
    assert not is_one_address(text)
