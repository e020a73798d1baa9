"""Checks of our own against those of the libraries whose rules they are."""

from random import Random

import phonenumbers
import pytest
from stdnum import iban, luhn

from headgate.detectors.dialling import is_dialled_from_abroad, is_dialled_in
from headgate.detectors.payments import is_account, passes_luhn
from tests.labelled.fill import read

_REGIONS = sorted(phonenumbers.SUPPORTED_REGIONS)


def _number(country_code: int, national: str) -> phonenumbers.PhoneNumber:
    zeros = len(national) - len(national.lstrip("0"))
    return phonenumbers.PhoneNumber(
        country_code=country_code,
        national_number=int(national),
        italian_leading_zero=zeros > 0 or None,
        number_of_leading_zeros=zeros if zeros > 1 else None,
    )


def _nationals(random: Random, region: str) -> list[str]:
    example = phonenumbers.example_number(region)
    known = phonenumbers.national_significant_number(example) if example is not None else "5"
    digits = [str(random.randint(1, 10**length - 1)) for length in (6, 8, 9, 10, 11)]
    near = [known[:keep] + str(random.randint(0, 10 ** (len(known) - keep))) for keep in range(1, len(known) - 1)]
    return [known, "0" + known, *digits, *near]


@pytest.mark.parametrize("region", _REGIONS)
def test_what_is_dialled_is_what_the_library_says(region: str) -> None:
    random = Random(region)  # noqa: S311 - nothing secret
    code = phonenumbers.country_code_for_region(region)
    for national in _nationals(random, region):
        number = _number(code, national)
        assert is_dialled_in(national, region) == phonenumbers.is_valid_number_for_region(number, region), national
        assert is_dialled_from_abroad(f"{code}{national}") == phonenumbers.is_valid_number(number), national


@pytest.mark.parametrize("digits", ["", "0", "999", "210", "00000000"])
def test_what_has_no_country_is_not_dialled(digits: str) -> None:
    assert not is_dialled_from_abroad(digits)


def test_cards_are_checked_as_the_library_does() -> None:
    random = Random(7)  # noqa: S311 - nothing secret
    for _ in range(2000):
        number = str(random.randint(10**12, 10**19 - 1))
        assert passes_luhn(number) == luhn.is_valid(number), number
    assert passes_luhn("4111111111111111")


def test_accounts_are_checked_as_the_library_does() -> None:
    random = Random(7)  # noqa: S311 - nothing secret
    known = {one for text in read("pii_development", copies=20) for one in _accounts(text.text)}
    assert len(known) > 20
    for number in known:
        place = random.randrange(4, len(number))
        changed = number[:place] + random.choice("0123456789ABCDEF") + number[place + 1 :]
        for one in (number, changed, number[:-1], number + "1", "XX" + number[2:], number[2:] + number[:2]):
            assert is_account(one) == iban.is_valid(one), one
        valid = iban.calc_check_digits("GB00" + number[4:])
        assert is_account("GB" + valid + number[4:]) == iban.is_valid("GB" + valid + number[4:])


def _accounts(text: str) -> list[str]:
    words = text.replace(",", " ").split()
    joined = ("".join(words[at : at + count]) for at in range(len(words)) for count in range(1, 8))
    return [
        one.upper() for one in joined if one[:2].isalpha() and one.isascii() and one.isalnum() and iban.is_valid(one)
    ]
