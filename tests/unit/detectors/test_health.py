"""Health data of a person, and texts about health that are nobody's."""

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.health import HEALTH_DATA
from headgate.kernel.canonical_json import JsonValue


def _issues(value: JsonValue) -> tuple[str, ...]:
    return assess(EmbeddedModel.PII, {"tool": "http", "body": value}, kinds=[HEALTH_DATA]).issues


_PATIENT: JsonValue = {"resourceType": "Patient", "name": [{"text": "Clara Silva"}], "birthDate": "1968-12-02"}


@pytest.mark.parametrize(
    "value",
    [
        {"resourceType": "Bundle", "entry": [{"resource": _PATIENT}, {"resource": {"resourceType": "Condition"}}]},
        {
            "naissance": "1980-10-28",
            "motif": "dépression sévère, hospitalisation en psychiatrie",
            "traitement": "x 150 mg",
        },
        "oncology ward 4\nSofia Costa 1968-07-20 C50.9 stage III\nNoah Jensen 2004-01-21 C61 palliative, cancer",
        "Patient: clara@example.org. Diagnosis: HIV, started on medication in May.",
        "Geburtsdatum 02.12.1968, Diagnose Depression, Krankschreibung bis 30.08.2025",
    ],
)
def test_health_data_of_a_person_is_found(value: JsonValue) -> None:
    assert _issues(value) == (HEALTH_DATA,)


@pytest.mark.parametrize(
    "value",
    [
        {"q": "treatment of severe depression with venlafaxine 150 mg, diagnosis and hospitalization"},
        {"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "Observation"}}]},
        {"resourceType": "Patient", "name": [{"text": "Clara Silva"}]},
        "Diagnosis of the outage on 2025-06-10: the cancer of the old cluster was its cache. Mail ops@example.com.",
        "Born in 1968, she wrote about cancer and about the surgery of gardens.",
        "Date of birth 1968-12-02. Please call back about the prescription.",
        {"appointment": "2025-06-10", "specialty": "oncology", "patient": "9462751"},
        "Your employee handbook: sick leave needs a sick note from the third day on. Questions: hr@example.com",
    ],
)
def test_texts_about_health_are_no_findings(value: JsonValue) -> None:
    assert _issues(value) == ()
