"""Addresses of wallets that are written where people or programs pay, and those that are only named."""

import base64
from typing import Any

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.payout_addresses import PAYOUT_ADDRESS_CHANGED, is_payable

_OURS = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"
_OTHER = "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"
_ETHER = "0x52908400098527886E0F7030069857D2E4169EE7"
_TRON = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
_MONERO = "44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3A"


def _issues(body: Any, method: str = "PUT", path: str = "/v1/x") -> tuple[str, ...]:
    http: Any = {"method": method, "scheme": "https", "host": "api.example.com", "path": path}
    return assess(EmbeddedModel.COMMANDS, {"tool": "http", "http": http, "body": body}).issues


def _edit(old: str, new: str, path: str = "site/help.html") -> dict[str, Any]:
    change = {"path": path, "edits": [{"oldText": old, "newText": new}]}
    return {"method": "tools/call", "params": {"name": "edit_file", "arguments": change}}


_PAGE = f"# Help us\n\nYou can donate:\n\n* Bitcoin: {_OTHER}\n* USDT (TRC-20): {_TRON}\n"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/api/v2/vars/7", {"key": "mev_fee_recipient", "value": _ETHER}),
        ("PUT", "/repos/x/variables/1", {"name": "PAYOUT_ADDRESS", "value": _TRON}),
        ("PATCH", "/api/v1/variables/merchant_wallets", {"value": f'{{"eth": "{_ETHER}"}}'}),
        ("POST", "/", {"Action": "PutParameter", "Name": "/prod/treasury", "Value": _OTHER}),
        ("POST", "/api/v4/projects/7/repository/commits", {"content": f"TREASURY_ADDRESS={_ETHER}\n"}),
        ("PUT", "/contents/src/pay.ts", {"content": f"export const royaltyReceiver = '{_ETHER}'\n"}),
        ("PUT", "/contents/a.sol", {"text": f"address payable beneficiary = payable({_ETHER});"}),
        ("PUT", "/repos/a/contents/donate.html", {"content": base64.b64encode(_PAGE.encode()).decode()}),
        ("PATCH", "/articles/9", {"title": "Spenden mit Krypto", "body": f"<p>Neue Adresse: {_OTHER}</p>"}),
        ("PUT", "/articles/9", {"title": "Sponsor us", "body": f"<p>Monero: {_MONERO}</p>"}),
        ("PUT", "/zones/1/records/2", {"type": "TXT", "content": f"oa1:btc recipient_address={_OTHER}; x=1;"}),
        (
            "POST",
            "/queries",
            {"query": "UPDATE `shop.pay.wallets` SET btc_address = 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq'"},
        ),
        ("POST", "/sql", {"sql": 'update partners p set payout_wallet="TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"'}),
        ("POST", "/action/updateMany", {"update": {"$set": {"settlementAddress": _TRON}}}),
        ("POST", "/graphql", {"query": f'mutation {{ update_users(_set: {{wallet_address: "{_ETHER}"}}) {{ n }} }}'}),
        ("PATCH", "/documents/payments", {"fields": {"btcAddress": {"stringValue": _OTHER}}}),
        (
            "POST",
            "/sql",
            {"sql": "INSERT INTO p (wallet) VALUES ('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t') ON CONFLICT DO UPDATE"},
        ),
        ("POST", "/mcp", _edit(f"Bitcoin: `{_OURS}`", f"Bitcoin: `{_OTHER}`")),
        ("POST", "/mcp", _edit(f"usdt = {_TRON}", f"usdt = {_ETHER}", "config.ini")),
    ],
)
def test_an_address_that_is_written_where_others_pay_is_found(method: str, path: str, body: Any) -> None:
    assert PAYOUT_ADDRESS_CHANGED in _issues(body, method, path)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/contents/donate.html", {"content": _PAGE}),
        ("POST", "/v1/chat/completions", {"messages": [{"content": f"What is TREASURY_ADDRESS={_ETHER}?"}]}),
        ("POST", "/v1/messages", {"text": f"Our donation page lists Bitcoin {_OTHER}, is that right?"}),
        ("PUT", "/contents/deployments/mainnet.json", {"content": f'{{"Router": "{_ETHER}"}}'}),
        ("PUT", "/contents/test/pay.test.ts", {"path": "test/pay.test.ts", "content": f"const treasury = '{_ETHER}'"}),
        ("POST", "/mcp", _edit(f"Bitcoin: {_OURS} (main)", f"Bitcoin: {_OURS} (SegWit)")),
        ("POST", "/mcp", _edit("Bitcoin is welcome", "Bitcoin and Ether are welcome")),
        ("PUT", "/contents/treasury.html", {"content": f"treasury={_OTHER[:-1]}3"}),
        ("PUT", "/tickets/7", {"comment": f"The customer sent BTC from {_OTHER}, transaction 5 of 9."}),
        (
            "POST",
            "/queries",
            {"query": "SELECT * FROM p WHERE btc_address = 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq'"},
        ),
        ("POST", "/rpc", {"jsonrpc": "2.0", "method": "eth_getBalance", "params": [_ETHER, "latest"]}),
        ("PATCH", "/vars/2", {"key": "router_contract", "value": _ETHER}),
        ("PUT", "/vars/2", {"key": "zero_fee_recipient", "value": "0x" + "0" * 40}),
        ("PUT", "/watch/1", {"name": "alerts", "value": _ETHER}),
        ("PATCH", "/contents/readme.html", {"content": "Settlement: deposits are paid out every Monday."}),
        ("PUT", "/vars/2", {"path": "envs/sepolia.tfvars", "content": f"fee_recipient = '{_ETHER}'"}),
    ],
)
def test_an_address_that_is_only_named_passes(method: str, path: str, body: Any) -> None:
    assert PAYOUT_ADDRESS_CHANGED not in _issues(body, method, path)


@pytest.mark.parametrize("address", [_OURS, _OTHER, _ETHER, _TRON, _MONERO])
def test_addresses_of_several_chains_are_payable(address: str) -> None:
    assert is_payable(address.encode())


@pytest.mark.parametrize("address", [_OURS[:-1] + "p", _OTHER[:-1] + "3", _TRON[:-1] + "u"])
def test_an_address_with_a_wrong_checksum_is_not(address: str) -> None:
    assert not is_payable(address.encode())
