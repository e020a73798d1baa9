"""Reads the limit of the response from a request to a language model: ``input.llm.max_tokens``.

Each form has its own names (the providers' API references). A server ignores or refuses the names of other forms, so a
small number there limits nothing. Pure.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.protocols.llm_endpoints import LlmForm

_BODY: Final = ""
_CHAT: Final = ((_BODY, ("max_tokens", "max_completion_tokens")),)
_MAX_TOKENS: Final = ((_BODY, ("max_tokens",)),)
_GOOGLE: Final = ("maxOutputTokens", "max_output_tokens")
_OLLAMA: Final = (("options", ("num_predict",)),)
_CONVERSE: Final = (
    ("inferenceConfig", ("maxTokens", "max_tokens", "max_new_tokens")),
    ("additionalModelRequestFields", ("max_tokens", "max_completion_tokens")),
)
_NAMES: Final[Mapping[LlmForm, tuple[tuple[str, tuple[str, ...]], ...]]] = MappingProxyType(
    {
        LlmForm.CHAT_COMPLETIONS: (*_CHAT, ("inferenceConfig", ("maxTokens", "max_new_tokens"))),
        LlmForm.COMPLETIONS: _MAX_TOKENS,
        LlmForm.RESPONSES: ((_BODY, ("max_output_tokens",)),),
        LlmForm.REALTIME: ((_BODY, ("max_output_tokens", "max_response_output_tokens")),),
        LlmForm.MESSAGES: _MAX_TOKENS,
        # Protocol Buffers' JSON has two spellings of each name, and the last one in the body counts.
        LlmForm.GENERATE_CONTENT: (("generationConfig", _GOOGLE), ("generation_config", _GOOGLE)),
        LlmForm.CONVERSE: _CONVERSE,
        LlmForm.COHERE_CHAT: _MAX_TOKENS,
        LlmForm.INFERENCE: (("parameters", ("max_new_tokens", "max_tokens", "max_length")),),
        LlmForm.OLLAMA_CHAT: _OLLAMA,
        LlmForm.OLLAMA_GENERATE: _OLLAMA,
    }
)
LIMIT_MEMBERS: Final = frozenset(name for places in _NAMES.values() for _, names in places for name in names)
"""The names of limits in all forms."""
LIMIT_HOLDERS: Final = frozenset(holder for places in _NAMES.values() for holder, _ in places) - {_BODY}
"""The members of a body whose members may be limits, in all forms."""


def output_limit(form: LlmForm, body: JsonObject) -> int | None:
    """In tokens. Of several limits the largest: servers choose differently. None: the request names no limit, or one
    that is not a count (Ollama takes -1 for no limit)."""
    found: list[int] = []
    for value in _values(form, body):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            return None
        found.append(value)
    return max(found, default=None)


def _values(form: LlmForm, body: JsonObject) -> Iterator[JsonValue]:
    for member, names in _NAMES.get(form, ()):
        holder = body if member == _BODY else body.get(member)
        if isinstance(holder, dict):
            yield from (holder[name] for name in names if holder.get(name) is not None)
