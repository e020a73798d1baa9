"""What is sent to each provider in each form, and what of an answer counts as one."""

import pytest

from headgate.judges.anthropic import Anthropic
from headgate.judges.gemini import Gemini
from headgate.judges.model import ANSWER_SCHEMA, Failure, JudgeError, Provider, ProviderKind, Usage
from headgate.judges.openai_compatible import OpenAiCompatible
from headgate.judges.wire import Adapter, Form, Role, Turn
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.secrets import Secret

_TURNS = [Turn(Role.USER, "action"), Turn(Role.ASSISTANT, "wrong"), Turn(Role.USER, "again")]
_KEY = Secret("no-real-key")


def _body(adapter: Adapter, kind: ProviderKind, form: Form) -> JsonObject:
    provider = Provider(kind, "https://host/base", _KEY)
    request = adapter.request(provider, "some/model", "the system", _TURNS, form)
    assert request.url.startswith("https://host/base/")
    assert any("no-real-key" in value for value in request.headers.values())
    assert "no-real-key" not in repr(request.body) + request.url
    return request.body


def test_openai_is_asked_in_four_forms() -> None:
    bodies = {form: _body(OpenAiCompatible(), ProviderKind.OPENAI_COMPATIBLE, form) for form in OpenAiCompatible.forms}

    wanted = bodies[Form.SCHEMA]["response_format"]
    assert wanted == {
        "type": "json_schema",
        "json_schema": {"name": "judge", "strict": True, "schema": ANSWER_SCHEMA},
    }
    assert bodies[Form.JSON]["response_format"] == {"type": "json_object"}
    assert "additionalProperties" in repr(bodies[Form.JSON]["messages"])
    assert bodies[Form.TOOL]["tool_choice"] == {"type": "function", "function": {"name": "judge"}}
    assert {"response_format", "tools"}.isdisjoint(bodies[Form.TEXT])


def test_anthropic_is_asked_in_three_forms() -> None:
    bodies = {form: _body(Anthropic(), ProviderKind.ANTHROPIC, form) for form in Anthropic.forms}

    assert bodies[Form.SCHEMA]["output_config"] == {"format": {"type": "json_schema", "schema": ANSWER_SCHEMA}}
    assert bodies[Form.TOOL]["tool_choice"] == {"type": "tool", "name": "judge"}
    assert {"output_config", "tools"}.isdisjoint(bodies[Form.TEXT])
    assert all(body["system"] == "the system" for body in bodies.values())


def test_gemini_is_asked_in_three_forms_and_its_model_is_a_part_of_the_address() -> None:
    provider = Provider(ProviderKind.GEMINI, "https://host/base")
    request = Gemini().request(provider, "../some?model", "s", _TURNS, Form.SCHEMA)
    assert request.url == "https://host/base/v1beta/models/..%2Fsome%3Fmodel:generateContent"

    bodies = {form: _body(Gemini(), ProviderKind.GEMINI, form)["generationConfig"] for form in Gemini.forms}
    assert "responseJsonSchema" in repr(bodies[Form.SCHEMA])
    assert "responseJsonSchema" not in repr(bodies[Form.JSON])
    assert "responseMimeType" not in repr(bodies[Form.TEXT])
    assert [one["role"] for one in request.body["contents"]] == ["user", "model", "user"]  # type: ignore[union-attr, index]


@pytest.mark.parametrize(
    ("adapter", "document", "text", "usage"),
    [
        (
            OpenAiCompatible(),
            {
                "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 7, "completion_tokens": 3},
            },
            "x",
            Usage(7, 3),
        ),
        (
            OpenAiCompatible(),
            {"choices": [{"message": {"content": None, "tool_calls": [{"function": {"arguments": "{}"}}]}}]},
            "{}",
            Usage(),
        ),
        (
            Anthropic(),
            {
                "content": [{"type": "thinking", "thinking": "…"}, {"type": "text", "text": "x"}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 7, "output_tokens": 3},
            },
            "x",
            Usage(7, 3),
        ),
        (Anthropic(), {"content": [{"type": "tool_use", "input": {"a": 1}}]}, '{"a":1}', Usage()),
        (
            Gemini(),
            {
                "candidates": [{"content": {"parts": [{"text": "x"}, {"text": "y"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3},
            },
            "xy",
            Usage(7, 3),
        ),
    ],
)
def test_an_answer_is_its_text_and_what_it_took(
    adapter: Adapter, document: JsonObject, text: str, usage: Usage
) -> None:
    answer = adapter.answer(document)

    assert (answer.text, answer.usage) == (text, usage)


@pytest.mark.parametrize(
    ("adapter", "document"),
    [
        (OpenAiCompatible(), {}),
        (OpenAiCompatible(), {"choices": []}),
        (OpenAiCompatible(), {"choices": [{"message": {"content": None, "refusal": "no"}, "finish_reason": "stop"}]}),
        (OpenAiCompatible(), {"choices": [{"message": {"content": "{"}, "finish_reason": "length"}]}),
        (OpenAiCompatible(), {"choices": [{"message": {"content": "x"}, "finish_reason": "content_filter"}]}),
        (OpenAiCompatible(), {"choices": "x"}),
        (Anthropic(), {"content": []}),
        (Anthropic(), {"content": [{"type": "text", "text": "x"}], "stop_reason": "refusal"}),
        (Anthropic(), {"content": [{"type": "text", "text": "{"}], "stop_reason": "max_tokens"}),
        (Anthropic(), {"content": "x"}),
        (Gemini(), {"promptFeedback": {"blockReason": "SAFETY"}}),
        (Gemini(), {"candidates": [{"content": {"parts": [{"text": "{"}]}, "finishReason": "MAX_TOKENS"}]}),
        (Gemini(), {"candidates": [{"finishReason": "SAFETY"}]}),
    ],
)
def test_what_was_refused_or_cut_is_no_answer(adapter: Adapter, document: JsonObject) -> None:
    with pytest.raises(JudgeError) as caught:
        adapter.answer(document)

    assert caught.value.failure is Failure.MALFORMED_ANSWER
