"""Telephone numbers as each country writes them, cards of all issuers, and numbers that are neither, in short texts.
The held-out part has other countries, issuers and texts."""

import random
from collections.abc import Iterator
from string import Formatter

from stdnum import luhn

from tests.labelled import persons
from tests.labelled.fill import Label, LabelledText

_STYLES = ("international", "national", "bare", "dotted")
_REGIONS = {
    "development": "SG JP KR ZA NZ TR GR CZ RO HU IL CL CO TH KE UA",
    "heldout": "AR PE MY ID PH VN TW AE SA NG EG PK BG HR SI SK DE GB FR ES IT PL SE IN",
}
_PHONE_TEXTS = {
    "development": (
        "Call me on {v} after six.", "My mobile is {v}, thanks", "Phone: {v}", '{{"phone": "{v}"}}',
        "Tel. {v} / Fax on request", "You can reach me at {v}.", "{v} (mobile)", "text me: {v}",
        "name,phone\nAnn,{v}\n",
        "Ring {v} and ask for Sam", "WhatsApp {v}", "mob {v}", "contact number {v} for the order 4711",
        "Bitte rufen Sie mich unter {v} an",
    ),
    "heldout": (
        "His cell: {v}", "Our helpline is open, dial {v}", '{{"contactPhone":"{v}","id":77}}',
        "<Telephone>{v}</Telephone>",
        "phone_number={v}", "Mit freundlichen Grüßen\nJana Weber\nTelefon {v}", "Mon portable : {v}",
        "mi teléfono es el {v}", "cellulare {v}", "| Ann | phone | {v} |", "Please phone {v} before noon",
        "Sam (tel {v}) will open the door", "Fax: {v}", "SMS to {v}",
    ),
}  # fmt: skip
_CARDS = {
    "development": (
        ("2131", 15), ("1800", 15), ("3530", 15), ("3530", 16), ("3589", 19), ("5018", 12), ("5020", 13), ("5038", 14),
        ("5893", 15), ("6304", 16), ("6759", 17), ("6761", 18), ("6763", 19), ("4026", 13), ("4571", 16), ("4903", 19),
        ("2221", 16), ("2720", 16), ("2200", 16), ("6221", 17), ("6229", 19), ("8171", 19), ("6011", 16), ("6440", 19),
        ("3841", 16), ("3600", 14), ("3095", 19), ("5610", 16), ("5060", 18), ("5067", 16), ("6370", 16), ("9792", 16),
        ("1354", 15),
    ),
    "heldout": (
        ("4539", 16), ("4716", 19), ("5425", 16), ("2501", 16), ("3714", 15), ("3005", 14), ("3852", 14), ("3566", 17),
        ("6521", 16), ("6282", 18), ("8123", 16), ("5612", 12), ("5764", 13), ("6390", 15), ("6771", 19), ("5078", 19),
        ("2204", 19), ("9860", 16), ("8600", 16), ("6062", 16), ("6363", 16),
    ),
}  # fmt: skip
_CARD_TEXTS = {
    "development": (
        "card number {v}", "Please charge my Maestro {v} exp 04/29", '{{"card":{{"number":"{v}","exp":"04/29"}}}}',
        "Kreditkarte: {v}", "pan={v}&cvv=123", "paid with JCB {v}", "{v} is the card I used",
    ),
    "heldout": (
        "carte bancaire {v}", "refund to the debit card ending soon: {v}", '{{"cardNumber":"{v}"}}', "cc number {v}",
        "<CreditCard>{v}</CreditCard>", "tarjeta {v}, caduca 09/30", "card: {v} cvc 321",
    ),
}  # fmt: skip
_OTHERS = {
    "development": (
        "Order {a} shipped on card stock", "invoice 2024-{b}", "ticket #{b} was called", "phone order {c}: 3 pieces",
        "isbn 978-3-16-148410-0", '{{"id": {a}, "mobile": true}}', "call function {b} with {c}", "card id {b}{c}",
        "build {a} for android phones", "SKU {a}, card box", "price 1.299,00 per phone, article {c}",
        "GET /phones/{c}?page=2", "call at 12:30-14:45 on 2026-03-04", "row {c} col {c} cell",
        "contact: customer id {b}",
        "mobile data {g} {c} bytes", "card deck of {g} cards, lot {b}",
    ),
    "heldout": (
        "receipt {b} for a phone case", "tracking number {a}, paid by card", "call duration {c} ms",
        "POST /cards/{b}/activate", '{{"ticket": "{b}", "channel": "phone"}}', "commit {b} fixes the mobile layout",
        "phone model SM-{c}", "page {g} of the telephone book of 1998", "CVE-2024-{c} in the card reader",
        "we sold {c} phones and {g} tablets", "2026-03-04 12:10:11 INFO cell {g}: {b} rows",
        "discount {g}% on cards, code {c}",
        "pid {c} called exit({g})", "memory 0x{b} of the card driver",
    ),
}  # fmt: skip


def phone_texts(part: str) -> Iterator[LabelledText]:
    rng = random.Random(f"{part} phones")  # noqa: S311 - repeatable, not secret
    for region in _REGIONS[part].split():
        for style in _STYLES:
            for text in _PHONE_TEXTS[part]:
                value = persons.phone(rng, region, style)
                yield LabelledText(f"{region}:{style}:{text}", text.format(v=value), (Label("phone", value),))


def card_texts(part: str) -> Iterator[LabelledText]:
    rng = random.Random(f"{part} cards")  # noqa: S311 - repeatable, not secret
    for beginning, length in _CARDS[part]:
        for text in _CARD_TEXTS[part]:
            for gap in ("", " "):
                body = beginning + persons.digits(rng, length - 1 - len(beginning))
                number = body + luhn.calc_check_digit(body)
                value = gap.join(number[at : at + 4] for at in range(0, length, 4))
                yield LabelledText(
                    f"{beginning}:{length}:{text}", text.format(v=value), (Label("payment_card", value),)
                )


def other_texts(part: str) -> Iterator[LabelledText]:
    """Without personal data."""
    rng = random.Random(f"{part} others")  # noqa: S311 - repeatable, not secret
    lengths = {"a": 12, "b": 8, "c": 6, "g": 3}
    for _ in range(20):
        for text in _OTHERS[part]:
            names = {name for _, name, _, _ in Formatter().parse(text) if name}
            values = {name: str(rng.randint(1, 9)) + persons.digits(rng, lengths[name] - 1) for name in names}
            yield LabelledText(text, text.format(**values), ())
