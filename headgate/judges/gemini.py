"""generateContent of Google's Gemini API (``responseJsonSchema``, or JSON without a schema)."""

from collections.abc import Sequence
from urllib.parse import quote

from headgate.judges.model import ANSWER_SCHEMA, Provider, Usage
from headgate.judges.wire import OUTPUT_TOKENS_MAX, Form, Role, Turn, WireAnswer, WireRequest, count, member, no_answer
from headgate.kernel.canonical_json import JsonObject, JsonValue


class Gemini:
    """``base_url`` without the version."""

    forms = (Form.SCHEMA, Form.JSON, Form.TEXT)

    def request(self, provider: Provider, model: str, system: str, turns: Sequence[Turn], form: Form) -> WireRequest:
        contents: list[JsonValue] = [
            {"role": "user" if turn.role is Role.USER else "model", "parts": [{"text": turn.text}]} for turn in turns
        ]
        configuration: JsonObject = {"maxOutputTokens": OUTPUT_TOKENS_MAX, "temperature": 0}
        if form is not Form.TEXT:
            configuration["responseMimeType"] = "application/json"
        if form is Form.SCHEMA:
            configuration["responseJsonSchema"] = ANSWER_SCHEMA
        body: JsonObject = {
            "systemInstruction": {"parts": [{"text": system}]},
            "contents": contents,
            "generationConfig": configuration,
        }
        headers = {} if provider.api_key is None else {"x-goog-api-key": provider.api_key.reveal()}
        url = f"{provider.base_url}/v1beta/models/{quote(model, safe='')}:generateContent"
        return WireRequest(url, headers, body)

    def answer(self, document: JsonObject) -> WireAnswer:
        candidate = member(document, "candidates", 0)
        stopped = member(candidate, "finishReason")
        parts = member(candidate, "content", "parts")
        texts = [member(part, "text") for part in parts] if isinstance(parts, list) else []
        text = "".join(one for one in texts if isinstance(one, str))
        if not text or stopped not in (None, "STOP"):
            raise no_answer(stopped)
        usage = member(document, "usageMetadata")
        return WireAnswer(
            text, Usage(count(member(usage, "promptTokenCount")), count(member(usage, "candidatesTokenCount")))
        )
