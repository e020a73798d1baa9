"""The Messages API of Anthropic (``output_config.format``, or a tool that must be used)."""

from collections.abc import Sequence
from typing import Final

from headgate.judges.model import ANSWER_SCHEMA, Provider, Usage
from headgate.judges.wire import (
    OUTPUT_TOKENS_MAX,
    TOOL_NAME,
    Form,
    Turn,
    WireAnswer,
    WireRequest,
    count,
    member,
    no_answer,
)
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes

_VERSION: Final = "2023-06-01"


class Anthropic:
    """``base_url`` without /v1."""

    forms = (Form.SCHEMA, Form.TOOL, Form.TEXT)

    def request(self, provider: Provider, model: str, system: str, turns: Sequence[Turn], form: Form) -> WireRequest:
        messages: list[JsonValue] = [{"role": turn.role.value, "content": turn.text} for turn in turns]
        body: JsonObject = {"model": model, "max_tokens": OUTPUT_TOKENS_MAX, "system": system, "messages": messages}
        if form is Form.SCHEMA:
            body["output_config"] = {"format": {"type": "json_schema", "schema": ANSWER_SCHEMA}}
        elif form is Form.TOOL:
            body["tools"] = [{"name": TOOL_NAME, "description": "Answer.", "input_schema": ANSWER_SCHEMA}]
            body["tool_choice"] = {"type": "tool", "name": TOOL_NAME}
        headers = {"anthropic-version": _VERSION}
        if provider.api_key is not None:
            headers["x-api-key"] = provider.api_key.reveal()
        return WireRequest(f"{provider.base_url}/v1/messages", headers, body)

    def answer(self, document: JsonObject) -> WireAnswer:
        stopped = member(document, "stop_reason")
        texts: list[str] = []
        blocks = member(document, "content")
        for block in blocks if isinstance(blocks, list) else []:
            if member(block, "type") == "tool_use":
                texts.append(canonical_bytes(member(block, "input")).decode())
            elif isinstance(text := member(block, "text"), str) and member(block, "type") == "text":
                texts.append(text)
        if not texts or stopped in ("max_tokens", "refusal"):
            raise no_answer(stopped)
        usage = member(document, "usage")
        return WireAnswer(
            "".join(texts), Usage(count(member(usage, "input_tokens")), count(member(usage, "output_tokens")))
        )
