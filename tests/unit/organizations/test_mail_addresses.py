"""One address, in either case of ASCII letters."""

import pytest

from headgate.organizations.mail_addresses import same_address


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
