"""Entries of the detectors' tables: a pattern is compiled once, and what cannot be used is refused by its place."""

import pytest

from headgate.configuration.yaml_document import Section
from headgate.detectors.table_entries import compiled, weight_of
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import ValidationError


def test_entries_with_the_same_pattern_share_it() -> None:
    one, other = (compiled(Section(where, {}), "a[0-9]{64}") for where in ("a.yaml.one", "b.yaml.other"))

    assert one is other
    assert compiled(Section("a.yaml.one", {}), "b[0-9]{64}") is not one


def test_a_pattern_that_cannot_be_compiled_is_refused_by_its_place() -> None:
    with pytest.raises(ValidationError, match=r"^a\.yaml\.signs\[3\]: RE2 does not accept a pattern: "):
        compiled(Section("a.yaml.signs[3]", {}), r"(a)\1")


@pytest.mark.parametrize("weight", [None, 0.0, 1.0, -0.5, 1, "0.5", True])
def test_a_weight_is_a_number_between_0_and_1(weight: JsonValue) -> None:
    assert weight_of(Section("a.yaml", {"weight": 0.5})) == 0.5
    with pytest.raises(ValidationError, match=r"^a\.yaml\.weight: "):
        weight_of(Section("a.yaml", {"weight": weight}))
