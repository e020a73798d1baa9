"""How many calls wait, by agent and by approval."""

import pytest

from headgate.gate.held_limits import HeldCounts

_A, _B = ("org_a", "agt_a"), ("org_a", "agt_b")


@pytest.mark.parametrize(
    ("of_agent", "of_approval", "agent", "approval_id", "room"),
    [
        (3, 9, _A, "apr_2", False),
        (3, 9, _B, "apr_1", True),
        (9, 3, _A, "apr_1", False),
        (9, 3, _B, "apr_1", False),
        (9, 3, _A, "apr_2", True),
        (None, None, _A, "apr_1", True),
    ],
)
def test_room_while_three_wait(
    of_agent: int | None, of_approval: int | None, agent: tuple[str, str], approval_id: str, *, room: bool
) -> None:
    counts = HeldCounts(of_agent, of_approval)
    for _ in range(3):
        assert counts.has_room(_A, "apr_1")
        counts.add(_A, "apr_1")
    assert counts.has_room(agent, approval_id) == room
    for _ in range(3):
        counts.remove(_A, "apr_1")
    assert counts.has_room(agent, approval_id)
    assert counts == HeldCounts(of_agent, of_approval), "nothing is kept of those that wait no more"
