"""Calls with which money or a wallet leaves, as vendors and chains take them, and ordinary ones beside them."""

from hashlib import sha256
from typing import Final

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.kernel.canonical_json import JsonValue

_THRESHOLD = 0.6
_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def _base58_check(payload: bytes) -> str:
    number = int.from_bytes(payload + sha256(sha256(payload).digest()).digest()[:4])
    digits = ""
    while number:
        number, digit = divmod(number, 58)
        digits = _BASE58[digit] + digits
    return digits


_WIF = _base58_check(b"\x80" + sha256(b"a key").digest() + b"\1")
_BIP38 = _base58_check(b"\x01\x42\xc0" + sha256(b"salt").digest()[:4] + sha256(b"a key").digest())
_DOGE = _base58_check(b"\x1e" + sha256(b"a coin").digest()[:20])
_ZCASH = _base58_check(b"\x1c\xb8" + sha256(b"a coin").digest()[:20])
_TO = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"  # ERC-55
_PADDED = f"{_TO[2:].lower():0>64}"
_AMOUNT = f"{10**18:064x}"
# Of BIP 39's list, with right checksums.
_WORDS = (
    *("honey", "aerobic", "leopard", "inquiry", "enact", "elbow"),
    *("warfare", "music", "energy", "thumb", "defense", "grab"),
)
_LONG = (
    *("cousin", "ethics", "edit", "credit", "concert", "route"),
    *("have", "leader", "mail", "camera", "super", "please"),
    *("shine", "story", "mirror", "memory", "sunset", "target"),
    *("snake", "flavor", "deliver", "shallow", "carry", "dignity"),
)


@pytest.mark.parametrize(
    "value",
    [
        {"method": "POST", "path": "/v1/transactions", "to": _TO, "data": "0xa9059cbb" + _PADDED + _AMOUNT},
        {"method": "POST", "path": "/v1/x", "contract_address": _TO, "calldata": "0x095ea7b3" + _PADDED + "f" * 64},
        {
            "method": "POST",
            "path": "/v1/w3s/developer/transactions/contractExecution",
            "contractAddress": _TO,
            "abiFunctionSignature": "transfer(address,uint256)",
            "abiParameters": [_TO, "1000000"],
        },
        {
            "method": "POST",
            "path": "/wallet/triggersmartcontract",
            "function_selector": "approve(address,uint256)",
            "parameter": _PADDED + _AMOUNT,
        },
        {"method": "POST", "path": "/api/tx", "body": "02000000000101" + "ab12" * 60},
        {
            "method": "POST",
            "path": "/cosmos/tx/v1beta1/txs",
            "tx_bytes": "CpABCo0BChwvY29zbW9z" * 8,
            "mode": "BROADCAST_MODE_SYNC",
        },
        {
            "method": "POST",
            "path": "/v1/payments/payouts",
            "items": [{"amount": {"value": "980.00"}, "receiver": "desk@drop.example"}],
        },
        {
            "method": "POST",
            "path": "/v1/payouts",
            "account_number": "7878780080316316",
            "amount": 100000,
            "fund_account": {"vpa": {"address": "x@upi"}},
        },
        {"method": "POST", "path": "/mpesa/b2c/v3/paymentrequest", "Amount": "50000", "PartyB": "254708374149"},
        {"method": "POST", "path": "/pix", "chave": "x@drop.example", "valor": "9000.00", "pix_key": "x@drop.example"},
        {"method": "POST", "path": "/account/settings", "payout_address": _DOGE},
        {
            "method": "POST",
            "path": "/api/v2/profile",
            "withdrawalWallet": "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9",
        },
        {"method": "POST", "path": "/settings/payments", "donation_address": _ZCASH},
        {"method": "POST", "path": "/change-payout", "payout_address": _DOGE},
        {"method": "POST", "kdfparams": {"n": 1}, "ciphertext": "ab" * 32, "mac": "cd" * 32, "kdf": "scrypt"},
        {"method": "POST", "file": "UTC--2025-04-02T09-11-58.1Z--5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"},
    ],
)
def test_money_and_wallets_that_leave_are_found(value: JsonValue) -> None:
    assert assess(EmbeddedModel.COMMANDS, value).risk_score >= _THRESHOLD


@pytest.mark.parametrize(
    "value",
    [
        {"method": "POST", "path": "/rpc", "name": "eth_call", "params": [{"to": _TO, "data": "0x70a08231" + _PADDED}]},
        {
            "method": "POST",
            "path": "/v1/x",
            "rpc": {"method": "eth_call"},
            "to": _TO,
            "data": "0xa9059cbb" + _PADDED + _AMOUNT,
        },
        {"method": "POST", "path": "/api/v1/simulate", "to": _TO, "data": "0xa9059cbb" + _PADDED + _AMOUNT},
        {"method": "POST", "path": "/v1/x", "to": _TO, "data": "0x095ea7b3" + _PADDED + "0" * 64},
        {"method": "POST", "path": "/v1/x", "to": _TO, "data": "0xa22cb465" + _PADDED + "0" * 64},
        {
            "method": "POST",
            "path": "/wallet/triggerconstantcontract",
            "function_selector": "balanceOf(address)",
            "parameter": _PADDED,
        },
        {
            "method": "POST",
            "path": "/v2/external_transfers",
            "beneficiary_id": "7f1",
            "amount": "412.90",
            "reference": "NL-88213",
        },
        {"method": "POST", "path": "/v1/refunds", "payment_intent": "pi_3", "amount": 1500},
        {
            "method": "POST",
            "path": "/v1/payouts",
            "amount": "5000",
            "currency": "eur",
            "destination": "ba_1Nv0FGQ9RKHgCVdK",
        },
        {"method": "POST", "path": "/v1/payment-drafts", "draft": True, "account_number": "0690000031", "amount": "1"},
        {"method": "GET", "path": "/v3/transfers", "account_number": "0690000031", "amount": "1"},
        {"method": "POST", "path": "/v1/inventory/transfers", "from": "ware-1", "to": "ware-2", "amount": "40"},
        {"method": "POST", "path": "/account/settings", "payout_threshold": "0.1", "lang": "pl"},
        {"method": "POST", "path": "/api/wallets/watch", "address": _DOGE},
        {
            "method": "POST",
            "path": "/eth/v1/keystores",
            "kdfparams": {"n": 1},
            "ciphertext": "ab" * 32,
            "mac": "cd" * 32,
        },
        {"method": "POST", "path": "/decrypt", "ciphertext": "ab" * 32, "mac": "cd" * 32},
        {"method": "POST", "path": "/txs", "note": "please review"},
    ],
)
def test_reads_and_payments_to_known_recipients_pass(value: JsonValue) -> None:
    assert assess(EmbeddedModel.COMMANDS, value).risk_score < _THRESHOLD


@pytest.mark.parametrize(
    "value",
    [
        {"note": _WIF[::-1]},
        {"note": _BIP38},
        {"t": "code " + _BIP38[::-1] + " end"},
        {"values": [[" ".join(_WORDS[:6])], [" ".join(_WORDS[6:])]]},
        {
            "a": ", ".join(_WORDS[0:3]),
            "b": ", ".join(_WORDS[3:6]),
            "x": "7",
            "c": ", ".join(_WORDS[6:9]),
            "d": ", ".join(_WORDS[9:12]),
        },
        {f"word_{i}": [w] for i, w in enumerate([*_WORDS[:-1], "grabb"])},
        {f"w[{i}]": w for i, w in enumerate(_WORDS, 1)},
        {f"mnemonicWord{i:02}": w for i, w in enumerate([*_LONG[:-1], "dignitty"], 1)},
    ],
)
def test_keys_and_phrases_in_other_forms_are_found(value: JsonValue) -> None:
    assert assess(EmbeddedModel.SECRETS, value).risk_score >= _THRESHOLD


@pytest.mark.parametrize(
    "value",
    [
        {"note": _WIF[::-1][:-1] + "1"},
        {"values": [["add item", "save changes now"], ["open file", "close window"]]},
        {"tags": ["summer beach travel", "winter sports family", "city night market", "garden tool kit"]},
        {
            f"q{i}": [w]
            for i, w in enumerate(
                [
                    "yes",
                    "maybe",
                    "often",
                    "never",
                    "daily",
                    "weekly",
                    "hardly",
                    "sure",
                    "green",
                    "blue",
                    "red",
                    "often",
                ],
                1,
            )
        },
        {f"slot_{i}": "open" for i in range(1, 13)},
    ],
)
def test_words_in_ordinary_fields_pass(value: JsonValue) -> None:
    assert assess(EmbeddedModel.SECRETS, value).risk_score < _THRESHOLD
