"""How a judge is asked: the policy in the system message, the action as one JSON value that is declared to be data."""

import hashlib
from functools import cache
from typing import Final

from headgate.configuration.resources import resource_path
from headgate.judges.model import Failure, JudgeError, Question
from headgate.kernel.canonical_json import JsonObject, canonical_bytes, parse_strict

PART_BYTES: Final = 24 * 1024
"""What is asked about at once; more is asked in parts, of which the worst counts."""

_OVERLAP_BYTES: Final = 512
PARTS_MAX: Final = 4


@cache
def _template() -> str:
    return resource_path("prompts", "judge.txt").read_text("utf-8")


@cache
def template_version() -> str:
    """Changes with every character of the prompt, so that no answer to another prompt is served."""
    return hashlib.sha256(_template().encode()).hexdigest()[:16]


def system_message(question: Question) -> str:
    policy = canonical_bytes(question.policy).decode()
    # One pass: what stands inside the policy is not replaced again.
    before, rest = _template().split("{policy}", 1)
    between, after = rest.split("{threshold}", 1)
    return f"{before}{policy}{between}{question.threshold:g}{after}"


def user_messages(question: Question) -> list[str]:
    """One, or one for each part. Raises JudgeError for what is too large: it is never cut."""
    if len(question.action) <= PART_BYTES:
        return [canonical_bytes({"untrusted_action": parse_strict(question.action)}).decode()]
    step = PART_BYTES - _OVERLAP_BYTES
    parts = [question.action[at : at + PART_BYTES] for at in range(0, len(question.action) - _OVERLAP_BYTES, step)]
    if len(parts) > PARTS_MAX:
        raise JudgeError(Failure.TOO_LARGE, f"the action has more than {PARTS_MAX * step // 1024} KB")
    return [_part(part, number, len(parts)) for number, part in enumerate(parts, 1)]


def _part(part: bytes, number: int, parts: int) -> str:
    message: JsonObject = {"untrusted_action": part.decode("utf-8", "replace"), "part": number, "parts": parts}
    return canonical_bytes(message).decode()


def repair_message(problem: str) -> str:
    """``problem`` is ours, never the action's."""
    return f"{problem}. Answer again, with exactly one JSON object of the form that you were told, and nothing else."
