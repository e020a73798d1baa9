"""The moves of an action: every pair of states, against the list in docs/architecture.md."""

import pytest

from headgate.actions.model import ActionStatus, move
from headgate.kernel.errors import ConflictError

_LEGAL = {
    ("allowed", "executing"),
    ("pending_approval", "approved"),
    ("pending_approval", "denied"),
    ("approved", "executing"),
    ("approved", "denied"),  # a restore withdrew the approval
    ("executing", "completed"),
    ("executing", "failed"),
    ("executing", "approved"),  # nothing was sent: the use was given back
    ("failed", "executing"),
}


@pytest.mark.parametrize("current", ActionStatus)
@pytest.mark.parametrize("target", ActionStatus)
def test_only_legal_moves_are_made(current: ActionStatus, target: ActionStatus) -> None:
    if (current.value, target.value) in _LEGAL:
        assert move("act_1", current, target) is target
    else:
        with pytest.raises(ConflictError, match=f"act_1 is {current} and cannot become {target}"):
            move("act_1", current, target)
