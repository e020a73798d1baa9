"""Reads bodies at addresses that serve several makers' models: Bedrock's ``invoke`` and Vertex AI's ``rawPredict``.

The form depends on the model's maker, and only the body shows it. Sources: "Inference request parameters and response
fields for foundation models" (Amazon Bedrock user guide), Mistral's and Anthropic's models on Vertex AI, as of November
2026. A body with the members of two forms has neither: each model reads its own and ignores the others. Pure.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.protocols.llm_endpoints import BEDROCK, GOOGLE, LlmEndpoint, LlmForm

VERSION_MEMBER: Final = "anthropic_version"
"""Only Anthropic's form has it."""
_MESSAGES: Final = "messages"
_PROMPT: Final = "prompt"
_TITAN: Final = "inputText"
_COMMAND_R: Final = "message"
_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {BEDROCK: (_MESSAGES, _PROMPT, _TITAN, _COMMAND_R), GOOGLE: (_MESSAGES, _PROMPT)}
)
_EMBEDS: Final = "embed"
"""In the names of models whose ``inputText`` asks for an embedding."""


def in_known_form(endpoint: LlmEndpoint, body: JsonObject) -> tuple[LlmForm, JsonObject] | None:
    """The form, and what is asked as that form says it: a text, or turns, of completions are its ``prompt``. None: the
    body has no form that is known here, or more than one. Elsewhere the form is the endpoint's, and the body stays."""
    if not _serves_several_makers(endpoint) or (endpoint.provider == BEDROCK and VERSION_MEMBER in body):
        return endpoint.form, body
    found = [name for name in _MEMBERS[endpoint.provider] if body.get(name) is not None]
    if found == [_MESSAGES]:
        return LlmForm.CHAT_COMPLETIONS, body
    asked: JsonValue = None
    if found == [_PROMPT]:
        asked = body[_PROMPT]
    elif found == [_TITAN] and _EMBEDS not in (endpoint.model or ""):
        asked = body[_TITAN] if isinstance(body[_TITAN], str) else None
    elif found == [_COMMAND_R]:
        asked = _turns(body)
    return None if asked is None else (LlmForm.COMPLETIONS, {_PROMPT: asked})


def _serves_several_makers(endpoint: LlmEndpoint) -> bool:
    form = LlmForm.MESSAGES if endpoint.provider == BEDROCK else LlmForm.CHAT_COMPLETIONS
    return endpoint.provider in _MEMBERS and endpoint.model is not None and endpoint.form is form


def _turns(body: JsonObject) -> list[JsonValue] | None:
    """Of Cohere's Command R: what was said before, what tools answered, and the message. None: not in these types."""
    history = body.get("chat_history") or []
    message = body[_COMMAND_R]
    if not isinstance(history, list) or not isinstance(message, str):
        return None
    found: list[JsonValue] = []
    for turn in [*history, {"role": "user", "message": message, "tool_results": body.get("tool_results")}]:
        role = turn.get("role") if isinstance(turn, dict) else None
        results = turn.get("tool_results") if isinstance(turn, dict) else None
        if not isinstance(turn, dict) or not isinstance(role, str) or not isinstance(results, list | None):
            return None
        for one in results or ():
            if not isinstance(one, dict):
                return None
            call = one.get("call")
            name = call.get("name") if isinstance(call, dict) else None
            found.append({"role": "tool", "name": name, "content": one.get("outputs")})
        if turn.get("message") is not None:
            found.append({"role": role.lower(), "content": turn["message"]})
    return found
