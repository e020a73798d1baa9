"""Refuses members of a request to a language model that servers without regard to case, such as Ollama, take for
documented ones: ``Model`` beside ``model`` asks another model than the one that was decided."""

from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.protocols.llm_output_limit import LIMIT_HOLDERS, LIMIT_MEMBERS
from headgate.protocols.llm_tools import as_list
from headgate.protocols.member_names import all_folded, refuse_other_spellings, spellings

_MODEL: Final = "model"
_MODELS: Final = (_MODEL, "models")
_REQUEST: Final = spellings(
    *(_MODEL, "messages", "input", "prompt", "contents", "content", "stream", "tools", "functions", "toolConfig"),
    *("system", "instructions", "systemInstruction", "system_instruction", "models", "previous_response_id"),
    *("conversation", "anthropic_version", "fallbacks", "inputs"),
    *("inputText", "message", "chat_history", "tool_results", "preamble"),
    *LIMIT_HOLDERS,
    *LIMIT_MEMBERS,
)
_MESSAGE: Final = spellings(
    *("role", "type", "content", "parts", "text", "name", "tools", "tool_call_id", "call_id", "output"),
    *("tool_use_id", "toolResult", "functionResponse", "function_response"),
)
_TOOL: Final = spellings(
    *("type", "name", "function", "custom", "toolSpec", "functionDeclarations", "function_declarations")
)
_HOLDERS: Final = LIMIT_HOLDERS | {"toolConfig"}
_TOOLS_INSIDE: Final = ("function", "custom", "toolSpec", "functionDeclarations", "function_declarations")
_WITHIN: Final = "request to a language model"


def refuse_llm_spellings(body: JsonObject, *, is_model_named: bool) -> None:
    """``body``: of a request to an address of a language model. ``is_model_named``: the address names the model. If
    neither the address nor the body, in any spelling, names a model, the request is for another API and stays as it is.

    Raises AmbiguousRequestError.
    """
    if not is_model_named and all_folded(body).isdisjoint(_MODELS):
        return
    refuse_other_spellings(body, _REQUEST, within=_WITHIN)
    config = body.get("toolConfig")
    for name in _HOLDERS:
        refuse_other_spellings(body.get(name), _REQUEST, within=_WITHIN)
    for name in ("messages", "contents", "input", "content"):
        for message in as_list(body.get(name)) or ():
            _check_message(message)
    for tools in (body.get("tools"), body.get("functions"), config.get("tools") if isinstance(config, dict) else None):
        _check_tools(tools)


def _check_message(message: JsonValue) -> None:
    refuse_other_spellings(message, _MESSAGE, within=_WITHIN)
    if isinstance(message, dict):
        for name in ("content", "parts"):
            for part in as_list(message.get(name)) or ():
                refuse_other_spellings(part, _MESSAGE, within=_WITHIN)
        _check_tools(message.get("tools"))


def _check_tools(tools: JsonValue) -> None:
    for tool in as_list(tools) or ():
        refuse_other_spellings(tool, _TOOL, within=_WITHIN)
        if isinstance(tool, dict):
            for name in _TOOLS_INSIDE:
                for inside in as_list(tool.get(name)) or ():
                    refuse_other_spellings(inside, _TOOL, within=_WITHIN)
