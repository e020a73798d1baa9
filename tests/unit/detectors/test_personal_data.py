"""Which numbers are somebody's."""

import random

import pytest

from headgate.detectors.inspect import inspect
from headgate.detectors.payments import scheme
from headgate.detectors.personal_data import find_personal_data
from tests.labelled import persons


def _rng(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311 - repeatable, not secret


def _kinds(text: str) -> tuple[str, ...]:
    return inspect(text, [find_personal_data]).kinds


@pytest.mark.parametrize(
    "kind",
    ["us_ssn", "fr_nir", "it_codice_fiscale", "mx_curp", "br_cpf", "ch_ahv", "be_nn", "fi_hetu", "iban", "email"],
)
def test_a_form_that_tells_by_itself_needs_no_word(kind: str) -> None:
    assert _kinds(f"see {persons.LABELLED[kind](_rng(kind))} there") == (kind,)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("uk_nhs", "NHS"), ("de_tax_id", "Steuer-ID"), ("pt_nif", "NIF"), ("nl_bsn", "BSN"), ("pl_pesel", "PESEL"),
        ("se_personnummer", "personnummer"), ("dk_cpr", "CPR"), ("no_fodselsnummer", "fødselsnummer"),
        ("ca_sin", "SIN"), ("au_tfn", "TFN"), ("in_pan", "PAN"), ("passport", "passport"),
    ],
)  # fmt: skip
def test_a_form_that_many_numbers_have_needs_one(kind: str, word: str) -> None:
    value = persons.LABELLED[kind](_rng(kind))

    assert kind in _kinds(f"{word}: {value}")
    assert kind not in _kinds(f"order: {value}")


@pytest.mark.parametrize("style", ["international", "e164"])
@pytest.mark.parametrize("region", ["US", "GB", "DE", "FR", "ES", "IT", "PT", "BR", "IN"])
def test_international_phone_numbers_need_no_word(region: str, style: str) -> None:
    assert _kinds(f"see {persons.phone(_rng(region), region, style)} there") == ("phone",)


def test_a_date_is_somebodys_only_where_it_says_born() -> None:
    assert _kinds("geboren am 03.04.1980") == ("date_of_birth",)
    assert _kinds("am 03.04.1980 geboren") == ("date_of_birth",)
    assert _kinds("bestellt am 03.04.1980") == ()


@pytest.mark.parametrize(
    ("number", "known"),
    [("4111111111111111", True), ("378282246310005", True), ("30569309025904", False), ("1234567812345670", None)],
)
def test_schemes_of_cards(number: str, known: bool | None) -> None:
    assert scheme(number) is known


def test_a_card_with_a_wrong_digit_is_none() -> None:
    assert _kinds("card 4111 1111 1111 1112") == ()


@pytest.mark.parametrize(
    "text", ["127.0.0.1", "255.255.255.0", "version 1.2.3.4", "icon@2x.png", "git@github.com:a/b", "12:30:45"]
)
def test_what_only_looks_like_an_address(text: str) -> None:
    assert _kinds(text) == ()
