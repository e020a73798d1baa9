from headgate.ratelimits.classes import RateClass
from headgate.ratelimits.gcra import Quota
from headgate.ratelimits.local import LocalLimiter, wall_clock_us

SECOND = 1_000_000


class Time:
    def __init__(self) -> None:
        self.now_us = wall_clock_us()

    def __call__(self) -> int:
        return self.now_us


def test_subjects_and_classes_are_counted_apart() -> None:
    time = Time()
    limiter = LocalLimiter({RateClass.PROXY: Quota(1, 60), RateClass.ADMIN: Quota(1, 60)}, clock_us=time)
    asked = [
        limiter.check(rate_class, subject).allowed
        for rate_class, subject in [
            (RateClass.PROXY, "agt_1"),
            (RateClass.PROXY, "agt_1"),
            (RateClass.PROXY, "agt_2"),
            (RateClass.ADMIN, "agt_1"),
        ]
    ]
    assert asked == [True, False, True, True]
    time.now_us += 60 * SECOND
    assert limiter.check(RateClass.PROXY, "agt_1").allowed


def test_memory_is_bounded_and_whoever_is_limited_stays_limited_as_long_as_there_is_room() -> None:
    time = Time()
    limiter = LocalLimiter({RateClass.PROXY: Quota(1, 1)}, clock_us=time, max_subjects=10)
    for number in range(9):
        limiter.check(RateClass.PROXY, f"early {number}")
    time.now_us += 2 * SECOND
    limiter.check(RateClass.PROXY, "late")
    limiter.check(RateClass.PROXY, "one more")  # makes room: the early ones have a full bucket again
    assert not limiter.check(RateClass.PROXY, "late").allowed
    for number in range(1000):
        assert limiter.check(RateClass.PROXY, f"flood {number}").allowed
    assert len(limiter._tats) <= 10
