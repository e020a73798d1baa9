"""The texts that a request gives to a model, each with its source: configuration, prompt or tool result.

Reads OpenAI's chat completions and responses, Anthropic's messages and Gemini's generateContent. Texts in another form
are left out: their values count as unknown, which policies trust less. Pure.
"""

from collections.abc import Iterator
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.protocols.llm_tools import as_list, is_tool_result
from headgate.provenance.model import SourceKind

_INSTRUCTIONS: Final = ("system", "developer")
"""A tuple, not a set: a role may be a list or an object, which has no hash."""
_SAID: Final = ("content", "parts", "output")
_MARKS: Final = ("type", "role", "name", "id", "call_id", "tool_call_id", "tool_use_id")
"""Members of a part that are not text."""
_TEXTS_MAX: Final = 2_000


def texts_told(body: JsonObject) -> list[tuple[SourceKind, str]]:
    """The last ``_TEXTS_MAX`` texts, each with its kind. The model's own messages are left out: they are no source
    of values."""
    return list(_told(body))[-_TEXTS_MAX:]


def _told(body: JsonObject) -> Iterator[tuple[SourceKind, str]]:
    for name in ("system", "instructions", "system_instruction", "systemInstruction"):
        if name in body:
            yield from _texts(SourceKind.CONFIGURATION, body[name])
    for name in ("messages", "input", "contents"):
        messages = body.get(name)
        if isinstance(messages, str):
            yield SourceKind.PROMPT, messages
        else:
            for message in as_list(messages) or ():
                if isinstance(message, dict):
                    yield from _message(message)


def _message(message: JsonObject) -> Iterator[tuple[SourceKind, str]]:
    role = message.get("role")
    if is_tool_result(message):
        kind = SourceKind.TOOL_RESULT
    elif role == "user":
        kind = SourceKind.PROMPT
    elif role in _INSTRUCTIONS:
        kind = SourceKind.CONFIGURATION
    else:
        return
    for name in _SAID:
        if name in message:
            yield from _texts(kind, message[name])


def _texts(kind: SourceKind, value: JsonValue) -> Iterator[tuple[SourceKind, str]]:
    """A tool's result keeps its kind, wherever it is nested."""
    waiting: list[tuple[SourceKind, JsonValue]] = [(kind, value)]
    while waiting:
        here, value = waiting.pop()
        if isinstance(value, str):
            yield here, value
        elif isinstance(value, list):
            waiting.extend((here, inner) for inner in reversed(value))
        elif isinstance(value, dict):
            inner_kind = SourceKind.TOOL_RESULT if is_tool_result(value) else here
            waiting.extend((inner_kind, inner) for name, inner in reversed(value.items()) if name not in _MARKS)
