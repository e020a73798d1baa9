"""The tools in a server's answer to ``tools/list`` (MCP, "Listing Tools"), and the answer without some of them.

Pure, and strict: what two readers could read differently is no list. The answer is one JSON-RPC message, or an event
stream (the HTML standard, "Interpreting an event stream") whose events are such messages; in any of them ``tools`` of a
result is a list, whatever its id.
"""

import json
import re
from collections.abc import Container, Iterator, Sequence
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import AmbiguousRequestError, ValidationError
from headgate.protocols.mcp_names import refuse_list_spellings

NAME_CHARACTERS_MAX: Final = 512
"""The protocol recommends 128 at most (revision 2025-11-25, "Tool Names")."""
_RECORDED_MAX: Final = 20
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_DATA: Final = "data"
_BYTE_ORDER_MARK: Final = "\ufeff"


class OfferedTool(Struct, frozen=True):
    """``definition`` is all that the server says of the tool, its name included."""

    name: str
    definition: JsonObject


class _Part(Struct, frozen=True):
    """A stretch of the answer: a message with tools, or else the text as it came."""

    text: str
    message: JsonObject | None = None
    other_lines: tuple[str, ...] = ()
    """Of an event: the lines beside its data."""


class ToolListAnswer(Struct, frozen=True):
    """An answer as it was read. ``tools``: all that its messages offer, in their order."""

    tools: tuple[OfferedTool, ...]
    _parts: tuple[_Part, ...]
    _is_stream: bool

    def without(self, names: Container[str]) -> bytes:
        """The answer without the tools of these names."""
        written = [part.text if part.message is None else self._write(part, names) for part in self._parts]
        return "".join(written).encode()

    def _write(self, part: _Part, names: Container[str]) -> str:
        text = _text_without(part.message or {}, names)
        if not self._is_stream:
            return text
        return "".join(f"{line}\n" for line in (*part.other_lines, f"{_DATA}: {text}", ""))


def read_tool_list(body: bytes, *, is_stream: bool) -> ToolListAnswer:
    """``body`` in UTF-8, without content coding; ``is_stream``: it is ``text/event-stream``.

    Raises AmbiguousRequestError: no JSON-RPC message, tools without a name, or members in a spelling that only some
    clients read (``mcp_names``).
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise AmbiguousRequestError("it is not in UTF-8") from error
    parts = tuple(_events(text)) if is_stream else (_part(text, text, ()),)
    messages = [part.message for part in parts if part.message is not None]
    return ToolListAnswer(tuple(tool for one in messages for tool in _tools(one)), parts, is_stream)


def list_record(
    listed: int, left_out: Sequence[tuple[str, str | None, str | None]], changed: Sequence[str], *, first_seen: int
) -> JsonObject:
    """What is kept of a list: how many tools the server listed, how many of them the agent did not see (each a name, a
    policy and its reason), were new and had changed; and the first of these."""
    first_left_out: list[JsonValue] = [
        {"name": name, "policy_id": policy_id, "reason": reason} for name, policy_id, reason in left_out[:_RECORDED_MAX]
    ]
    return {
        "listed": listed,
        "left_out": len(left_out),
        "first_left_out": first_left_out,
        "first_seen": first_seen,
        "changed": len(changed),
        "first_changed": [*changed[:_RECORDED_MAX]],
    }


def _events(text: str) -> Iterator[_Part]:
    lines: list[str] = []
    for line in _LINE_END.split(text.removeprefix(_BYTE_ORDER_MARK)):
        if line:
            lines.append(line)
        elif lines:
            yield _event(lines)
            lines = []
    if lines:
        # A client never dispatches an event that no empty line ends; one that did would read this one.
        yield _event(lines)


def _event(lines: list[str]) -> _Part:
    fields = [(line, *line.partition(":")) for line in lines]
    data = "\n".join(value.removeprefix(" ") for _, name, _, value in fields if name == _DATA)
    written = "".join(f"{line}\n" for line in (*lines, ""))
    if not data:
        return _Part(written)  # a comment, or what primes a client to resume (revision 2025-11-25)
    return _part(written, data, tuple(line for line, name, _, _ in fields if name != _DATA))


def _part(written: str, data: str, other_lines: tuple[str, ...]) -> _Part:
    try:
        message = parse_strict(data.encode())
    except ValidationError as error:
        raise AmbiguousRequestError("it is no JSON that can be read in exactly one way") from error
    if not isinstance(message, dict):
        raise AmbiguousRequestError("it is no JSON-RPC message")
    refuse_list_spellings(message)
    return _Part(written, message if _listed(message) is not None else None, other_lines)


def _listed(message: JsonObject) -> JsonValue:
    result = message.get("result")
    return result.get("tools") if isinstance(result, dict) else None


def _tools(message: JsonObject) -> Iterator[OfferedTool]:
    listed = _listed(message)
    for definition in listed if isinstance(listed, list) else [None]:
        name = definition.get("name") if isinstance(definition, dict) else None
        if not isinstance(definition, dict) or not isinstance(name, str) or not name:
            raise AmbiguousRequestError("it offers a tool without a name")
        if len(name) > NAME_CHARACTERS_MAX or not name.isprintable():
            raise AmbiguousRequestError(
                f"it offers a tool whose name has more than {NAME_CHARACTERS_MAX} characters, or invisible ones"
            )
        yield OfferedTool(name, definition)


def _text_without(message: JsonObject, names: Container[str]) -> str:
    result, listed = message.get("result"), _listed(message)
    if not isinstance(result, dict) or not isinstance(listed, list):
        raise TypeError("a message without tools")
    kept: list[JsonValue] = [one for one in listed if isinstance(one, dict) and one.get("name") not in names]
    changed: JsonObject = {**message, "result": {**result, "tools": kept}}
    return json.dumps(changed, ensure_ascii=False, separators=(",", ":"))
