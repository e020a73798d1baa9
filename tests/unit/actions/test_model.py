"""The moves of an action: every pair of states, against the list in docs/architecture.md."""

import pytest

from headgate.actions.model import ActionStatus, move, parse_status
from headgate.kernel.errors import ConflictError

_LEGAL = {
    ("allowed", "executing"),
    ("pending_approval", "approved"),
    ("pending_approval", "denied"),
    ("approved", "executing"),
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


@pytest.mark.parametrize(
    ("text", "status"),
    [
        *((status.value, status) for status in ActionStatus),
        ("succeeded", ActionStatus.COMPLETED),
        ("done", None),
        ("", None),
    ],
)
def test_a_filter_takes_the_references_succeeded_too(text: str, status: ActionStatus | None) -> None:
    assert parse_status(text) is status
