"""What a request to a language model says of tools: the names that it offers, the results that it carries back.

Bounded, as agents choose them: the first 128 names, the newest 64 results, 512 characters of each. The whole is in
``params.body``.
"""

from collections.abc import Iterator
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue

NAMES_MAX: Final = 128
RESULTS_MAX: Final = 64
TEXT_CHARACTERS_MAX: Final = 512
_NAME_CHARACTERS_MAX: Final = 128
# Tuples: what is looked for in them may be a list or an object, which has no hash.
_RESULT_ROLES: Final = ("tool", "function")
_RESULT_ITEMS: Final = (
    *("function_call_output", "custom_tool_call_output", "local_shell_call_output", "shell_call_output"),
    *("computer_call_output", "apply_patch_call_output"),
)
_RESULT_BLOCK: Final = "tool_result"
_CONVERSE_RESULT: Final = "toolResult"
_GEMINI_RESULTS: Final = ("functionResponse", "function_response")
_PIECE_KINDS: Final = ("text", "input_text", "output_text")
_GEMINI_NAMES: Final = ("functionDeclarations", "function_declarations")


def as_list(value: JsonValue) -> list[JsonValue] | None:
    """A list as it is, and one object as a list of one, as Google's servers read it. None: it is neither."""
    if isinstance(value, dict):
        return [value]
    return value if isinstance(value, list) else None


def offered_tools(body: JsonObject, items: list[JsonValue]) -> list[JsonValue]:
    """Names in the order of the request; of a tool without a name its type, of Gemini's hosted tools the member. Items
    of OpenAI's responses may bring tools, too (``additional_tools``, ``tool_search_output``)."""
    found: list[JsonValue] = []
    config = body.get("toolConfig")
    for tools in (
        *(body.get("tools"), body.get("functions"), config.get("tools") if isinstance(config, dict) else None),
        *(item.get("tools") for item in items if isinstance(item, dict)),
    ):
        for tool in as_list(tools) or ():
            for name in _names(tool):
                if len(found) == NAMES_MAX:
                    return found
                found.append(name[:_NAME_CHARACTERS_MAX])
    return found


def _names(tool: JsonValue) -> Iterator[str]:
    if not isinstance(tool, dict):
        return
    for nested in (tool, tool.get("function"), tool.get("custom"), tool.get("toolSpec")):
        name = nested.get("name") if isinstance(nested, dict) else None
        if isinstance(name, str):
            yield name
            return
    kind = tool.get("type")
    if isinstance(kind, str):
        yield kind
        return
    for member, value in tool.items():
        if member in _GEMINI_NAMES:
            for one in as_list(value) or ():
                yield from _names(one)
        else:
            yield member


def is_tool_result(part: JsonObject) -> bool:
    """Whether a message, an item, or a part of one carries what a tool answered, in any of the forms."""
    kind = part.get("type")
    return (
        part.get("role") in _RESULT_ROLES
        or kind == _RESULT_BLOCK
        or kind in _RESULT_ITEMS
        or any(name in part for name in (_CONVERSE_RESULT, *_GEMINI_RESULTS))
    )


def tool_results(messages: list[JsonValue]) -> list[JsonValue]:
    """``{id, name, text, characters}`` of the newest results, oldest first. ``text`` is cut, ``characters`` is not."""
    found: list[JsonValue] = []
    for message in reversed(messages):
        if isinstance(message, dict):
            found += [_shown(*one) for one in reversed(list(_results_of(message)))]
        if len(found) >= RESULTS_MAX:
            break
    return found[:RESULTS_MAX][::-1]


def _results_of(message: JsonObject) -> Iterator[tuple[JsonValue, JsonValue, JsonValue]]:
    """Identifier, name and content of each result in one message or item."""
    if message.get("role") in _RESULT_ROLES:
        yield message.get("tool_call_id"), message.get("name"), message.get("content")
        return
    if message.get("type") in _RESULT_ITEMS:
        yield message.get("call_id"), message.get("name"), message.get("output")
        return
    content, parts = message.get("content"), message.get("parts")
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        converse = block.get(_CONVERSE_RESULT)
        if block.get("type") == _RESULT_BLOCK:
            yield block.get("tool_use_id"), None, block.get("content")
        elif isinstance(converse, dict):
            yield converse.get("toolUseId"), None, converse.get("content")
    for part in parts if isinstance(parts, list) else ():
        for name in _GEMINI_RESULTS:
            answer = part.get(name) if isinstance(part, dict) else None
            if isinstance(answer, dict):
                yield answer.get("id"), answer.get("name"), answer.get("response")


def _shown(identifier: JsonValue, name: JsonValue, content: JsonValue) -> JsonObject:
    text = "\n".join(_texts(content))
    return {
        "id": identifier[:_NAME_CHARACTERS_MAX] if isinstance(identifier, str) else None,
        "name": name[:_NAME_CHARACTERS_MAX] if isinstance(name, str) else None,
        "text": text[:TEXT_CHARACTERS_MAX],
        "characters": len(text),
    }


def _texts(content: JsonValue) -> Iterator[str]:
    """The texts of a result, without recursion: its depth is the agent's choice."""
    waiting = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            waiting += reversed(value)
        elif isinstance(value, dict):
            kind = value.get("type")
            if kind in _PIECE_KINDS:
                waiting.append(value.get("text"))
            elif not isinstance(kind, str):
                waiting += reversed(value.values())
