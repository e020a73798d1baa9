"""Calls that move money are findings; what reads, simulates or explains them is none."""

from typing import Any

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.limits import DEFAULT_LIMITS, Budget
from headgate.detectors.transfers import MONEY_TRANSFER, find_transfers, transfers

_TO = "0xa18456a3dfa8550351feca87a829b6325965f871"


def _issues(body: Any, method: str = "POST", path: str = "/", **query: str) -> tuple[str, ...]:
    http: Any = {"method": method, "scheme": "https", "host": "api.example.com", "path": path, "query": query}
    return assess(EmbeddedModel.COMMANDS, {"tool": "http", "http": http, "body": body}).issues


def _rpc(method: str, *params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}


def _tool(name: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    "body",
    [
        _rpc("eth_sendTransaction", {"to": _TO, "value": "0x1"}),
        _rpc("eth_sendRawTransaction", "0x02f87001"),
        [_rpc("eth_chainId"), _rpc("wallet_sendCalls", {"calls": []})],
        _rpc("sendTransaction", "AVXo5X7UNzpuOmYzkZ"),
        _rpc("sendtoaddress", "bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh", 0.5),
        _rpc("eth_signTypedData_v4", _TO, {"primaryType": "PermitSingle", "message": {"spender": _TO}}),
        _rpc("eth_signTypedData_v4", _TO, '{"primaryType": "Permit", "message": {}}'),
        _tool("send_transaction", to=_TO, amount="max"),
        _tool("transferTokens", toAddress=_TO, amount=5),
        _tool("native_transfer", recipient="DRpbCBMxVnDK7maPM5tGv6MvB3v1sRMC86PZ8okm21hy", lamports=900),
        _tool("trc20_transfer", to="TJtHvjfE2feaMo94q2rCg2Un8NqH3L7B8N", amount="5"),
        _tool("sendJetton", destination=_TO, amount="5"),
        _tool("pix_transfer", beneficiary_iban="DE89 3704 0044 0532 0130 00", amount=900),
        _tool("send_usdc", destination="vitalik.eth", amount="10"),
        _tool("make_payment", beneficiary_iban="DE89 3704 0044 0532 0130 00", amount=900),
        _tool(
            "write_contract", functionName="approve", args=[_TO, "1157920892373161954235709850086879078532699846656"]
        ),
        _tool("call", function="setApprovalForAll", params=[_TO, True]),
    ],
)
def test_sending_money_is_found(body: Any) -> None:
    assert _issues(body) == (MONEY_TRANSFER,)


def test_withdrawals_by_path_are_found() -> None:
    body = {"coin": "USDT", "address": _TO, "amount": "900"}
    assert _issues(body, path="/sapi/v1/capital/withdraw/apply") == (MONEY_TRANSFER,)
    assert _issues(None, path="/sapi/v1/capital/withdraw/apply", coin="USDT", address=_TO, amount="9") == (
        MONEY_TRANSFER,
    )
    assert _issues({"amount": 5, "to": "ops@example.com"}, path="/v1/transfers") == ()
    assert _issues(body, path="/v1/withdrawals/fees") == ()
    assert _issues(None, "GET", "/v1/withdraw", address=_TO, amount="9") == ()


def _finds(name: str) -> bool:
    return any(find_transfers(f"name: {name}\n\0\nto: {_TO}".encode(), Budget(DEFAULT_LIMITS)))


def test_every_name_of_the_table_is_found() -> None:
    table = transfers()
    names = {*table.methods, *table.functions, *(one.replace(" ", "_") for one in table.orders)}
    names |= {f"{verb}_{noun}" for verb in table.verbs for noun in table.nouns}
    names |= {f"{noun}_{last}" for noun in table.nouns for last in table.last}

    assert [one for one in sorted(names) if not _finds(one)] == []
    assert not _finds("get_money")


@pytest.mark.parametrize(
    "body",
    [
        _rpc("eth_call", {"to": _TO, "data": "0x70a08231"}, "latest"),
        _rpc("eth_getBalance", _TO, "latest"),
        _rpc("eth_estimateGas", {"to": _TO, "value": "0x1"}),
        _rpc("eth_getTransactionReceipt", "0x" + "ab" * 32),
        _rpc("eth_signTypedData_v4", _TO, {"primaryType": "Mail", "message": {}}),
        _rpc("personal_sign", "0x4869", _TO),
        _rpc("getBalance", "DRpbCBMxVnDK7maPM5tGv6MvB3v1sRMC86PZ8okm21hy"),
        _rpc("simulateTransaction", "AVXo5X7UNzpuOmYzkZ"),
        _tool("get_token_balance", address=_TO),
        _tool("list_transfers", account=_TO, amount_min=5),
        _tool("simulate_transaction", to=_TO, value="1"),
        _tool("estimate_swap_tokens", to=_TO, amount="1"),
        _tool("send_message", to=_TO, text="hi"),
        _tool("send_invoice", to="ops@example.com", amount=5),
        _tool("execute_transaction", sql=["begin", "update a set b = 1", "commit"]),
        _tool("read_contract", address=_TO, functionName="balanceOf", args=[_TO]),
        _tool("approve", pull_request=118, repository="acme/api"),
        _tool("transfer", issue=118, to="acme/archive"),
        {"body": "Call it like this:\nmethod: eth_sendTransaction\nto: " + _TO},
        {"title": "How to send a transaction", "name": "send transaction", "text": "amount: 5"},
    ],
)
def test_reading_and_explaining_are_no_findings(body: Any) -> None:
    assert _issues(body) == ()
