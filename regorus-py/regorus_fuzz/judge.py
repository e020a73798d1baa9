"""What counts as a finding."""

from dataclasses import dataclass
from enum import StrEnum

CREATE_SECONDS_MAX = 3.0
"""Analysis of 64 KiB of the worst text takes about a second."""
DECIDE_SECONDS_MAX = 2.0
"""Of the processor's time: three attempts of 50 ms, and one step beyond the limit."""
HELD_BYTES_MAX = 900 << 20
"""64 MiB, what one step may add before the limit is looked at, stacks, and what the allocator keeps."""
ANSWER_SECONDS_MAX = 20.0
"""Of the processor's time, after which a child hangs. The clock on the wall would count what others do."""


class Finding(StrEnum):
    """In order of how much harm it does."""

    CRASH = "crash"
    HANG = "hang"
    MEMORY = "memory"
    FOREIGN = "foreign exception"
    SLOW = "slow"
    PANIC = "contained panic"


@dataclass(frozen=True)
class Verdict:
    """About one case; no finding where all is well."""

    finding: Finding | None
    message: str


def number(answer: dict[str, object], name: str) -> float:
    value = answer.get(name, 0)
    return float(value) if isinstance(value, int | float) else 0.0


def judge(answer: dict[str, object], held_before_bytes: float) -> Verdict:
    """About a child that answered."""
    message = str(answer.get("message", ""))
    if answer.get("outcome") == "foreign":
        return Verdict(Finding.FOREIGN, message)
    held = number(answer, "held_bytes")
    if held > HELD_BYTES_MAX and held > held_before_bytes:
        return Verdict(Finding.MEMORY, f"{held / (1 << 20):.0f} MiB held; {message}")
    if number(answer, "create_seconds") > CREATE_SECONDS_MAX:
        return Verdict(Finding.SLOW, f"created in {number(answer, 'create_seconds'):.1f} s")
    if number(answer, "decide_seconds") > DECIDE_SECONDS_MAX:
        return Verdict(Finding.SLOW, f"decided in {number(answer, 'decide_seconds'):.1f} s; {message}")
    if answer.get("outcome") == "panic":
        return Verdict(Finding.PANIC, message)
    return Verdict(None, message)
