"""What answers of each form say of tokens and tools, and what is estimated where they do not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.protocols.llm_answer import TOOL_NAMES_MAX, LlmAnswerReader, Usage
from headgate.protocols.llm_endpoints import LlmForm

CHAT, RESPONSES, MESSAGES = LlmForm.CHAT_COMPLETIONS, LlmForm.RESPONSES, LlmForm.MESSAGES
GEMINI, CONVERSE = LlmForm.GENERATE_CONTENT, LlmForm.CONVERSE
ANTHROPIC = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 200,
    "cache_read_input_tokens": 3000,
    "output_tokens": 7,
}


def _events(*values: Any) -> bytes:
    return b"".join(b"event: x\ndata: " + json.dumps(value).encode() + b"\n\n" for value in values)


@pytest.mark.parametrize(
    ("form", "message", "usage"),
    [
        (
            CHAT,
            {
                "usage": {
                    "prompt_tokens": 100,
                    "completion_tokens": 20,
                    "total_tokens": 120,
                    "prompt_tokens_details": {"cached_tokens": 64},
                }
            },
            Usage(100, 64, 0, 20),
        ),
        (
            CHAT,
            {"usage": {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 8}},
            Usage(9, 8, 0, 1),
        ),
        (
            RESPONSES,
            {"usage": {"input_tokens": 50, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 10}}},
            Usage(50, 10, 0, 5),
        ),
        (MESSAGES, {"type": "message", "usage": ANTHROPIC}, Usage(3210, 3000, 200, 7)),
        (
            GEMINI,
            {
                "usageMetadata": {
                    "promptTokenCount": 30,
                    "toolUsePromptTokenCount": 2,
                    "cachedContentTokenCount": 12,
                    "candidatesTokenCount": 4,
                    "thoughtsTokenCount": 40,
                    "totalTokenCount": 76,
                }
            },
            Usage(32, 12, 0, 44),
        ),
        (
            CONVERSE,
            {
                "usage": {
                    "inputTokens": 5,
                    "outputTokens": 6,
                    "cacheReadInputTokens": 70,
                    "cacheWriteInputTokens": 8,
                    "totalTokens": 89,
                }
            },
            Usage(83, 70, 8, 6),
        ),
        (LlmForm.EMBEDDINGS, {"usage": {"prompt_tokens": 8, "total_tokens": 8}}, Usage(8)),
        (LlmForm.COMPLETIONS, {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}, Usage(3, 0, 0, 4)),
    ],
)
def test_a_whole_answer(form: LlmForm, message: dict[str, Any], usage: Usage) -> None:
    reader = LlmAnswerReader(form)
    reader.message(json.dumps(message).encode())
    assert reader.usage(request_bytes=4000, is_complete=True) == usage


@pytest.mark.parametrize(
    ("form", "events", "usage"),
    [
        (
            CHAT,
            _events(
                {"choices": [{"delta": {"content": "Hello"}}], "usage": None},
                {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 2}},
            )
            + b"data: [DONE]\n\n",
            Usage(11, 0, 0, 2),
        ),
        (
            CHAT,
            _events({"choices": [], "x_groq": {"usage": {"prompt_tokens": 1, "completion_tokens": 2}}}),
            Usage(1, 0, 0, 2),
        ),
        (
            RESPONSES,
            _events(
                {"type": "response.created", "response": {"usage": None}},
                {"type": "response.output_text.delta", "delta": "Hello"},
                {"type": "response.completed", "response": {"usage": {"input_tokens": 5, "output_tokens": 6}}},
            ),
            Usage(5, 0, 0, 6),
        ),
        (
            MESSAGES,
            _events(
                {"type": "message_start", "message": {"usage": {**ANTHROPIC, "output_tokens": 1}}},
                {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hello"}},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 15}},
            ),
            Usage(3210, 3000, 200, 15),
        ),
        (
            GEMINI,
            _events(
                {"usageMetadata": {"promptTokenCount": 8, "totalTokenCount": 8}},
                {"usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 3, "totalTokenCount": 11}},
            ),
            Usage(8, 0, 0, 3),
        ),
    ],
)
def test_a_stream(form: LlmForm, events: bytes, usage: Usage) -> None:
    for cut in (len(events), 1):
        reader = LlmAnswerReader(form)
        whole = events.split(b"\n\n")
        pieces = [b"\n\n".join(whole)] if cut > 1 else [one + b"\n\n" for one in whole if one]
        for piece in pieces:
            reader.events(piece)
        assert reader.usage(request_bytes=4000, is_complete=True) == usage


def test_a_gemini_stream_that_is_an_array() -> None:
    reader = LlmAnswerReader(GEMINI)
    last = {"usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 3}}
    reader.message(json.dumps([{"usageMetadata": {"promptTokenCount": 8}}, last]).encode())
    assert reader.usage(request_bytes=0, is_complete=True) == Usage(8, 0, 0, 3)


def test_a_stream_without_usage_is_estimated_by_what_was_written() -> None:
    reader = LlmAnswerReader(CHAT)
    for word in ("Hello", ", ", '"world" \\'):
        reader.events(_events({"id": "chatcmpl-1", "choices": [{"delta": {"content": word}}], "usage": None}))
    # Five bytes, two and twelve (as escaped), four to a token.
    assert reader.usage(request_bytes=41, is_complete=True) == Usage(11, 0, 0, 5, estimated=True)


def test_a_stream_that_is_cut_keeps_what_it_said_and_estimates_the_rest() -> None:
    reader = LlmAnswerReader(MESSAGES)
    reader.events(_events({"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}}))
    reader.events(_events({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x" * 400}}))
    expected = Usage(9, 0, 0, 100, estimated=True)
    assert reader.usage(request_bytes=4000, is_complete=False) == expected
    # Nor is it the provider's last word where the stream ended without it.
    assert reader.usage(request_bytes=4000, is_complete=True) == expected


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -5, "completion_tokens": -7},
        {"prompt_tokens": True, "completion_tokens": "9"},
        {"prompt_tokens": 1e9, "completion_tokens": 10**30},
        {},
        [],
        "none",
        None,
    ],
)
def test_numbers_that_are_none_are_estimated(usage: Any) -> None:
    reader = LlmAnswerReader(CHAT)
    reader.message(json.dumps({"usage": usage}).encode())
    assert reader.usage(request_bytes=8, is_complete=True) == Usage(2, 0, 0, 0, estimated=True)


def test_usage_inside_of_what_a_model_wrote_is_none() -> None:
    reader = LlmAnswerReader(CHAT)
    told = json.dumps({"usage": {"prompt_tokens": 0, "completion_tokens": 0}})
    arguments = {"usage": {"prompt_tokens": 0, "completion_tokens": 0}}
    reader.events(_events({"choices": [{"delta": {"content": told, "input": arguments}}]}))
    assert reader.usage(request_bytes=400, is_complete=True).estimated


CALLS = [{"function": {"name": "a"}}, {"custom": {"name": "b"}}]
PARTS = [{"text": "x"}, {"functionCall": {"name": "a"}}, {"functionCall": {"name": "b"}}]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (CHAT, {"choices": [{"message": {"tool_calls": CALLS}}]}),
        (CHAT, {"choices": [{"delta": {"tool_calls": CALLS[:1]}}, {"delta": {"function_call": {"name": "b"}}}]}),
        (RESPONSES, {"output": [{"type": "function_call", "name": "a"}, {"type": "custom_tool_call", "name": "b"}]}),
        (RESPONSES, {"response": {"output": [{"type": "function_call", "name": "a"}, {"type": "b_call"}]}}),
        (MESSAGES, {"content": [{"type": "tool_use", "name": "a"}, {"type": "server_tool_use", "name": "b"}]}),
        (GEMINI, {"candidates": [{"content": {"parts": PARTS}}]}),
        (CONVERSE, {"output": {"message": {"content": [{"toolUse": {"name": "a"}}, {"toolUse": {"name": "b"}}]}}}),
    ],
)
def test_the_tools_that_a_model_asks_for(form: LlmForm, message: dict[str, Any]) -> None:
    whole, streamed = LlmAnswerReader(form), LlmAnswerReader(form)
    whole.message(json.dumps(message).encode())
    streamed.events(_events(message, message))
    assert whole.tools == streamed.tools
    assert [name.removesuffix("_call") for name in whole.tools] == ["a", "b"]


def test_tools_in_events_of_their_own() -> None:
    anthropic, responses = LlmAnswerReader(MESSAGES), LlmAnswerReader(RESPONSES)
    anthropic.events(_events({"type": "content_block_start", "content_block": {"type": "tool_use", "name": "pay"}}))
    responses.events(_events({"type": "response.output_item.added", "item": {"type": "web_search_call"}}))
    assert (anthropic.tools, responses.tools) == (["pay"], ["web_search_call"])


def test_names_of_tools_are_bounded() -> None:
    reader = LlmAnswerReader(MESSAGES)
    blocks = [{"type": "tool_use", "name": f"{number}" * 400} for number in range(100)]
    reader.message(json.dumps({"content": blocks}).encode())
    assert len(reader.tools) == TOOL_NAMES_MAX
    assert max(map(len, reader.tools)) == 128


@given(st.sampled_from(LlmForm), st.lists(st.binary(max_size=200), max_size=5))
def test_any_bytes_raise_nothing(form: LlmForm, pieces: list[bytes]) -> None:
    reader = LlmAnswerReader(form)
    for piece in pieces:
        reader.events(b'data: {"usage":{' + piece + b"\n\n")
        reader.message(piece)
    assert reader.usage(request_bytes=0, is_complete=True).tokens_out >= 0


MEMBERS = sorted(
    {"usage", "message", "response", "usageMetadata", "choices", "delta", "tool_calls", "function", "name", "content"}
    | {"type", "item", "output", "candidates", "parts", "input_tokens", "prompt_tokens_details"}
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**12) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(MEMBERS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.sampled_from(LlmForm), JSON)
def test_any_json_raises_nothing(form: LlmForm, value: Any) -> None:
    reader = LlmAnswerReader(form)
    reader.message(json.dumps(value).encode())
    reader.events(_events(value))
    usage = reader.usage(request_bytes=0, is_complete=True)
    assert 0 <= usage.tokens_cached <= usage.tokens_in or usage.tokens_cached == 0
    assert len(reader.tools) <= TOOL_NAMES_MAX


def test_the_lines_of_ollama() -> None:
    reader = LlmAnswerReader(LlmForm.OLLAMA_CHAT)
    call = {"function": {"name": "look_up", "arguments": {}}}
    lines = [
        {"model": "m", "message": {"role": "assistant", "content": "Hi", "tool_calls": [call]}, "done": False},
        {"model": "m", "message": {"content": ""}, "done": True, "prompt_eval_count": 26, "eval_count": 9},
    ]
    reader.message(b"\n".join(json.dumps(line).encode() for line in lines))
    assert reader.usage(request_bytes=8, is_complete=True) == Usage(26, 0, 0, 9)
    assert reader.tools == ["look_up"]


def test_what_ollama_wrote_is_estimated_without_its_last_line() -> None:
    reader = LlmAnswerReader(LlmForm.OLLAMA_GENERATE)
    reader.message(b'{"model":"m","response":"12345678","done":false}')
    assert reader.usage(request_bytes=8, is_complete=True) == Usage(2, 0, 0, 2, estimated=True)


def test_answers_of_cohere() -> None:
    usage = {"billed_units": {"input_tokens": 5}, "tokens": {"input_tokens": 71, "output_tokens": 11}}
    call = {"type": "function", "function": {"name": "look_up"}}
    whole = LlmAnswerReader(LlmForm.COHERE_CHAT)
    whole.message(json.dumps({"message": {"tool_calls": [call]}, "usage": usage}).encode())
    streamed = LlmAnswerReader(LlmForm.COHERE_CHAT)
    started = {"type": "tool-call-start", "delta": {"message": {"tool_calls": call}}}
    streamed.events(_events(started, {"type": "message-end", "delta": {"usage": usage}}))
    for reader in (whole, streamed):
        assert reader.usage(request_bytes=8, is_complete=True) == Usage(71, 0, 0, 11)
        assert reader.tools == ["look_up"]
