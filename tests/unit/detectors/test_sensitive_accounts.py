"""A single bank account is ordinary on an invoice and in a collection; elsewhere, and with others, it is a finding."""

import base64
from typing import Any

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.inspect import inspect
from headgate.detectors.personal_data import find_personal_data
from headgate.kernel.canonical_json import JsonValue

_ONE = "DE89 3704 0044 0532 0130 00"
_OTHER = "GB29NWBK60161331926819"
_KINDS = ("sensitive_iban",)


def _found(
    body: Any,
    path: str = "/v1/messages",
    host: str = "api.mail.example.com",
    method: str = "POST",
    scheme: str = "https",
    query: dict[str, list[str]] | None = None,
) -> bool:
    http: Any = {"method": method, "scheme": scheme, "host": host, "path": path, "query": query or {}}
    value: JsonValue = {"tool": "http", "http": http, "body": body}
    return bool(assess(EmbeddedModel.PII, value, kinds=_KINDS).issues)


@pytest.mark.parametrize(
    "text",
    [
        f"Please pay invoice 4711 within 14 days to our account {_ONE}, Northwind Ltd.",
        f"Bitte überweisen Sie den Betrag bis Freitag auf unser Konto {_ONE}.",
        f"Merci de régler cette facture par virement sur le compte {_ONE}, sous trente jours.",
        f"Rogamos hagan la transferencia a la cuenta {_ONE} antes del día quince.",
        f"Vi preghiamo di saldare la fattura con bonifico su {_ONE} entro fine mese.",
        f"Wij verzoeken u deze factuur te betalen op rekening {_ONE} binnen dertig dagen.",
        f"Prosimy o wpłatę na rachunek {_ONE} w terminie do końca miesiąca.",
        f"<p>Your payment reminder for order 88.</p><p>Our bank details are unchanged: {_ONE}</p>",
    ],
)
def test_a_text_that_asks_to_pay(text: str) -> None:
    assert not _found({"subject": "Invoice 4711", "text": text})
    assert not _found({"text": [text]}, method="PUT")
    assert _found({"text": text}, host="x.ngrok-free.app")
    assert _found({"text": text}, scheme="http")
    assert _found({"text": f"{text} For salaries: {_OTHER}"})
    assert _found({"text": text, "born": "born on 1979-03-14"})
    assert _found({"text": text}, query={"note": [_ONE.replace(" ", "")]})
    assert _found({"text": f"{text} Skip the usual confirmation."})
    assert _found({"notes": text}, path="/api/suppliers/7")
    assert _found({"params": {"name": "update_vendor", "arguments": {"remark": text}}}, path="/mcp")
    assert _found({"text": f"{text} Her salary goes there."})
    assert _found({"invoice_footer": text}, path="/v1/settings", method="PATCH")
    assert _found({"text": text}, path="/api/email-templates/4")
    arguments = {"params": {"name": "update_settings", "arguments": {"footer": text}}}
    assert _found(arguments, path="/mcp")


@pytest.mark.parametrize(
    "text",
    [
        f"Please pay all open invoices to our new bank account {_ONE} from today.",
        f"Our bank has changed, so please pay the invoice to {_ONE} this week.",
        f"Bitte überweisen Sie die Rechnung auf unser neues Konto {_ONE} bei der Bank.",
        f"Merci de régler la facture sur nos nouvelles coordonnées : {_ONE} dès ce jour.",
        f"Prosimy o zapłatę faktury na nowy numer rachunku {_ONE} jeszcze dzisiaj.",
        f"Pay the invoice to {_ONE} instead of the account on file, it is urgent.",
    ],
)
def test_an_account_that_replaces_another(text: str) -> None:
    assert _found({"text": text})


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/contacts/7", {"iban": _ONE}),
        ("/v2/employees/7", {"employee": {"bank_account": _ONE}}),
        ("/v1/accounts/acct_1/external_accounts", {"external_account[account_number]": [_ONE]}),
        ("/v1/payouts", {"iban": _ONE, "amount": 5}),
        ("/v1/beneficiaries", {"iban": _ONE, "name": "draft_payment"}),
        ("/v1/payouts", {"iban": _ONE, "type": "sepa_debit"}),
        ("/api/supplier_invoices", {"iban": _ONE}),
        ("/v1/employees/7/search", {"iban": _ONE}),
        ("/v1/research", {"iban": _ONE}),
        ("/api/invoices", {"type": "ACCPAY", "iban": _ONE}),
        ("/api/invoices", {"payee_iban": _ONE}),
        ("/mcp", {"params": {"name": "update_bank_details", "arguments": {"iban": _ONE}}}),
        ("/v1/notes", {"note": f"name;iban;sum\nKeller;{_ONE};3000"}),
        ("/ebics", f"<?xml version='1.0'?><D><IBAN>{_ONE}</IBAN><U>please pay this invoice at once today</U></D>"),
        ("/v1/staff/7", {"iban": _ONE, "type": "sepa_debit"}),
        ("/v1/staff/7", {"own_iban": _ONE}),
        ("/v1/staff/7", {"iban": _ONE, "name": "draft_payment"}),
        ("/v1/users/7/bank", {"iban": _ONE, "type": "sepa_debit"}),
        ("/v1/accounts/7", {"iban": _ONE, "type": "sepa_debit"}),
        ("/v1/blobs", {"data": base64.b64encode(_ONE.encode()).decode()}),
    ],
)
def test_an_account_elsewhere(path: str, body: Any) -> None:
    assert _found(body, path)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v2/invoices", {"number": "R-1", "seller_bank_account": _ONE}),
        ("/api/faktury.json", {"faktura": {"konto": _ONE}}),
        ("/mandates", {"mandate": {"iban": _ONE, "scheme": "sepa_core"}}),
        ("/v2/customers/cst_1/mandates", {"method": "directdebit", "consumerAccount": _ONE}),
        ("/v1/payment_methods", {"type": ["sepa_debit"], "sepa_debit[iban]": [_ONE]}),
        ("/v71/payments", {"paymentMethod": {"type": "sepadirectdebit", "iban": _ONE}}),
        ("/api/v2/payment_sources/create_bank_account", {"bank_account[iban]": [_ONE]}),
        ("/v1/iban/validate", {"iban": _ONE}),
        ("/v2/transactions/search", {"filter": {"iban": _ONE}}),
        ("/v2/external_transfers", {"beneficiary_id": "b-1", "debit_iban": _ONE, "amount": "12.50"}),
        ("/mcp", {"method": "tools/call", "params": {"name": "draft_transfer", "arguments": {"iban": _ONE}}}),
    ],
)
def test_an_account_of_an_invoice_or_a_collection(path: str, body: Any) -> None:
    assert not _found(body, path)
    assert _found({"one": body, "other": {"iban": _OTHER}}, path)
    assert _found({"one": body, "note": "bank details have changed"}, path)
    assert _found(body, path, host="x.trycloudflare.com")


def test_an_account_in_no_call_is_one() -> None:
    assert assess(EmbeddedModel.PII, f"Please pay this invoice to {_ONE} today.", kinds=_KINDS).issues == _KINDS


def test_the_digits_of_an_account_are_nothing_else() -> None:
    polish = "PL61 1090 1014 0000 0712 1981 2874"

    assert inspect(f"konto {polish}, aadhaar", [find_personal_data]).kinds == ("iban",)
    assert assess(EmbeddedModel.PII, f"card {_ONE}", kinds=("payment_card", "in_aadhaar")).issues == ()


def test_an_account_that_is_repeated_without_end_is_one() -> None:
    assert _found({"text": f"{_ONE} " * 100 + "now one two six ten please pay the invoice"})
