"""What the adapters share: one request and one answer of a provider, as values. No I/O."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, Protocol

from msgspec import Struct

from headgate.judges.model import Failure, JudgeError, Provider, Usage
from headgate.kernel.canonical_json import JsonObject, JsonValue

OUTPUT_TOKENS_MAX: Final = 1024
TOOL_NAME: Final = "judge"


class Form(StrEnum):
    """How a provider is made to answer in our form, strictest first."""

    SCHEMA = "schema"
    JSON = "json"
    TOOL = "tool"
    TEXT = "text"


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"


class Turn(Struct, frozen=True):
    role: Role
    text: str


class WireRequest(Struct, frozen=True):
    """``headers`` hold the key: never logged."""

    url: str
    headers: dict[str, str]
    body: JsonObject


class WireAnswer(Struct, frozen=True):
    text: str
    usage: Usage


class Adapter(Protocol):
    """One provider's way of speaking."""

    @property
    def forms(self) -> tuple[Form, ...]: ...

    def request(
        self, provider: Provider, model: str, system: str, turns: Sequence[Turn], form: Form
    ) -> WireRequest: ...

    def answer(self, document: JsonObject) -> WireAnswer:
        """Raises JudgeError for what is no answer."""
        ...


def member(value: JsonValue, *path: str | int) -> JsonValue:
    """What stands there; None where nothing does."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def count(value: JsonValue) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def no_answer(reason: JsonValue) -> JudgeError:
    """The model refused, or stopped before it had finished."""
    shown = reason[:60] if isinstance(reason, str) else "no text"
    return JudgeError(Failure.MALFORMED_ANSWER, f"the judge's answer is incomplete ({shown})")
