"""Chat Completions, as OpenAI defined them and Azure, vLLM, Ollama and others speak them, each with gaps of its own."""

from collections.abc import Sequence

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


class OpenAiCompatible:
    """``base_url`` ends in /v1."""

    forms = (Form.SCHEMA, Form.JSON, Form.TOOL, Form.TEXT)

    def request(self, provider: Provider, model: str, system: str, turns: Sequence[Turn], form: Form) -> WireRequest:
        if form is Form.JSON:
            system = f"{system}\nThe JSON schema of the answer: {canonical_bytes(ANSWER_SCHEMA).decode()}"
        messages: list[JsonValue] = [{"role": "system", "content": system}]
        messages += [{"role": turn.role.value, "content": turn.text} for turn in turns]
        # Whoever knows the schema knows the newer name of this limit; its newest models know no other.
        limit = "max_completion_tokens" if form is Form.SCHEMA else "max_tokens"
        body: JsonObject = {"model": model, "messages": messages, limit: OUTPUT_TOKENS_MAX}
        body |= _asking_for(form)
        headers = {} if provider.api_key is None else {"authorization": f"Bearer {provider.api_key.reveal()}"}
        return WireRequest(f"{provider.base_url}/chat/completions", headers, body)

    def answer(self, document: JsonObject) -> WireAnswer:
        choice = member(document, "choices", 0)
        text = member(choice, "message", "tool_calls", 0, "function", "arguments")
        if text is None:
            text = member(choice, "message", "content")
        if not isinstance(text, str) or member(choice, "finish_reason") in ("length", "content_filter"):
            raise no_answer(member(choice, "finish_reason"))
        usage = member(document, "usage")
        return WireAnswer(text, Usage(count(member(usage, "prompt_tokens")), count(member(usage, "completion_tokens"))))


def _asking_for(form: Form) -> JsonObject:
    if form is Form.SCHEMA:
        schema: JsonObject = {"name": TOOL_NAME, "strict": True, "schema": ANSWER_SCHEMA}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    if form is Form.JSON:
        return {"response_format": {"type": "json_object"}}
    if form is Form.TOOL:
        function: JsonObject = {"name": TOOL_NAME, "description": "Answer.", "parameters": ANSWER_SCHEMA}
        return {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": {"type": "function", "function": {"name": TOOL_NAME}},
        }
    return {}
