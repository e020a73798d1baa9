"""What a policy about content would not do is said when it is saved."""

import pytest

from headgate.nlp_policies.check import warnings_about
from headgate.nlp_policies.model import NlpDraft, NlpPolicyType


@pytest.mark.parametrize(
    ("model", "threshold", "warned"),
    [("secrets", 0.7, True), ("secrets", 0.61, True), ("secrets", 0.6, False), ("pii", 0.7, False)],
)
def test_a_threshold_that_passes_doubtful_tokens_is_said(model: str, threshold: float, warned: bool) -> None:
    draft = NlpDraft("Secrets", NlpPolicyType.PII_DETECTION, model=model, threshold=threshold)

    said = list(warnings_about(draft, ()))

    assert any("checksum does not fit" in one for one in said) is warned


@pytest.mark.parametrize(("model", "warned"), [("pii", True), ("secrets", False)])
def test_what_detectors_of_personal_data_do_not_look_for_is_said(model: str, warned: bool) -> None:
    said = list(warnings_about(NlpDraft("Personal data", NlpPolicyType.PII_DETECTION, model=model), ()))

    assert any(one.startswith("names and postal addresses are not detected") for one in said) is warned
