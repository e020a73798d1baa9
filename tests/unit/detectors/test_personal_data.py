"""Which numbers are somebody's."""

import random

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.inspect import inspect
from headgate.detectors.payments import scheme
from headgate.detectors.personal_data import find_personal_data, personal_data_kinds
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


@pytest.mark.parametrize(
    "row", ["{},5", "maria,{},12/27", "1,{},100", "x,{},2026-11-24", "id,card\n7,{},3\n8,{},4\n", "[1,{},2]", "a\t{},9"]
)
@pytest.mark.parametrize(
    ("value", "kind"),
    [("4111111111111111", "payment_card"), ("DE89370400440532013000", "iban"), ("856-45-6789", "us_ssn")],
)
def test_a_field_of_csv_beside_one_that_begins_with_a_digit(value: str, kind: str, row: str) -> None:
    assert kind in _kinds(row.replace("{}", value))


@pytest.mark.parametrize(
    "amount", ["4,111,111,111,111,111", "12345678,90 phone", "call 555,0100,200", "1.5411111111111111"]
)
def test_an_amount_is_no_number_of_somebody(amount: str) -> None:
    assert _kinds(amount) == ()


def test_only_the_kinds_that_count_are_found() -> None:
    text = "maria@example.com pays with 4111111111111111"
    assert assess(EmbeddedModel.PII, text).issues == ("email", "payment_card")
    assert assess(EmbeddedModel.PII, text, kinds=("payment_card", "iban")).issues == ("payment_card",)
    assert assess(EmbeddedModel.PII, text, kinds=("iban",)).risk_score == 0


def test_every_kind_that_is_found_can_be_named() -> None:
    assert personal_data_kinds() >= persons.LABELLED.keys() - {"ip_address6"}


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


@pytest.mark.parametrize(
    "text", ["a=card_4012888888881881&b", "visa-4012888888881881-0828", "tarjeta_4012888888881881"]
)
def test_a_card_tied_to_its_word_is_found(text: str) -> None:
    assert _kinds(text) == ("payment_card",)


@pytest.mark.parametrize(
    "text",
    ["card_4012888888881882", "order_4012888888881881", "cardboard_4012888888881881", "card_401288888888188123"],
)
def test_another_number_tied_to_a_word_is_none(text: str) -> None:
    assert _kinds(text) == ()
