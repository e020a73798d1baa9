"""What one inspection may cost. Where a bound is met, a gap says so; nothing is cut in silence."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import Struct

from headgate.detectors.model import Gap, GapReason


class Limits(Struct, frozen=True):
    """Sizes in bytes of UTF-8. ``seconds_max``: for decoding and each detector; with ``is_for_all``, for all of them
    together. ``decoded_factor``: decoded texts may be this many times the input, and the floor."""

    input_bytes_max: int = 1024 * 1024
    decoded_factor: int = 3
    decoded_bytes_floor: int = 128 * 1024
    decoding_depth_max: int = 5
    values_max: int = 50_000
    candidates_per_kilobyte: int = 48
    candidates_floor: int = 400
    findings_max: int = 500
    seconds_max: float = 0.7
    is_for_all: bool = False


DEFAULT_LIMITS = Limits()


@dataclass(slots=True)
class Budget:
    """What is left of the limits in one inspection. ``allows_*`` spend, and note the gap where nothing is left.
    ``began``: when ``seconds_max`` began to count; None: now. The time is the thread's own processor time: a busy
    machine must not end an inspection early. Used in one thread."""

    limits: Limits
    clock: Callable[[], float] = time.thread_time
    began: float | None = None
    gaps: dict[GapReason, Gap] = field(default_factory=dict)
    _deadline: float = field(init=False)
    _candidates: int = field(init=False)
    _decoded_bytes: int = field(init=False)
    _time_is_up: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        began = self.clock() if self.began is None else self.began
        self._deadline = began + self.limits.seconds_max
        self._candidates = self.limits.candidates_floor
        self._decoded_bytes = self.limits.decoded_bytes_floor

    def know_size(self, input_bytes: int) -> None:
        """Decoding may cost so much more than the floor."""
        self._decoded_bytes += input_bytes * self.limits.decoded_factor

    def new_pass(self, buffer_bytes: int) -> None:
        """Each pass over the buffer has candidates of its own."""
        per_kilobyte = self.limits.candidates_per_kilobyte * buffer_bytes // 1024
        self._candidates = max(self.limits.candidates_floor, per_kilobyte)

    def note(self, reason: GapReason, detail: str) -> None:
        self.gaps.setdefault(reason, Gap(reason, detail))

    def allows_candidate(self) -> bool:
        self._candidates -= 1
        if self._candidates < 0:
            self.note(GapReason.CANDIDATES, "too many places look like something to find; not all were checked")
            return False
        return self.has_time() if self._candidates % 16 == 0 else not self._time_is_up

    def allows_decoded(self, size: int) -> bool:
        if size > self._decoded_bytes:
            self.note(GapReason.DECODED_SIZE, "what is encoded inside is larger than what may be decoded")
            return False
        self._decoded_bytes -= size
        return True

    @property
    def decoded_bytes_left(self) -> int:
        return self._decoded_bytes

    @property
    def seconds_left(self) -> float:
        return self._deadline - self.clock()

    def has_time_again(self, began: float) -> bool:
        """Whether there is as much time left as has passed since ``began``, a time of the clock."""
        now = self.clock()
        if 2 * now - began > self._deadline:
            self.note(GapReason.TIME, f"not all of it could be looked through in {self.limits.seconds_max} s")
            return False
        return True

    def has_time(self, now: float | None = None) -> bool:
        """``now``: a time that the caller has read. Reading the clock costs as much as matching a short text."""
        if (self.clock() if now is None else now) > self._deadline:
            self.end()
            return False
        return True

    def end(self) -> None:
        """There is no time left."""
        self._time_is_up = True
        self.note(GapReason.TIME, f"not finished after {self.limits.seconds_max} s")
