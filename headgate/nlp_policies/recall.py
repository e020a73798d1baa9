"""What judges said of a call when its approval was opened, read back from the decision's record.

A language model does not answer the same twice, and may not answer at all. Were it asked again when the approved call
comes, people would be asked twice for one call: so the verdict that they saw holds, for the very same question
(provider, model, prompt, policy version, content: ``judges.verdict_cache.question_key``). Any other question is asked.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.nlp_policies.model import Outcome

_SAID: Final = frozenset((Outcome.CLEAR.value, Outcome.MATCH.value))


class RecalledVerdict(Struct, frozen=True):
    risk_score: float
    confidence: float
    issues: tuple[str, ...]
    reasoning: str


type Recalled = Mapping[str, RecalledVerdict]
"""By ``NlpResult.question``."""

NOTHING_RECALLED: Final[Recalled] = MappingProxyType({})


def recalled_verdicts(decision: JsonObject) -> dict[str, RecalledVerdict]:
    """From a decision as ``Decision.record`` wrote it. Errors are no verdicts, and what has another form
    is asked again."""
    entries = decision.get("nlp")
    found: dict[str, RecalledVerdict] = {}
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and (verdict := _verdict(entry)) is not None:
            found[str(entry["question"])] = verdict
    return found


def _verdict(entry: JsonObject) -> RecalledVerdict | None:
    score, confidence = _share(entry.get("score")), _share(entry.get("confidence"))
    issues, reasoning = entry.get("issues"), entry.get("reasoning")
    if entry.get("outcome") not in _SAID or not isinstance(entry.get("question"), str):
        return None
    if score is None or confidence is None or not isinstance(issues, list) or not isinstance(reasoning, str):
        return None
    return RecalledVerdict(score, confidence, tuple(str(one) for one in issues), reasoning)


def _share(value: JsonValue) -> float | None:
    """From 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)
