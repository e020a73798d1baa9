"""Records of several persons, and what is not one: counted by different values, and by names of members and columns."""

import base64
import json

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.person_records import PERSON_RECORDS
from headgate.kernel.canonical_json import JsonValue

_PERSONS = (
    ("Ines Albrecht", "ines@web.example.de", "+49 151 23456789", "1979-03-14", "Lindenstraße 12"),
    ("Tomas Rehm", "t.rehm@posteo.example.org", "+49 170 9876543", "1984-11-02", "Kirchgasse 41"),
    ("Greta Sommer", "greta.s@gmx.example.net", "+49 160 4455667", "1991-07-23", "41 Maple Avenue"),
    ("Paul Winkler", "paulw@mail.example.com", "+49 152 33221100", "1968-01-30", "9 Harbor Road"),
)


def _is_found(value: JsonValue) -> bool:
    return bool(assess(EmbeddedModel.PII, value, kinds=(PERSON_RECORDS,)).inspection.findings)


@pytest.mark.parametrize("sign", [", ", "; ", "\t", " | "])
@pytest.mark.parametrize("columns", [(0, 1, 2), (0, 3), (0, 4), (2, 4)])
def test_rows_are_found(sign: str, columns: tuple[int, ...]) -> None:
    assert _is_found("\n".join(sign.join(one[at] for at in columns) for one in _PERSONS))


@pytest.mark.parametrize(
    "names",
    [("fullName", "homeAddress"), ("last_name", "date_of_birth"), ("nom", "né le"), ("employee", "base_salary")],
)
def test_members_are_found_by_their_names(names: tuple[str, str]) -> None:
    values = {"homeAddress": 4, "date_of_birth": 3, "né le": 3, "base_salary": 2}
    rows: JsonValue = [{names[0]: one[0], names[1]: one[values[names[1]]]} for one in _PERSONS]
    assert _is_found({"rows": rows})
    assert _is_found({"text": json.dumps(rows)})


@pytest.mark.parametrize(
    "text",
    [
        "Employee;Department;Salary\nI. Albrecht;Sales;61000\nT. Rehm;Sales;58000\nG. Sommer;IT;71000",
        "| Name | Religion |\n|---|---|\n| Ines Albrecht | none |\n| Tomas Rehm | Jewish |\n| Greta Sommer | Muslim |",
        "Tenant: I. Albrecht\nSalary: 61000\n\nTenant: T. Rehm\nSalary: 58000\n\nTenant: G. Sommer\nSalary: 71000",
    ],
)
def test_tables_are_found_by_their_columns(text: str) -> None:
    assert _is_found(text)


def test_all_about_one_person_is_found() -> None:
    assert _is_found("Ines Albrecht, born 14 March 1979, lives at Lindenstraße 12, phone +49 151 23456789")


@pytest.mark.parametrize(
    "value",
    [
        "Call Ines Albrecht on +49 151 23456789 or write to ines@web.example.de",
        "\n".join(f"{one[0]} <{one[1]}>" for one in _PERSONS),
        "\n".join(f"{one[0]} {one[1]} {one[2]}" for one in _PERSONS[:3]),
        "\n".join(f"{one[0]}, 2026-0{number}-14" for number, one in enumerate(_PERSONS, 1)),
        "name,price,stock\ndesk,129,14\nlamp,39,80\nchair,99,31",
        "CREATE TABLE employee (\n  name text,\n  salary numeric,\n  date_of_birth date,\n  home_address text\n);",
        {"fields": [{"name": one, "type": "text"} for one in ("salary", "religion", "date_of_birth", "passport")]},
        {"products": [{"name": f"Plan {one}", "street": one} for one in ("", "A", "B")]},
        "",
        None,
    ],
)
def test_ordinary_contents_are_none(value: JsonValue) -> None:
    assert not _is_found(value)


def test_a_large_table_is_read_in_time() -> None:
    text = "Employee,Salary\n" + "\n".join(f"employee {number},{number}" for number in range(40_000))
    assert _is_found(text)


@pytest.mark.parametrize(
    "text",
    [
        "shop=> select * from c;\n id | full_name | dni | note\n----+-----------+-----+------\n"
        "  1 | Ines Albrecht | 48211907K | a\n  2 | Tomas Rehm | 39120411B | b\n"
        "  3 | Greta Sommer | 11839120L | c\n(3 rows)",
        "| Name | Personalausweis |\n|---|:--|\n| Ines Albrecht | L01X00T47 |\n"
        "| Tomas Rehm | T22000129 |\n| Greta Sommer | C01X0006H |",
    ],
)
def test_tables_of_a_terminal_and_of_markdown_are_read_below_their_rule(text: str) -> None:
    assert _is_found(text)


def test_lines_of_json_are_found_when_they_are_encoded() -> None:
    lines = "\n".join(json.dumps({"fullName": one[0], "birth_date": one[3], "seat": "7"}) for one in _PERSONS)
    assert _is_found({"body": lines})
    assert _is_found({"body": base64.b85encode(lines.encode()).decode()})


def test_births_beside_a_private_column_are_found() -> None:
    rows: JsonValue = [{"dob": one[3], "passport": f"C0{at}8K214"} for at, one in enumerate(_PERSONS)]
    assert _is_found({"rows": rows})


@pytest.mark.parametrize(
    "rows",
    [
        [{"fn": f"handle_{at}", "addr": f"0x7f3a{at}c00"} for at in range(12)],
        [{"name": f"Node {at}", "address": f"10.4.{at}.7"} for at in range(12)],
        [{"name": "Unit Tests", "pass": str(at), "fail": "0"} for at in range(12)],
    ],
)
def test_lists_of_functions_machines_and_tests_are_none(rows: JsonValue) -> None:
    assert not _is_found({"rows": rows})
