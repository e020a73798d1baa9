"""Requests to language models: what is asked of which model, with which tools, and what tools answered.

Recognition is strict, so that a REST call cannot be dressed up as a completion to escape its policy: a documented
address (``llm_endpoints``), a body of JSON that is labelled so, the members that its form requires, each of its type,
and of Anthropic's form the header that its clients must send. Everything else stays what it was.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.protocols.llm_endpoints import BEDROCK, GOOGLE, LlmEndpoint, LlmForm, llm_endpoint
from headgate.protocols.llm_names import refuse_llm_spellings
from headgate.protocols.llm_tools import offered_tools, tool_results

_MODEL_CHARACTERS_MAX: Final = 256
_VERSION_HEADER: Final = "anthropic-version"
_LIMITS: Final = (
    *("max_tokens", "max_completion_tokens", "max_output_tokens", "max_response_output_tokens"),
    *("maxOutputTokens", "maxTokens"),
)


COUNT_TOKENS: Final = "count_tokens"
"""Asks how many tokens a request would take, and takes none."""


class ModelCall(Struct, frozen=True):
    """Which model is asked, and in which form it answers. ``model``: the provider, a slash and the name, of which
    characters that cannot be seen are replaced."""

    model: str
    form: LlmForm


class LlmRequest(Struct, frozen=True):
    """``facts``: what policies read as ``input.llm``. ``call``: None where no tokens are taken."""

    operation: str
    facts: JsonObject
    call: ModelCall | None


def recognise(host: str, path: str, headers: JsonObject, body: JsonValue) -> LlmRequest | None:
    """A POST whose body was read as JSON; None where it is not a request to a language model.

    Raises AmbiguousRequestError: a member in another spelling (``llm_names``).
    """
    endpoint = llm_endpoint(host, path)
    if endpoint is None or not isinstance(body, dict):
        return None
    refuse_llm_spellings(body, is_model_named=endpoint.model is not None)
    messages = _MESSAGES_OF[endpoint.form](body)
    model = body.get("model") if endpoint.model is None else endpoint.model
    if messages is None or not isinstance(model, str) or not 0 < len(model) <= _MODEL_CHARACTERS_MAX:
        return None
    if endpoint.form is LlmForm.MESSAGES and not _is_anthropic(endpoint, headers, body):
        return None
    stream = body.get("stream", False) if endpoint.stream is None else endpoint.stream
    if not isinstance(stream, bool):
        return None
    facts = {**asked(endpoint.provider, endpoint.form, model, body, messages), "stream": stream}
    call = None
    if endpoint.operation != COUNT_TOKENS:
        call = ModelCall(f"{endpoint.provider}/{_shown(model)}", endpoint.form)
    return LlmRequest(endpoint.operation, facts, call)


def asked(provider: str, form: LlmForm, model: str, body: JsonObject, messages: list[JsonValue]) -> JsonObject:
    """The members of ``input.llm`` that all ways to ask have."""
    return {
        "provider": provider,
        "api": form,
        "model": model,
        "messages": len(messages),
        "system": _has_system(body, messages),
        "max_tokens": _max_tokens(body),
        "tools": offered_tools(body, messages),
        "tool_results": tool_results(messages),
    }


def _shown(model: str) -> str:
    """As it is counted, and shown to people."""
    return "".join(character if character.isprintable() else "\ufffd" for character in model)


def _is_anthropic(endpoint: LlmEndpoint, headers: JsonObject, body: JsonObject) -> bool:
    if endpoint.provider in (BEDROCK, GOOGLE):
        return isinstance(body.get("anthropic_version"), str)
    return isinstance(headers.get(_VERSION_HEADER), str)


def _with_roles(body: JsonObject) -> list[JsonValue] | None:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return None
    return messages if all(isinstance(one, dict) and isinstance(one.get("role"), str) for one in messages) else None


def _contents(body: JsonObject) -> list[JsonValue] | None:
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        return None
    return contents if all(isinstance(one, dict) and isinstance(one.get("parts"), list) for one in contents) else None


def items_of(body: JsonObject) -> list[JsonValue] | None:
    value = body.get("input", [] if isinstance(body.get("prompt"), dict) else None)
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list) and all(isinstance(one, dict) for one in value) else None


def _text_input(body: JsonObject) -> list[JsonValue] | None:
    """A text, texts, tokens or lists of tokens."""
    value = body.get("input", body.get("prompt"))
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list) and value else None


def _content(body: JsonObject) -> list[JsonValue] | None:
    content = body.get("content")
    return [content] if isinstance(content, dict) and isinstance(content.get("parts"), list) else None


_MESSAGES_OF: Final[Mapping[LlmForm, Callable[[JsonObject], list[JsonValue] | None]]] = MappingProxyType(
    {
        LlmForm.CHAT_COMPLETIONS: _with_roles,
        LlmForm.COMPLETIONS: _text_input,
        LlmForm.RESPONSES: items_of,
        LlmForm.EMBEDDINGS: _text_input,
        LlmForm.MESSAGES: _with_roles,
        LlmForm.GENERATE_CONTENT: _contents,
        LlmForm.EMBED_CONTENT: _content,
        LlmForm.CONVERSE: _with_roles,
    }
)


def _has_system(body: JsonObject, messages: list[JsonValue]) -> bool:
    if any(body.get(name) for name in ("system", "instructions", "systemInstruction", "system_instruction")):
        return True
    return any(isinstance(one, dict) and one.get("role") in ("system", "developer") for one in messages)


def _max_tokens(body: JsonObject) -> int | None:
    """The smallest limit that the request names; None where it names none."""
    found: list[int] = []
    for holder in (body, body.get("generationConfig"), body.get("inferenceConfig")):
        if isinstance(holder, dict):
            for name in _LIMITS:
                value = holder.get(name)
                if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                    found.append(value)
    return min(found, default=None)
