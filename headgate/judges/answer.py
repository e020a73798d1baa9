"""The judge's answer, read in the only way it can be read: a missing, unknown or duplicate member is an error."""

from typing import Final

from headgate.judges.model import Failure, JudgeError, Judgement
from headgate.kernel.canonical_json import JsonValue, parse_strict
from headgate.kernel.errors import ValidationError

_MEMBERS: Final = ("flagged", "risk_score", "confidence", "detected_issues", "reasoning")
_ISSUES_MAX: Final = 50
_ISSUE_MAX_CHARACTERS: Final = 100
_REASONING_MAX_CHARACTERS: Final = 4000
_FENCE: Final = "```"


def parse_judgement(text: str) -> Judgement:
    """Raises JudgeError. A fence of Markdown around the object is taken off: it changes nothing that it says."""
    try:
        value = parse_strict(_without_fence(text).encode("utf-8", "replace"))
    except ValidationError as error:
        raise _malformed(error.message[:200]) from error
    if not isinstance(value, dict):
        raise _malformed("not a JSON object")
    if missing := [name for name in _MEMBERS if name not in value]:
        raise _malformed(f"without {', '.join(missing)}")
    if unknown := [name for name in value if name not in _MEMBERS]:
        raise _malformed(f"with unknown members ({len(unknown)})")
    return Judgement(
        flagged=_flag(value["flagged"]),
        risk_score=_share("risk_score", value["risk_score"]),
        confidence=_share("confidence", value["confidence"]),
        detected_issues=_issues(value["detected_issues"]),
        reasoning=_reasoning(value["reasoning"]),
    )


def _without_fence(text: str) -> str:
    """No pattern: what a provider sends may be made to cost time."""
    stripped = text.strip()
    if len(stripped) < 2 * len(_FENCE) or not (stripped.startswith(_FENCE) and stripped.endswith(_FENCE)):
        return text
    return stripped.removeprefix(_FENCE).removesuffix(_FENCE).removeprefix("json")


def _flag(value: JsonValue) -> bool:
    if not isinstance(value, bool):
        raise _malformed("flagged is not true or false")
    return value


def _share(name: str, value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _malformed(f"{name} is not a number from 0 to 1")
    return float(value)


def _issues(value: JsonValue) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > _ISSUES_MAX:
        raise _malformed(f"detected_issues is not an array of at most {_ISSUES_MAX}")
    issues: list[str] = []
    for one in value:
        if not isinstance(one, str) or not 0 < len(one) <= _ISSUE_MAX_CHARACTERS:
            raise _malformed("detected_issues contains an entry that is not a short text")
        issues.append(one)
    return tuple(dict.fromkeys(issues))


def _reasoning(value: JsonValue) -> str:
    if not isinstance(value, str) or len(value) > _REASONING_MAX_CHARACTERS:
        raise _malformed(f"reasoning is not a text of at most {_REASONING_MAX_CHARACTERS} characters")
    return value


def _malformed(problem: str) -> JudgeError:
    return JudgeError(Failure.MALFORMED_ANSWER, f"the judge's answer is {problem}")
