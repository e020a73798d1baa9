"""Members of a request to a language model that a server without regard to case takes for documented ones, as Ollama's
does: ``Model`` beside ``model`` asks another model than the one that was decided."""

from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.protocols.member_names import folded, refuse_other_spellings, spellings

_MODEL: Final = "model"
_MODELS: Final = (_MODEL, "models")
_REQUEST: Final = spellings(
    *(_MODEL, "messages", "input", "prompt", "contents", "content", "stream", "tools", "functions", "toolConfig"),
    *("system", "instructions", "systemInstruction", "system_instruction", "models", "previous_response_id"),
    *("conversation", "anthropic_version", "generationConfig", "inferenceConfig", "max_tokens"),
    *("max_completion_tokens", "max_output_tokens", "max_response_output_tokens", "maxOutputTokens", "maxTokens"),
    *("fallbacks", "inputs", "generation_config", "options", "num_predict", "parameters", "max_new_tokens"),
    "additionalModelRequestFields",
)
_MESSAGE: Final = spellings(
    *("role", "type", "content", "parts", "text", "name", "tools", "tool_call_id", "call_id", "output"),
    *("tool_use_id", "toolResult", "functionResponse", "function_response"),
)
_TOOL: Final = spellings(
    *("type", "name", "function", "custom", "toolSpec", "functionDeclarations", "function_declarations")
)
_HOLDERS: Final = (
    *("generationConfig", "generation_config", "inferenceConfig", "toolConfig", "options", "parameters"),
    "additionalModelRequestFields",
)
_TOOLS_INSIDE: Final = ("function", "custom", "toolSpec", "functionDeclarations", "function_declarations")
_WITHIN: Final = "request to a language model"


def refuse_llm_spellings(body: JsonObject, *, is_model_named: bool) -> None:
    """``body``: at an address of a language model. Where neither the address nor, in any spelling, the body names a
    model (``is_model_named``: the address does), it is another API's.

    Raises AmbiguousRequestError.
    """
    if not is_model_named and not any(folded(name) in _MODELS for name in body):
        return
    refuse_other_spellings(body, _REQUEST, within=_WITHIN)
    config = body.get("toolConfig")
    for name in _HOLDERS:
        refuse_other_spellings(body.get(name), _REQUEST, within=_WITHIN)
    for name in ("messages", "contents", "input", "content"):
        for message in _list(body.get(name)):
            _check_message(message)
    for tools in (body.get("tools"), body.get("functions"), config.get("tools") if isinstance(config, dict) else None):
        _check_tools(tools)


def _check_message(message: JsonValue) -> None:
    refuse_other_spellings(message, _MESSAGE, within=_WITHIN)
    if isinstance(message, dict):
        for name in ("content", "parts"):
            for part in _list(message.get(name)):
                refuse_other_spellings(part, _MESSAGE, within=_WITHIN)
        _check_tools(message.get("tools"))


def _check_tools(tools: JsonValue) -> None:
    for tool in _list(tools):
        refuse_other_spellings(tool, _TOOL, within=_WITHIN)
        if isinstance(tool, dict):
            for name in _TOOLS_INSIDE:
                for inside in _list(tool.get(name)):
                    refuse_other_spellings(inside, _TOOL, within=_WITHIN)


def _list(value: JsonValue) -> list[JsonValue]:
    """One object counts as a list of it."""
    return value if isinstance(value, list) else [value]
