"""What the answer of a language model says of the tokens that it took, and which tools the model wants to call.

Sources: the API references of OpenAI (chat completions, "include usage"; responses, ``response.completed``), Anthropic
("Streaming messages": usage in ``message_start`` and ``message_delta``), Gemini (``usageMetadata``), Amazon Bedrock
(``TokenUsage``), Cohere (``usage.tokens``) and Ollama (``prompt_eval_count``, ``eval_count``), as of November 2026.
Pure. Lenient, unlike the reading of requests: nothing here decides about a call, and an answer that says nothing
readable is estimated.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.protocols.llm_endpoints import LlmForm

BYTES_A_TOKEN: Final = 4
"""Of the estimate."""
TOOL_NAMES_MAX: Final = 32
_NAME_CHARACTERS_MAX: Final = 128
_TOKENS_MAX: Final = 1_000_000_000
"""Of one number. A server that says more says nothing: its numbers are added up."""

# What a model wrote, in any of the forms, with the quotation marks that end it. Possessive: it reads each byte once.
_WRITTEN: Final = re.compile(
    rb'"(?:content|text|arguments|partial_json|delta|thinking|reasoning|reasoning_content|refusal|response|'
    rb'generated_text|generation)"\s*:\s*'
    rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
)
_BEGUN: Final = re.compile(_WRITTEN.pattern.removesuffix(b'"') + rb"\\?\Z")
_GOES_ON: Final = re.compile(rb'([^"\\]*+(?:\\.[^"\\]*+)*+)(?:(")|\\?\Z)')
_TAIL_BYTES: Final = 64
"""Longer than any of these names: what stands at the end of a piece may go on in the next."""
_CHUNK_OF_BEDROCK: Final = re.compile(rb'"bytes":"([A-Za-z0-9+/]+={0,2})"')
_USAGE: Final = re.compile(rb'"usage(?:Metadata)?"\s*:\s*\{')
_FINAL_EVENT: Final = "message_delta"


class Usage(Struct, frozen=True):
    """``tokens_in``: of the whole request, those that were read from the provider's cache (``tokens_cached``) or
    written to it (``tokens_cache_written``) among them. ``estimated``: by the bytes, as the answer did not say."""

    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_cache_written: int = 0
    tokens_out: int = 0
    estimated: bool = False


class LlmAnswerReader:
    """Takes the messages of one answer: one, or the events of a stream."""

    __slots__ = ("_form", "_in_text", "_is_final", "_rest", "_said", "_tools", "_written_bytes")

    def __init__(self, form: LlmForm) -> None:
        self._form = form
        self._said: dict[str, int] = {}
        self._is_final = False
        self._tools: dict[str, None] = {}
        self._written_bytes = 0
        self._rest = b""
        self._in_text = False

    def events(self, events: bytes) -> None:
        """Whole server-sent events (the HTML standard, "Interpreting an event stream"). Raises nothing."""
        for match in _WRITTEN.finditer(events):
            self._written_bytes += len(match[1])
        # Most events are a few letters that a model wrote, and need no more.
        if b'"name"' in events or b'_call"' in events or (b'"usage' in events and _USAGE.search(events)):
            for data in _data_of(events):
                self._take(data)

    def message(self, body: bytes) -> None:
        """A whole answer, in JSON. Raises nothing."""
        for data in _messages_in(self._form, body):
            for match in _WRITTEN.finditer(data):
                self._written_bytes += len(match[1])
            self._take(data)

    def part(self, data: bytes) -> None:
        """A part of an answer that is too large to be kept whole: what a model wrote in it counts. Raises nothing."""
        data, at = self._rest + data, 0
        if self._in_text:
            match = _GOES_ON.match(data)
            if match is None:
                return
            self._written_bytes += len(match[1])
            self._in_text, at = match[2] is None, match.end()
            if self._in_text:
                self._rest = data[match.end(1) :]
                return
        for match in _WRITTEN.finditer(data, at):
            self._written_bytes += len(match[1])
            at = match.end()
        begun = _BEGUN.search(data, at)
        if begun is None:
            self._rest = data[max(at, len(data) - _TAIL_BYTES) :]
        else:
            self._written_bytes += len(begun[1])
            self._in_text, self._rest = True, data[begun.end(1) :]

    def unread(self, size: int) -> None:
        """So many bytes could not be read at all. Whatever they hold counts as written."""
        if self._form not in (LlmForm.EMBEDDINGS, LlmForm.EMBED_CONTENT):
            self._written_bytes += size

    @property
    def tools(self) -> list[str]:
        """The names of the tools that the model wants to call, each once."""
        return list(self._tools)

    def usage(self, *, request_bytes: int, is_complete: bool) -> Usage:
        """Of the answer so far. What it does not say, or not yet, is estimated by the bytes; the larger one counts."""
        estimated_in, estimated_out = _tokens(request_bytes), _tokens(self._written_bytes)
        said = _in_one_form(self._form, self._said)
        if said is None:
            return Usage(estimated_in, 0, 0, estimated_out, estimated=True)
        if is_complete and self._is_final:
            return said
        return replace(
            said,
            tokens_in=said.tokens_in or estimated_in,
            tokens_out=max(said.tokens_out, estimated_out),
            estimated=True,
        )

    def _take(self, data: bytes) -> None:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return
        for one in (
            value if isinstance(value, list) else [value]
        ):  # Gemini streams an array where no events are asked for
            if isinstance(one, dict):
                self._take_usage(one)
                self._take_tools(one)

    def _take_usage(self, message: Mapping[str, Any]) -> None:
        found = [_inner(message, *path) for path in _USAGE_PLACES]
        if self._form in _OF_OLLAMA and message.get("done") is True:
            found.append(message)
        numbers = [one for one in found if isinstance(one, dict)]
        for one in numbers:
            self._said |= _numbers(one)
        if numbers and (self._form is not LlmForm.MESSAGES or message.get("type") in (_FINAL_EVENT, "message")):
            self._is_final = True

    def _take_tools(self, message: Mapping[str, Any]) -> None:
        for name in _tool_names(message):
            if len(self._tools) < TOOL_NAMES_MAX:
                self._tools[name[:_NAME_CHARACTERS_MAX]] = None


_USAGE_PLACES: Final = (
    ("usage",),
    ("message", "usage"),  # Anthropic, message_start
    ("response", "usage"),  # OpenAI, response.completed
    ("x_groq", "usage"),
    ("usageMetadata",),
    ("delta", "usage"),  # Cohere, message-end
)


def _tokens(size: int) -> int:
    return -(-size // BYTES_A_TOKEN)


def _data_of(events: bytes) -> Iterator[bytes]:
    data: list[bytes] = []
    for line in [*events.splitlines(), b""]:
        if line.startswith(b"data:"):
            data.append(line[5:])
        elif not line and data:
            yield b"\n".join(data)
            data = []


def _messages_in(form: LlmForm, body: bytes) -> list[bytes]:
    if form in _OF_OLLAMA:
        return body.splitlines()
    return _chunks_of(body) if form in _INVOKED else [body]


def _chunks_of(body: bytes) -> list[bytes]:
    """The events in a binary stream of Bedrock; of any other answer itself."""
    try:
        return [base64.b64decode(one) for one in _CHUNK_OF_BEDROCK.findall(body)] or [body]
    except ValueError:
        return [body]


def _inner(value: Any, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _numbers(usage: Mapping[str, Any]) -> dict[str, int]:
    """The members that are numbers, those of the details under their own names behind a dot."""
    found = _plain_numbers(usage)
    for name in _DETAILS:
        if isinstance(details := usage.get(name), dict):
            found |= {f"{name}.{inner}": number for inner, number in _plain_numbers(details).items()}
    return found


def _plain_numbers(members: Mapping[str, Any]) -> dict[str, int]:
    return {
        name: value
        for name, value in members.items()
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _TOKENS_MAX
    }


_OF_OLLAMA: Final = (LlmForm.OLLAMA_CHAT, LlmForm.OLLAMA_GENERATE)
_INVOKED: Final = (LlmForm.MESSAGES, LlmForm.CHAT_COMPLETIONS, LlmForm.COMPLETIONS)
"""Forms of models that Bedrock invokes."""
_DETAILS: Final = frozenset({"prompt_tokens_details", "input_tokens_details", "tokens"})
_OUT: Final[Mapping[LlmForm, Sequence[str]]] = {
    LlmForm.GENERATE_CONTENT: ("candidatesTokenCount", "thoughtsTokenCount"),
    LlmForm.EMBED_CONTENT: ("candidatesTokenCount",),
    LlmForm.CONVERSE: ("outputTokens",),
    LlmForm.MESSAGES: ("output_tokens",),
}
_CACHES: Final[Mapping[LlmForm, tuple[str, str]]] = {
    LlmForm.CONVERSE: ("cacheReadInputTokens", "cacheWriteInputTokens"),
    LlmForm.MESSAGES: ("cache_read_input_tokens", "cache_creation_input_tokens"),
}


def _in_one_form(form: LlmForm, said: Mapping[str, int]) -> Usage | None:
    """None: nothing that this form names."""
    if form in _CACHES:
        # Here the tokens of the cache stand beside the others, and not among them.
        read, written = (said.get(name, 0) for name in _CACHES[form])
        plain = said.get("inputTokens" if form is LlmForm.CONVERSE else "input_tokens")
        out = _sum(said, _OUT[form])
        if plain is None and out is None:
            return None
        return Usage((plain or 0) + read + written, read, written, out or 0)
    if form in _OUT:
        given = _sum(said, ("promptTokenCount", "toolUsePromptTokenCount"))
        out = _sum(said, _OUT[form])
        cached = said.get("cachedContentTokenCount", 0)
    else:
        given = _first(
            said, "prompt_tokens", "input_tokens", "total_tokens", "tokens.input_tokens", "prompt_eval_count"
        )
        out = _first(said, "completion_tokens", "output_tokens", "tokens.output_tokens", "eval_count")
        cached = (
            _first(
                said,
                "prompt_tokens_details.cached_tokens",
                "input_tokens_details.cached_tokens",
                "prompt_cache_hit_tokens",
            )
            or 0
        )
    if given is None and out is None:
        return None
    return Usage(given or 0, min(cached, given or 0), 0, out or 0)


def _sum(said: Mapping[str, int], names: Sequence[str]) -> int | None:
    found = [said[name] for name in names if name in said]
    return sum(found) if found else None


def _first(said: Mapping[str, int], *names: str) -> int | None:
    return next((said[name] for name in names if name in said), None)


def _tool_names(message: Mapping[str, Any]) -> Iterator[str]:
    """OpenAI's ``tool_calls`` (Ollama's and Cohere's stand in the message), items of OpenAI's responses, Anthropic's
    ``tool_use``, Gemini's ``functionCall``, Bedrock's ``toolUse``."""
    for choice in _objects(message.get("choices")):
        for said in (choice.get("message"), choice.get("delta")):
            calls = [*_objects(_inner(said, "tool_calls")), {"function": _inner(said, "function_call")}]
            for call in calls:
                yield from _texts(_inner(call, "function", "name"), _inner(call, "custom", "name"))
    started = _inner(message, "delta", "message", "tool_calls")
    for call in [*_objects(_inner(message, "message", "tool_calls")), started]:
        yield from _texts(_inner(call, "function", "name"))
    ended = _inner(message, "response", "output")
    for item in [message.get("item"), *_objects(message.get("output")), *_objects(ended)]:
        kind = _inner(item, "type")
        if isinstance(kind, str) and kind.endswith("_call"):
            name = _inner(item, "name")
            yield name if isinstance(name, str) else kind
    for block in [message.get("content_block"), *_objects(message.get("content"))]:
        if _inner(block, "type") in ("tool_use", "server_tool_use", "mcp_tool_use"):
            yield from _texts(_inner(block, "name"))
    for candidate in _objects(message.get("candidates")):
        for part in _objects(_inner(candidate, "content", "parts")):
            yield from _texts(_inner(part, "functionCall", "name"))
    for block in _objects(_inner(message, "output", "message", "content")):
        yield from _texts(_inner(block, "toolUse", "name"))


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _texts(*values: Any) -> Iterator[str]:
    return (value for value in values if isinstance(value, str) and value)
