"""A share of the event loop: earned back, one burst ahead, and all of it for an organization that is alone."""

from headgate.kernel import loop_share
from headgate.kernel.loop_share import LoopRests, LoopShare


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _shared() -> tuple[LoopShare, Clock]:
    """Two organizations have just worked."""
    clock = Clock()
    share = LoopShare(clock)
    assert share.allows("org_1")
    assert share.allows("org_2")
    return share, clock


def test_what_is_used_is_earned_back_at_the_share() -> None:
    share, clock = _shared()
    share.charge("org_1", 0.25)  # one second of its share: the burst
    assert share.allows("org_1")
    share.charge("org_1", 0.25)
    assert not share.allows("org_1")
    assert share.allows("org_2")
    clock.now = 0.9
    assert not share.allows("org_1")
    share.allows("org_2")
    clock.now = 1.0
    assert share.allows("org_1")


def test_alone_it_is_not_limited_and_its_debt_is_dropped() -> None:
    share, clock = _shared()
    share.charge("org_1", 10)
    assert not share.allows("org_1")
    clock.now = 1.5
    assert share.allows("org_1"), "nobody else worked for a second"
    share.charge("org_1", 10)
    share.charge("org_1", 0)
    assert share._used_until["org_1"] == clock.now + 1.0


def test_organizations_without_debt_are_forgotten() -> None:
    share, clock = _shared()
    for number in range(loop_share._FORGET_ABOVE):
        share.charge(f"org_{number}", 0.001)
    clock.now = 10.0
    share.charge("org_new", 0.001)
    assert set(share._used_until) == {"org_new"}


def test_half_of_the_loop_is_left_to_everything_else() -> None:
    clock = Clock()
    rests = LoopRests(clock)
    done = 0
    while rests.allows():
        rests.charge(0.003)
        done += 1
    assert done == 4, "20 ms ahead, in one turn of the loop"
    clock.now = 0.003
    assert not rests.allows()
    clock.now = 0.005
    assert rests.allows()
