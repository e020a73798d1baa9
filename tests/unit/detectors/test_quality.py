"""Precision and recall on labelled texts. The held-out parts were written before the detectors and not tuned on."""

from collections.abc import Iterable, Iterator

import pytest

from headgate.detectors.decode import document_of
from headgate.detectors.inspect import Detector, inspect, without_overlaps
from headgate.detectors.limits import Budget, Limits
from headgate.detectors.personal_data import find_personal_data
from headgate.detectors.secrets import find_secrets
from tests.labelled.clean import clean_texts, held_out_clean_texts
from tests.labelled.fill import read
from tests.labelled.score import Found, score
from tests.labelled.short_texts import card_texts, other_texts, phone_texts

_PATIENT = Limits(seconds_max=60)


def _finder(detector: Detector) -> Found:
    def found(text: str) -> list[tuple[str, str]]:
        budget = Budget(_PATIENT)
        buffer = document_of(text, budget).buffer()
        matches = without_overlaps(list(detector(buffer, budget)))
        assert not budget.gaps
        return [(one.kind, buffer[one.start : one.end].decode()) for one in matches]

    return found


@pytest.mark.parametrize("part", ["development", "heldout"])
def test_personal_data_is_found_and_told_from_what_looks_like_it(part: str) -> None:
    result = score(read(f"pii_{part}", copies=5), _finder(find_personal_data))

    assert result.right > 300
    assert result.f1 >= 0.95, (result.f1, result.missed_kinds, result.wrong[:10])


@pytest.mark.parametrize("part", ["development", "heldout"])
def test_numbers_are_found_with_few_words_beside_them(part: str) -> None:
    texts = [*phone_texts(part), *card_texts(part), *other_texts(part)]
    result = score(texts, _finder(find_personal_data))

    assert result.right > 1000
    assert result.f1 >= 0.97, (result.f1, result.missed[:10], result.wrong[:10])


@pytest.mark.parametrize("part", ["development", "heldout"])
def test_secrets_are_found(part: str) -> None:
    result = score(read(f"secrets_{part}", copies=5), _finder(find_secrets), kinds_matter=False)

    assert result.right > 200
    assert result.recall >= 0.95, (result.recall, result.missed_kinds)


@pytest.mark.parametrize("texts", [clean_texts(), held_out_clean_texts()], ids=["development", "heldout"])
def test_code_locks_and_identifiers_hold_no_secrets(texts: Iterable[tuple[str, str]]) -> None:
    results = {name: inspect(text, [find_secrets], _PATIENT) for name, text in texts}
    flagged = {name: result.kinds for name, result in results.items() if result.findings or not result.complete}

    assert len(results) > 300
    assert len(flagged) / len(results) <= 0.02, flagged


def _clean_lines() -> Iterator[str]:
    for part in ("development", "heldout"):
        yield from (text.text for text in read(f"clean_{part}"))


def test_placeholders_and_talk_about_passwords_are_no_secrets() -> None:
    flagged = [text for text in _clean_lines() if inspect(text, [find_secrets], _PATIENT).findings]

    assert len(flagged) <= 2, flagged
