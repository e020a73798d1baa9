"""Which phase of a stream follows which."""

from itertools import product

import pytest

from proxy.stream_phase import STEPS, Phase, step

_STEPS = {
    ("collecting", "looking"),
    ("collecting", "lingering"),
    ("looking", "forwarding"),
    ("looking", "lingering"),
    ("forwarding", "lingering"),
}


def test_every_phase_has_its_steps() -> None:
    assert set(STEPS) == set(Phase)


@pytest.mark.parametrize(("before", "after"), list(product(Phase, Phase)))
def test_other_steps_raise(before: Phase, after: Phase) -> None:
    if (before.value, after.value) in _STEPS:
        assert step(before, after) is after
    else:
        with pytest.raises(RuntimeError, match=f"{before.value} cannot be {after.value}"):
            step(before, after)
