"""A card that a provider publishes for tests is nobody's there, and is a finding elsewhere, as other cards are."""

from typing import Any

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.payments import passes_luhn
from headgate.detectors.published_cards import published_cards
from headgate.kernel.canonical_json import JsonValue

_REAL = "4929 1234 5678 9015"


def _found(host: str, body: Any, scheme: str = "https") -> bool:
    http: JsonValue = {"method": "POST", "scheme": scheme, "host": host, "path": "/v1/payments", "query": {}}
    return "payment_card" in assess(EmbeddedModel.PII, {"tool": "http", "http": http, "body": body}).issues


@pytest.mark.parametrize(
    ("host", "number"),
    [
        ("api.stripe.com", "4242424242424242"),
        ("api.stripe.com", "4000 0025 0000 3155"),
        ("api.stripe.com", "4000000000009995"),
        ("checkout-test.adyen.com", "5555-4444-3333-1111"),
        ("payments.sandbox.braintree-api.com", "4111111111111111"),
    ],
)
def test_a_published_card_is_nobodys_at_its_provider(host: str, number: str) -> None:
    assert not _found(host, {"card": {"number": number}})
    assert not _found(host, {"card[number]": [number]})
    assert _found(host, {"card": {"number": number}}, scheme="http")
    assert _found("collector.example", {"card": {"number": number}})
    assert _found(f"{host}.example", {"card": {"number": number}})
    assert _found(f"{host.replace('.', '-')}.example", {"card": number})


def test_another_card_is_a_finding_at_a_provider_too() -> None:
    assert passes_luhn(_REAL.replace(" ", ""))
    assert _found("api.stripe.com", {"metadata": {"note": f"card {_REAL}"}})
    assert _found("api.stripe.com", {"number": "4242424242424242", "note": f"card {_REAL}"})


def test_each_published_number_is_one_of_a_card() -> None:
    assert [one for one in published_cards().numbers if not passes_luhn(one)] == []


def test_a_number_that_begins_like_published_ones_is_a_finding() -> None:
    assert passes_luhn("4000008731460296")
    assert _found("api.stripe.com", {"number": "4000008731460296"})
