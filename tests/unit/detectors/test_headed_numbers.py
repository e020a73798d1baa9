"""Identity numbers in a column below their name, and beside it; and columns of other numbers."""

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.kernel.canonical_json import JsonValue


def _issues(value: JsonValue) -> tuple[str, ...]:
    return assess(EmbeddedModel.PII, {"tool": "http", "body": value}, kinds=["us_ssn", "pl_pesel"]).issues


@pytest.mark.parametrize(
    "value",
    [
        {"values": [["employee", "ssn", "salary"], ["Ada", "593277656", 88400], ["Bo", "649047704", 131000]]},
        {"rows": [["Social Security Number"], ["593277656"], ["649047704"], ["353546192"]]},
        {"identifier": [{"system": "http://hl7.org/fhir/sid/us-ssn", "value": "593277656"}]},
        {"fields": [{"name": "SSN", "value": "593277656"}]},
    ],
)
def test_a_number_is_found_by_the_value_that_names_it(value: JsonValue) -> None:
    assert _issues(value) == ("us_ssn",)


def test_the_checksum_counts_there_too() -> None:
    valid, wrong = "44051401359", "44051401358"
    assert _issues({"fields": [{"name": "PESEL", "value": valid}]}) == ("pl_pesel",)
    assert _issues({"fields": [{"name": "PESEL", "value": wrong}]}) == ()


@pytest.mark.parametrize(
    "value",
    [
        {"values": [["employee", "ssn", "phone"], ["Ada", "on file", "593277656"]]},
        {"values": [["order", "customer"], ["593277656", "649047704"], ["353546192", "593277656"]]},
        {"fields": [{"name": "SSN", "value": "missing"}, {"name": "order", "value": "593277656"}]},
        {"title": "Where to put the SSN in the form", "orders": ["593277656", "649047704"]},
        {"columns": ["name", "ssn"], "counts": ["593277656", "649047704"]},
    ],
)
def test_other_numbers_are_none(value: JsonValue) -> None:
    assert _issues(value) == ()
