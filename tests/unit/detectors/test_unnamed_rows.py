"""Records about persons in which nothing says what is what, that are aligned by spaces, or that are turned round."""

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.context_words import ContextWords
from headgate.detectors.limits import Budget, Limits
from headgate.detectors.unnamed_rows import find_numbers_in_rows
from headgate.kernel.canonical_json import JsonValue
from headgate.nlp_policies.templates import templates

_HELD = next(one for one in templates() if one.template_id == "pii_hold_accounts")


def _is_held(value: JsonValue) -> bool:
    found = assess(EmbeddedModel.PII, value, kinds=tuple(_HELD.scope.kinds))
    return found.risk_score >= _HELD.threshold


@pytest.mark.parametrize(
    "value",
    [
        "<r><n>Ines Moreau</n><s>22680512796</s><g>1948-07-18</g><b>5210.00</b></r>",
        "Ines Moreau;22680512796;18.07.1948;5210",
        "Piotr Nowak\t44051401359\t1944-05-14\n",
        "\n".join(
            f"<p><a>{n}</a><b>{d}</b><c>x</c></p>"
            for n, d in (
                ("Ada Keller", "1971-02-03"),
                ("Ole Holm", "1982-11-30"),
                ("Mia Berg", "1990-01-09"),
                ("Tom Rask", "1965-08-21"),
            )
        ),
        {"v": "gnirenasdluhcs;5061757519LKAS60LN;aicraG erreiP"},
        "Name            Salary    Leave reason\n"
        "Ada Keller      5,210     burnout\n"
        "Ole Holm        4,120     surgery\n"
        "Mia Berg        6,000     -\n",
        {
            "profiles": [
                {
                    "email": "a@x.example",
                    "first_name": "Ada",
                    "properties": {"custody": "shared", "case_notes": "home visit"},
                },
                {
                    "email": "b@x.example",
                    "first_name": "Ole",
                    "properties": {"custody": "none", "case_notes": "self harm"},
                },
            ]
        },
    ],
)
def test_rows_about_persons_are_held(value: JsonValue) -> None:
    assert _is_held(value)
    assert _is_held({"text": value})


@pytest.mark.parametrize(
    "value",
    [
        "<e><n>Northwind Traders</n><s>22680512796</s><g>2024-07-18</g></e>",
        "Ines Moreau;22680512797;18.07.1948;5210",
        "<book><author>Thomas Mann</author><isbn>9783596294312</isbn><date>1924-11-20</date></book>",
        "order,22680512796,2025-01-02\norder,22680512797,2025-01-03",
        "NAME            READY   STATUS\n"
        "shop-6c7d9      1/1     Running\n"
        "pay-77d9        1/1     Running\n"
        "cart-88         0/1     Pending\n"
        "auth-1          1/1     Running\n",
        "PID   USER   COMMAND\n1     root   init\n20    www    nginx\n33    db     postgres\n44    app    node\n",
        {"x": "macOS is fine, iOS too. WhatsApp is. fooB barC"},
        {
            "first_name": "Ada",
            "last_name": "Keller",
            "email": "a@x.example",
            "passport": "C01X00T47",
            "nationality": "DE",
            "allergies": "nuts",
            "marital_status": "single",
        },
        "Total   Salary   Month\n10      5000     May\n11      5100     June\n",
    ],
)
def test_other_tables_and_one_persons_booking_pass(value: JsonValue) -> None:
    assert not _is_held(value)


def test_a_number_near_several_dates_is_found_once() -> None:
    text = b"Ines Moreau;22680512796;18.07.1948;5210;Piotr Nowak;44051401359;14.05.1944;"
    budget = Budget(Limits())
    found = [(one.kind, one.start) for one in find_numbers_in_rows(text, ContextWords({}), budget)]

    assert len(found) >= 2
    assert len(found) == len(set(found))


def test_wide_rows_of_numbers_are_read_in_time() -> None:
    text = (b",12345678901" * 25 + b",1948-07-18,Ines Moreau,") * 300
    budget = Budget(Limits())

    assert list(find_numbers_in_rows(text, ContextWords({}), budget)) == []
    assert not budget.gaps
