"""Each input that fuzzing kept goes through its target, and so do others like it. ``make fuzz`` looks for more."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.kept import kept_inputs
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_kept(target: str) -> None:
    inputs = kept_inputs(target)
    assert inputs
    for one in inputs:
        TARGETS[target](one)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=30)
@given(data=st.data())
def test_what_is_spliced_of_it(target: str, data: st.DataObject) -> None:
    inputs = st.sampled_from(kept_inputs(target))
    left, right = data.draw(inputs), data.draw(inputs)
    cut, gone = data.draw(st.integers(0, len(left))), data.draw(st.integers(0, len(right)))
    TARGETS[target](left[:cut] + data.draw(st.binary(max_size=4)) + right[gone:])
