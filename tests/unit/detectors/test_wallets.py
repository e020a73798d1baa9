"""Wallets: the addresses that specifications publish, each with a damaged one beside it."""

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.kernel.canonical_json import JsonValue

_ADDRESSES = [
    "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
    "3P14159f73E4gFr7JterCCQh9QjiTjiZrG",
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",  # BIP 173
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",  # BIP 350
]
_EXTENDED = (
    "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi"
)
"""BIP 32, test vector 1."""

_KEYS = [
    "5KJvsngHeMpm884wtkJNzQGaCErckhHJBGFsvd3VyK5qMZXj3hS",
    "KwdMAjGmerYanjeui5SHS7JkmpZvVipYvB2LJGU1ZxJwYvP98617",
    _EXTENDED,
]
_ETHEREUM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"  # ERC-55


def _damaged(text: str) -> str:
    return text[:12] + ("q" if text[12] != "q" else "z") + text[13:]


@pytest.mark.parametrize("address", _ADDRESSES)
def test_an_address_is_found_by_its_checksum(address: str) -> None:
    found = assess(EmbeddedModel.PII, {"to": address, "amount": "0.5"})

    assert (found.issues, found.risk_score) == (("wallet_address",), 0.95)
    assert not assess(EmbeddedModel.PII, {"to": _damaged(address)}).issues


@pytest.mark.parametrize("key", _KEYS, ids=["uncompressed", "compressed", "extended"])
def test_a_private_key_is_a_secret(key: str) -> None:
    found = assess(EmbeddedModel.SECRETS, f"import {key} now")

    assert "wallet_key" in found.issues
    assert key not in found.reasoning
    assert "wallet_key" not in assess(EmbeddedModel.SECRETS, f"import {_damaged(key)} now").issues


def test_an_address_of_ethereum_counts_fully_beside_a_word_for_it() -> None:
    assert assess(EmbeddedModel.PII, f"payout wallet {_ETHEREUM}").risk_score == 0.95
    assert assess(EmbeddedModel.PII, {"topic": _ETHEREUM}).risk_score == 0.5
    assert not assess(EmbeddedModel.PII, "wallet 0x" + "0" * 40).issues
    assert not assess(EmbeddedModel.PII, f"wallet hash {_ETHEREUM}abcdef").issues


_RAW = "80c44e0fea5eb42ef4391ce966f984dbf9d1b3e74e7dcd6a616937df3c9fe51e"


@pytest.mark.parametrize(
    "value",
    [
        {"method": "personal_importRawKey", "params": [_RAW, "x"]},
        {"fields": [{"name": "PRIVATE_KEY", "value": f"0x{_RAW}"}]},
        f"the deployer key is 0x{_RAW}",
    ],
)
def test_a_raw_key_is_found_near_its_name(value: JsonValue) -> None:
    assert "wallet_key" in assess(EmbeddedModel.SECRETS, value).issues


@pytest.mark.parametrize(
    "value",
    [
        f"private key fingerprint sha256 {_RAW}",
        f"derive it from the private key; the public key is {_RAW}",
        {"method": "eth_getTransactionReceipt", "params": [f"0x{_RAW}"]},
        {"privateKeyId": _RAW},
        "private key " + "0" * 63 + "1",
    ],
)
def test_other_digits_near_it_are_none(value: JsonValue) -> None:
    assert "wallet_key" not in assess(EmbeddedModel.SECRETS, value).issues


_WRONG = "Kz4mVn7QpRt2WxYc9DfGh3JkLs5BvNa8MeUr6TqZw1PyXoIuHbEd"
"""As long as a key, without its checksum."""


@pytest.mark.parametrize(
    "value",
    [
        {"wif": _WRONG},
        {"clave_privada": _WRONG},
        f"private key (compressed): {_WRONG}",
        {"seed": _damaged(_EXTENDED)},
        {"clé privée": _RAW},
    ],
)
def test_behind_its_name_a_key_needs_no_checksum(value: JsonValue) -> None:
    assert "wallet_key" in assess(EmbeddedModel.SECRETS, value).issues


@pytest.mark.parametrize("value", [{"note": _WRONG}, f"private key id {_WRONG}", {"seed": "K" * 52}])
def test_without_a_name_it_is_none(value: JsonValue) -> None:
    assert "wallet_key" not in assess(EmbeddedModel.SECRETS, value).issues


_PAIR = [number * number * 37 % 251 for number in range(3, 67)]


def test_a_key_pair_of_solana_is_found_in_a_text() -> None:
    assert "wallet_key" in assess(EmbeddedModel.SECRETS, f"import {_PAIR} please").issues
    assert "wallet_key" in assess(EmbeddedModel.SECRETS, f"the keypair: {_PAIR[:60]}").issues
    assert "wallet_key" not in assess(EmbeddedModel.SECRETS, f"measured: {_PAIR[:60]}").issues
    assert "wallet_key" not in assess(EmbeddedModel.SECRETS, f"keypair {[*range(64)]}").issues
