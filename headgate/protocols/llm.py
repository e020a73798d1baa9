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
from headgate.protocols.llm_endpoints import BEDROCK, GOOGLE, LlmEndpoint, LlmForm
from headgate.protocols.llm_invoked import VERSION_MEMBER, in_known_form
from headgate.protocols.llm_models import named_models
from headgate.protocols.llm_names import refuse_llm_spellings
from headgate.protocols.llm_output_limit import output_limit
from headgate.protocols.llm_tools import as_list, offered_tools, tool_results

_VERSION_HEADER: Final = "anthropic-version"
_SYSTEM_MEMBERS: Final = ("system", "instructions", "systemInstruction", "system_instruction", "preamble")
_STREAMS_UNLESS_TOLD: Final = frozenset({LlmForm.OLLAMA_CHAT, LlmForm.OLLAMA_GENERATE})


COUNT_TOKENS: Final = "count_tokens"
"""Asks how many tokens a request would take, and takes none."""


class ModelCall(Struct, frozen=True):
    """Which model is asked, and in which form it answers. ``model``: the provider, a slash and the name, with U+FFFD
    for each character that is not printable. ``fallbacks``: the models that may answer instead, in the same
    notation."""

    model: str
    form: LlmForm
    fallbacks: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        return (self.model, *self.fallbacks)


class LlmRequest(Struct, frozen=True):
    """``facts``: what policies read as ``input.llm``. ``call``: None where no tokens are taken."""

    operation: str
    facts: JsonObject
    call: ModelCall | None


def recognise(endpoint: LlmEndpoint | None, headers: JsonObject, body: JsonValue) -> LlmRequest | None:
    """The request in the JSON body of a POST to ``endpoint``. None: it is not a request to a language model.

    Raises AmbiguousRequestError: a member in another spelling (``llm_names``).
    """
    if endpoint is None or not isinstance(body, dict):
        return None
    refuse_llm_spellings(body, is_model_named=endpoint.model is not None)
    known = in_known_form(endpoint, body)
    if known is None:
        return None
    form, as_form = known
    messages = _MESSAGES_OF[form](as_form)
    models = named_models(body, endpoint.model)
    if messages is None or models is None or (form is LlmForm.MESSAGES and not _is_anthropic(endpoint, headers, body)):
        return None
    stream = _stream(form, body) if endpoint.stream is None else endpoint.stream
    if stream is None:
        return None
    facts = {**asked(endpoint.provider, form, models, body, messages), "stream": stream}
    call = None
    if endpoint.operation != COUNT_TOKENS:
        first, *others = (f"{endpoint.provider}/{_shown(model)}" for model in models)
        call = ModelCall(first, form, tuple(others))
    return LlmRequest(endpoint.operation, facts, call)


def asked(
    provider: str, form: LlmForm, models: tuple[str, ...], body: JsonObject, messages: list[JsonValue]
) -> JsonObject:
    """The members of ``input.llm`` that requests and WebSocket messages share. ``models``: empty if a session names
    none."""
    names: list[JsonValue] = list(models)
    return {
        "provider": provider,
        "api": form,
        "model": models[0] if models else "",
        "models": names,
        "messages": len(messages),
        "system": _has_system(body, messages),
        "max_tokens": output_limit(form, body),
        "tools": offered_tools(body, messages),
        "tool_results": tool_results(messages),
    }


def _stream(form: LlmForm, body: JsonObject) -> bool | None:
    """Whether the answer is streamed. None: ``stream`` is no boolean. SDKs send null for an unset member, and servers
    read it as absent."""
    stream = body.get("stream")
    if stream is None:
        return form in _STREAMS_UNLESS_TOLD
    return stream if isinstance(stream, bool) else None


def _shown(model: str) -> str:
    """As it is counted, and shown to people."""
    return "".join(character if character.isprintable() else "\ufffd" for character in model)


def _is_anthropic(endpoint: LlmEndpoint, headers: JsonObject, body: JsonObject) -> bool:
    if endpoint.provider in (BEDROCK, GOOGLE):
        return isinstance(body.get(VERSION_MEMBER), str)
    return isinstance(headers.get(_VERSION_HEADER), str)


def _with_roles(body: JsonObject) -> list[JsonValue] | None:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return None
    return messages if all(isinstance(one, dict) and isinstance(one.get("role"), str) for one in messages) else None


def _contents(body: JsonObject) -> list[JsonValue] | None:
    contents = as_list(body.get("contents"))
    if not contents:
        return None
    found: list[JsonValue] = []
    for one in contents:
        parts = as_list(one.get("parts")) if isinstance(one, dict) else None
        if not isinstance(one, dict) or parts is None:
            return None
        found.append({**one, "parts": parts})
    return found


def items_of(body: JsonObject) -> list[JsonValue] | None:
    value = body.get("input")
    if value is None:
        # A response may continue a conversation that the provider keeps, without new input.
        is_kept = (
            isinstance(body.get("prompt"), dict)
            or isinstance(body.get("previous_response_id"), str)
            or isinstance(body.get("conversation"), str | dict)
        )
        return [] if is_kept else None
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list) and all(isinstance(one, dict) for one in value) else None


def _text_input(body: JsonObject) -> list[JsonValue] | None:
    """A text, texts, tokens or lists of tokens."""
    value = body.get("input")
    if value is None:
        value = body.get("prompt")
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list) and value else None


def _content(body: JsonObject) -> list[JsonValue] | None:
    content = body.get("content")
    return [content] if isinstance(content, dict) and as_list(content.get("parts")) is not None else None


def _inputs(body: JsonObject) -> list[JsonValue] | None:
    value = body.get("inputs")
    if isinstance(value, list):
        return value or None
    return [value] if isinstance(value, str | dict) else None


def _turns_or_none(body: JsonObject) -> list[JsonValue] | None:
    """Without messages, the request makes Ollama load or unload the model."""
    return [] if body.get("messages") in (None, []) else _with_roles(body)


def _prompt_or_none(body: JsonObject) -> list[JsonValue] | None:
    prompt = body.get("prompt")
    return [] if prompt is None else [prompt] if isinstance(prompt, str) else None


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
        LlmForm.COHERE_CHAT: _with_roles,
        LlmForm.INFERENCE: _inputs,
        LlmForm.OLLAMA_CHAT: _turns_or_none,
        LlmForm.OLLAMA_GENERATE: _prompt_or_none,
    }
)


def _has_system(body: JsonObject, messages: list[JsonValue]) -> bool:
    if any(body.get(name) for name in _SYSTEM_MEMBERS):
        return True
    return any(isinstance(one, dict) and one.get("role") in ("system", "developer") for one in messages)
