"""Requests to language models: recognised at documented addresses, in documented forms, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.protocols.llm import LlmRequest, recognise
from headgate.protocols.llm_endpoints import is_provider, llm_endpoint
from headgate.protocols.llm_tools import NAMES_MAX, RESULTS_MAX, TEXT_CHARACTERS_MAX

_VERSION: JsonObject = {"anthropic-version": "2023-06-01"}
_USER: JsonObject = {"role": "user", "content": "hi"}
_CHAT: JsonObject = {"model": "m", "messages": [_USER]}
_GEMINI: JsonObject = {"contents": [{"parts": [{"text": "hi"}]}]}
_GEMINI_AS_OBJECTS: JsonObject = {"contents": {"parts": {"text": "hi"}}}
_RESPONSE = "openai respond responses m"
_HUGGING_FACE = "router.huggingface.co"
_AZURE = "x.openai.azure.com"
_BEDROCK = "bedrock-runtime.eu-central-1.amazonaws.com"
_GOOGLE = "generativelanguage.googleapis.com"
_VERTEX = "/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent"
_VERTEX_HOST = "us-aiplatform.googleapis.com"
_PLACE = "/v1/projects/p/locations/us"
_CLAUDE = f"{_PLACE}/publishers/anthropic/models/c@1"
_MISTRAL = f"{_PLACE}/publishers/mistralai/models/m"
_BY_BODY: JsonObject = {"anthropic_version": "b", "messages": [_USER]}


def _recognised(host: str, path: str, body: JsonObject) -> LlmRequest:
    request = recognise(llm_endpoint(host, path), _VERSION, body)
    assert request is not None
    return request


@pytest.mark.parametrize(
    ("host", "path", "body", "expected"),
    [
        ("api.openai.com", "/v1/chat/completions", _CHAT, "openai chat chat_completions m"),
        ("api.openai.com", "/v1/completions", {"model": "m", "prompt": "x"}, "openai complete completions m"),
        ("api.openai.com", "/v1/responses", {"model": "m", "input": "x"}, "openai respond responses m"),
        (
            "api.openai.com",
            "/v1/responses/input_tokens",
            {"model": "m", "input": []},
            "openai count_tokens responses m",
        ),
        ("api.openai.com", "/v1/embeddings", {"model": "m", "input": [1, 2]}, "openai embed embeddings m"),
        ("chatgpt.com", "/backend-api/codex/responses", {"model": "m", "input": [_USER]}, "openai respond responses m"),
        ("api.anthropic.com", "/v1/messages", _CHAT, "anthropic chat messages m"),
        ("api.anthropic.com", "/v1/messages/count_tokens", _CHAT, "anthropic count_tokens messages m"),
        ("api.mistral.ai", "/v1/fim/completions", {"model": "m", "prompt": "x"}, "mistral complete completions m"),
        ("api.groq.com", "/openai/v1/chat/completions", _CHAT, "groq chat chat_completions m"),
        ("api.x.ai", "/v1/chat/completions", _CHAT, "xai chat chat_completions m"),
        ("api.deepseek.com", "/chat/completions", _CHAT, "deepseek chat chat_completions m"),
        ("api.deepseek.com", "/anthropic/v1/messages", _CHAT, "deepseek chat messages m"),
        ("api.fireworks.ai", "/inference/v1/chat/completions", _CHAT, "fireworks chat chat_completions m"),
        ("router.huggingface.co", "/v1/chat/completions", _CHAT, "huggingface chat chat_completions m"),
        ("api.cohere.com", "/compatibility/v1/chat/completions", _CHAT, "cohere chat chat_completions m"),
        ("api.voyageai.com", "/v1/embeddings", {"model": "m", "input": "a"}, "voyage embed embeddings m"),
        ("openrouter.ai", "/api/v1/messages", _CHAT, "openrouter chat messages m"),
        (_GOOGLE, "/v1beta/openai/chat/completions", _CHAT, "google chat chat_completions m"),
        (_GOOGLE, "/v1beta/models/g:generateContent", _GEMINI, "google chat generate_content g"),
        (_GOOGLE, "/v1beta/models/g:countTokens", _GEMINI, "google count_tokens generate_content g"),
        (_GOOGLE, "/v1/models/g:embedContent", {"content": {"parts": []}}, "google embed embed_content g"),
        (_VERTEX_HOST, _VERTEX, _GEMINI, "google chat generate_content g"),
        (_GOOGLE, "/v1beta/tunedModels/t:generateContent", _GEMINI, "google chat generate_content t"),
        (_VERTEX_HOST, f"{_PLACE}/endpoints/77:streamGenerateContent", _GEMINI, "google chat generate_content 77"),
        (_VERTEX_HOST, f"{_PLACE}/endpoints/openapi/chat/completions", _CHAT, "google chat chat_completions m"),
        (_VERTEX_HOST, f"{_CLAUDE}:rawPredict", _BY_BODY, "google chat messages c@1"),
        (_VERTEX_HOST, f"{_CLAUDE}:streamRawPredict", _BY_BODY, "google chat messages c@1"),
        (_AZURE, "/openai/deployments/d/chat/completions", {"messages": [_USER]}, "azure chat chat_completions d"),
        (_AZURE, "/openai/v1/responses", {"model": "m", "input": "x"}, "azure respond responses m"),
        (_BEDROCK, "/model/a%3Ab/converse", {"messages": [_USER]}, "bedrock chat converse a:b"),
        (_BEDROCK, "/model/a/invoke", _BY_BODY, "bedrock chat messages a"),
        (_BEDROCK, "/model/a/invoke", {"messages": [_USER]}, "bedrock chat chat_completions a"),
        (_BEDROCK, "/model/a/invoke", {"prompt": "x"}, "bedrock chat completions a"),
        (_BEDROCK, "/model/a/invoke", {"prompt": "x", "messages": None}, "bedrock chat completions a"),
        (_BEDROCK, "/model/a/invoke", {"inputText": "x"}, "bedrock chat completions a"),
        (_BEDROCK, "/model/a/invoke", {"message": "x", "chat_history": []}, "bedrock chat completions a"),
        (_VERTEX_HOST, f"{_MISTRAL}:rawPredict", {"prompt": "x", "suffix": "y"}, "google chat completions m"),
        (_VERTEX_HOST, f"{_MISTRAL}:rawPredict", _CHAT, "google chat chat_completions m"),
        (_GOOGLE, "/v1beta/models/g:generateContent", _GEMINI_AS_OBJECTS, "google chat generate_content g"),
        (_HUGGING_FACE, "/hf-inference/models/a/b", {"inputs": "x"}, "huggingface complete inference a/b"),
        (
            _HUGGING_FACE,
            "/hf-inference/models/g/pipeline/summarization",
            {"inputs": ["x"]},
            "huggingface complete inference g",
        ),
        (_HUGGING_FACE, "/hf-inference/models/a/b/v1/chat/completions", _CHAT, "huggingface chat chat_completions a/b"),
        ("api-inference.huggingface.co", "/models/a/b", {"inputs": {"q": "x"}}, "huggingface complete inference a/b"),
        ("api.cohere.com", "/v2/chat", _CHAT, "cohere chat cohere_chat m"),
        ("localhost", "/api/chat", _CHAT, "compatible chat ollama_chat m"),
        ("127.0.0.1", "/api/chat", {"model": "m"}, "compatible chat ollama_chat m"),
        ("::1", "/api/generate", {"model": "m", "prompt": "x"}, "compatible complete ollama_generate m"),
        ("::1", "/api/generate", {"model": "m", "prompt": None}, "compatible complete ollama_generate m"),
        ("api.openai.com", "/v1/responses", {"model": "m", "input": None, "previous_response_id": "r"}, _RESPONSE),
        ("api.openai.com", "/v1/responses", {"model": "m", "conversation": {"id": "c"}}, _RESPONSE),
        (
            "openrouter.ai",
            "/api/v1/chat/completions",
            {**_CHAT, "model": None, "models": ["a"]},
            "openrouter chat chat_completions a",
        ),
        ("127.0.0.1", "/v1/chat/completions", _CHAT, "compatible chat chat_completions m"),
        ("models.example", "/api/v1/responses", {"model": "m", "input": "x"}, "compatible respond responses m"),
    ],
)
def test_documented_requests(host: str, path: str, body: JsonObject, expected: str) -> None:
    request = _recognised(host, path, body)
    facts = request.facts
    assert f"{facts['provider']} {request.operation} {facts['api']} {facts['model']}" == expected


@pytest.mark.parametrize(
    ("host", "path", "headers", "body"),
    [
        ("api.openai.com", "/v1/threads/t/messages", _VERSION, _CHAT),
        ("api.openai.com", "/v1/chat/completions/c", {}, _CHAT),
        ("api.openai.com", "/V1/chat/completions", {}, _CHAT),
        ("api.openai.com.evil.example", "/backend-api/codex/responses", {}, {"model": "m", "input": "x"}),
        ("shop.example", "/orders/chat/completions", {}, _CHAT),
        ("shop.example", "/v1/messages", {}, _CHAT),
        ("shop.example", "/v1/messages", {"anthropic-version": ["a", "b"]}, _CHAT),
        ("shop.example", "/model/m/converse", {}, {"messages": [_USER]}),
        ("api.openai.com", "/v1/chat/completions", {}, [_CHAT]),
        ("api.openai.com", "/v1/chat/completions", {}, {**_CHAT, "model": 7}),
        ("api.openai.com", "/v1/chat/completions", {}, {**_CHAT, "model": ""}),
        ("api.openai.com", "/v1/chat/completions", {}, {**_CHAT, "model": "m" * 257}),
        ("api.openai.com", "/v1/chat/completions", {}, {**_CHAT, "messages": []}),
        ("api.openai.com", "/v1/chat/completions", {}, {**_CHAT, "messages": {"0": _USER}}),
        ("api.openai.com", "/v1/chat/completions", {}, {**_CHAT, "messages": [_USER, "x"]}),
        ("api.openai.com", "/v1/chat/completions", {}, {**_CHAT, "stream": "yes"}),
        ("api.openai.com", "/v1/responses", {}, {"model": "m"}),
        ("api.openai.com", "/v1/embeddings", {}, {"model": "m", "input": {"a": 1}}),
        (_GOOGLE, "/v1beta/models/g:deleteModel", {}, _GEMINI),
        (_GOOGLE, "/v1beta/models/g/x:generateContent", {}, _GEMINI),
        (_GOOGLE, "/v1beta/models/g:generateContent", {}, {"contents": [{"text": "x"}]}),
        ("api.openai.com", "/v1/chat/completions", {}, {**_CHAT, "models": "m"}),
        ("api.openai.com", "/v1/chat/completions", {}, {**_CHAT, "models": ["m", 7]}),
        ("api.openai.com", "/v1/chat/completions", {}, {**_CHAT, "models": [str(number) for number in range(65)]}),
        ("api.openai.com", "/v1/chat/completions", {}, {**_CHAT, "fallbacks": {"model": "n"}}),
        ("api.openai.com", "/v1/chat/completions", {}, {**_CHAT, "fallbacks": [{"name": "n"}]}),
        ("api.openai.com", "/v1/chat/completions", {}, {"model": None, "models": [], "messages": [_USER]}),
        ("api.openai.com", "/v1/responses", {}, {"model": "m", "previous_response_id": None}),
        ("api.openai.com", "/v1/responses", {}, {"model": "m", "conversation": ["c"]}),
        (_BEDROCK, "/model/amazon.titan-embed-text-v2:0/invoke", {}, {"inputText": "hi"}),
        (_BEDROCK, "/model/us.twelvelabs.marengo-embed-2-7-v1:0/invoke", {}, {"inputText": "hi"}),
        (_BEDROCK, "/model/a/invoke", {}, {"inputText": ["hi"]}),
        (_BEDROCK, "/model/a/invoke", {}, {"message": {"text": "hi"}}),
        (_BEDROCK, "/model/a/invoke", {}, {"message": "hi", "chat_history": "x"}),
        (_BEDROCK, "/model/a/invoke", {}, {"message": "hi", "chat_history": ["x"]}),
        (_BEDROCK, "/model/a/invoke", {}, {"message": "hi", "tool_results": {}}),
        (_BEDROCK, "/model/a/invoke", {}, {"message": "hi", "tool_results": ["x"]}),
        (_BEDROCK, "/model/a/invoke", {}, {"prompt": "hi", "messages": [_USER]}),
        (_BEDROCK, "/model/a/invoke", {}, {"prompt": "hi", "inputText": "hi"}),
        (_BEDROCK, "/model/a/invoke", {}, {"taskType": "TEXT_IMAGE"}),
        (_VERTEX_HOST, f"{_MISTRAL}:rawPredict", {}, {"prompt": "hi", "messages": [_USER]}),
        (_VERTEX_HOST, f"{_MISTRAL}:rawPredict", {}, {"inputText": "hi"}),
        (_VERTEX_HOST, f"{_MISTRAL}:rawPredict", {}, {"message": "hi"}),
        ("shop.example", "/v1/completions", {}, {"model": "m", "message": "hi"}),
        ("shop.example", "/v1/completions", {}, {"model": "m", "inputText": "hi"}),
        (_BEDROCK, "/model/a/invoke", {}, {"messages": [_USER], "anthropic_version": 7}),
        (_VERTEX_HOST, f"{_CLAUDE}:rawPredict", _VERSION, {"messages": [_USER]}),
        (_VERTEX_HOST, f"{_PLACE}/publishers/acme/models/m:rawPredict", {}, {"document": {}}),
        (_GOOGLE, "/v1beta/models/g:generateContent", {}, {"contents": "hi"}),
        (_GOOGLE, "/v1beta/models/g:generateContent", {}, {"contents": {"parts": "hi"}}),
        (_HUGGING_FACE, "/hf-inference/models/a/b/pipeline/feature-extraction", {}, {"inputs": "x"}),
        (_HUGGING_FACE, "/hf-inference/models/a/b", {}, {"inputs": []}),
        (_HUGGING_FACE, "/models/a/b", {}, {"inputs": "x"}),
        ("127.0.0.1", "/api/chat", {}, {"model": "m", "messages": "hi"}),
        ("127.0.0.1", "/api/generate", {}, {"model": "m", "prompt": ["hi"]}),
        ("127.0.0.1", "/api/embed", {}, {"model": "m", "input": "hi"}),
        ("shop.example", "/api/chat", {}, _CHAT),
        ("shop.example", "/v2/chat", {}, _CHAT),
        ("api.cohere.com", "/v1/chat", {}, {"model": "m", "message": "hi"}),
        (_VERTEX_HOST, f"{_PLACE}/endpoints/77:undeployModel", {}, _GEMINI),
        (_VERTEX_HOST, "/v1/chat/completions", {}, _CHAT),
    ],
)
def test_what_is_no_model_call_is_not_taken_for_one(host: str, path: str, headers: JsonObject, body: JsonValue) -> None:
    assert recognise(llm_endpoint(host, path), headers, body) is None


@pytest.mark.parametrize(
    ("path", "members", "names"),
    [
        ("/v1/chat/completions", {"tools": [{"type": "function", "function": {"name": "f"}}]}, ["f"]),
        ("/v1/chat/completions", {"functions": [{"name": "old"}]}, ["old"]),
        ("/v1/chat/completions", {"tools": [{"type": "custom", "custom": {"name": "c"}}]}, ["c"]),
        ("/v1/chat/completions", {"tools": [{"type": "web_search"}, 7, {}]}, ["web_search"]),
        ("/v1/messages", {"tools": [{"name": "Bash", "input_schema": {}}]}, ["Bash"]),
        ("/v1/messages", {"tools": [{"type": "bash_20250124", "name": "bash"}]}, ["bash"]),
        ("/v1/chat/completions", {"tools": "all"}, []),
        (
            "/v1/responses",
            {
                "tools": [],
                "input": [{"type": "additional_tools", "tools": [{"type": "mcp"}, {"name": "f"}]}, {"tools": 7}],
            },
            ["mcp", "f"],
        ),
    ],
)
def test_tools_that_are_offered(path: str, members: JsonObject, names: list[str]) -> None:
    assert _recognised("m.example", path, {**_CHAT, **members}).facts["tools"] == names


def test_tools_of_gemini_and_converse() -> None:
    tools: JsonValue = [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}, {"googleSearch": {}}]
    gemini = _recognised(_GOOGLE, "/v1beta/models/g:generateContent", {**_GEMINI, "tools": tools})
    assert gemini.facts["tools"] == ["a", "b", "googleSearch"]
    config: JsonObject = {"tools": [{"toolSpec": {"name": "c"}}]}
    converse = _recognised(_BEDROCK, "/model/m/converse-stream", {"messages": [_USER], "toolConfig": config})
    assert (converse.facts["tools"], converse.facts["stream"]) == (["c"], True)


@pytest.mark.parametrize(
    ("path", "body", "result"),
    [
        (
            "/v1/chat/completions",
            {"messages": [_USER, {"role": "tool", "tool_call_id": "c1", "content": "found"}]},
            {"id": "c1", "name": None, "text": "found", "characters": 5},
        ),
        (
            "/v1/messages",
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {
                                "type": "tool_result",
                                "tool_use_id": "u1",
                                "content": [{"type": "text", "text": "a"}, {"type": "image", "source": {"data": "x"}}],
                            }
                        ],
                    }
                ]
            },
            {"id": "u1", "name": None, "text": "a", "characters": 1},
        ),
        (
            "/v1/responses",
            {"input": [{"type": "function_call_output", "call_id": "f1", "output": "o" * 600}]},
            {"id": "f1", "name": None, "text": "o" * TEXT_CHARACTERS_MAX, "characters": 600},
        ),
    ],
)
def test_results_of_tools(path: str, body: JsonObject, result: JsonObject) -> None:
    assert _recognised("m.example", path, {"model": "m", **body}).facts["tool_results"] == [result]


def test_results_of_gemini_and_converse() -> None:
    part: JsonValue = {"functionResponse": {"name": "a", "response": {"out": ["x", {"deep": "y"}]}}}
    gemini = _recognised(_GOOGLE, "/v1beta/models/g:generateContent", {"contents": [{"parts": [part]}]})
    assert gemini.facts["tool_results"] == [{"id": None, "name": "a", "text": "x\ny", "characters": 3}]
    block: JsonValue = {"toolResult": {"toolUseId": "t", "content": [{"text": "z"}]}}
    body: JsonObject = {"messages": [{"role": "user", "content": [block]}]}
    converse = _recognised(_BEDROCK, "/model/m/converse", body)
    assert converse.facts["tool_results"] == [{"id": "t", "name": None, "text": "z", "characters": 1}]


def test_what_command_r_is_told() -> None:
    """Cohere's first form, at Bedrock: its turns, its system prompt and what its tools answered."""
    answered: JsonValue = [{"call": {"name": "find", "parameters": {}}, "outputs": [{"out": "x"}]}]
    body: JsonObject = {
        "message": "hi",
        "preamble": "be short",
        "chat_history": [{"role": "USER", "message": "a"}, {"role": "TOOL", "tool_results": answered}],
        "tools": [{"name": "find", "description": "d", "parameter_definitions": {}}],
        "tool_results": answered,
        "max_tokens": 9,
    }
    facts = _recognised(_BEDROCK, "/model/cohere.command-r-v1%3A0/invoke", body).facts
    result: JsonObject = {"id": None, "name": "find", "text": "x", "characters": 1}
    assert (facts["messages"], facts["system"], facts["tools"], facts["max_tokens"]) == (4, True, ["find"], 9)
    assert facts["tool_results"] == [result, result]
    said: JsonObject = {"message": "hi", "chat_history": [{"role": "SYSTEM", "message": "be short"}]}
    assert _recognised(_BEDROCK, "/model/m/invoke", said).facts["system"] is True


def test_the_newest_results_are_kept_and_the_first_names() -> None:
    messages: list[JsonValue] = [
        {"role": "tool", "tool_call_id": str(number), "content": "x"} for number in range(RESULTS_MAX + 10)
    ]
    tools: list[JsonValue] = [{"name": f"t{number}"} for number in range(NAMES_MAX + 10)]
    facts = _recognised("m.example", "/v1/chat/completions", {"model": "m", "messages": messages, "tools": tools}).facts
    results, names = facts["tool_results"], facts["tools"]
    assert isinstance(results, list) and isinstance(names, list)
    assert [one["id"] for one in results if isinstance(one, dict)] == [str(n) for n in range(10, RESULTS_MAX + 10)]
    assert names == [f"t{number}" for number in range(NAMES_MAX)]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, (False, None)),
        ({"max_tokens": 5, "system": "s"}, (True, 5)),
        ({"max_completion_tokens": 9, "max_tokens": 7}, (False, 9)),
        ({"max_output_tokens": 1, "maxTokens": 1}, (False, None)),
        ({"max_completion_tokens": "90000", "max_tokens": 7}, (False, None)),
        ({"max_completion_tokens": None, "max_tokens": 7}, (False, 7)),
        ({"max_tokens": "many", "system": ""}, (False, None)),
        ({"max_tokens": True}, (False, None)),
        ({"messages": [{"role": "developer", "content": "x"}]}, (True, None)),
    ],
)
def test_system_and_limit(members: JsonObject, expected: tuple[bool, int | None]) -> None:
    facts = _recognised("m.example", "/v1/chat/completions", {**_CHAT, **members}).facts
    assert (facts["system"], facts["max_tokens"]) == expected


@pytest.mark.parametrize(
    ("host", "path", "body", "expected"),
    [
        (_GOOGLE, "/v1/models/g:generateContent", {"generation_config": {"max_output_tokens": 6}}, 6),
        (
            _GOOGLE,
            "/v1/models/g:generateContent",
            {"generationConfig": {"maxOutputTokens": 1, "max_output_tokens": 9}},
            9,
        ),
        (_BEDROCK, "/model/a/converse", {"inferenceConfig": {"maxTokens": 4}}, 4),
        (_BEDROCK, "/model/a/converse", {"additionalModelRequestFields": {"max_tokens": 8}}, 8),
        ("localhost", "/api/chat", {"options": {"num_predict": 3}, "max_tokens": 1}, 3),
        ("localhost", "/api/chat", {"options": {"num_predict": -1}}, None),
        ("api.openai.com", "/v1/responses", {"input": "x", "max_output_tokens": 2}, 2),
    ],
)
def test_the_limit_is_the_one_of_the_form(host: str, path: str, body: JsonObject, expected: int | None) -> None:
    assert _recognised(host, path, {**_CHAT, **_GEMINI, **body}).facts["max_tokens"] == expected


@pytest.mark.parametrize(("stream", "expected"), [(None, False), (True, True), (False, False)])
def test_a_stream_that_is_null_is_none(stream: bool | None, expected: bool) -> None:
    request = _recognised("api.openai.com", "/v1/chat/completions", {**_CHAT, "stream": stream})
    assert request.facts["stream"] is expected


def test_ollama_streams_unless_told() -> None:
    assert _recognised("localhost", "/api/chat", {**_CHAT, "stream": None}).facts["stream"] is True
    assert _recognised("localhost", "/api/chat", {**_CHAT, "stream": False}).facts["stream"] is False


def test_each_model_that_may_answer_is_named() -> None:
    body: JsonObject = {**_CHAT, "models": ["n", "m"], "fallbacks": [{"model": "o"}, "p", "x\u200b"]}
    request = _recognised("openrouter.ai", "/api/v1/messages", body)
    assert request.facts["model"] == "m"
    assert request.facts["models"] == ["m", "n", "o", "p", "x\u200b"]
    assert request.call is not None
    assert request.call.models == tuple(f"openrouter/{one}" for one in ("m", "n", "o", "p", "x\ufffd"))


def test_an_object_of_gemini_is_a_list_of_one() -> None:
    part: JsonValue = {"functionResponse": {"name": "a", "response": {"out": "x"}}}
    tools: JsonValue = {"functionDeclarations": {"name": "b"}}
    body: JsonObject = {"contents": {"role": "user", "parts": part}, "tools": tools}
    facts = _recognised(_GOOGLE, "/v1beta/models/g:generateContent", body).facts
    assert (facts["messages"], facts["tools"]) == (1, ["b"])
    assert facts["tool_results"] == [{"id": None, "name": "a", "text": "x", "characters": 1}]


_leaf = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["text", "tool", "tool_result", "m", ""])
_names = st.sampled_from(
    (
        *("model", "messages", "role", "content", "type", "tools", "name", "function", "parts", "contents", "input"),
        *("stream", "output", "call_id", "functionResponse", "toolResult", "toolConfig", "response", "text"),
    )
)
_json = st.recursive(_leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=5))
_paths = st.sampled_from(
    (
        *("/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings", "/model/m/converse"),
        *("/v1beta/models/g:generateContent", "/v1/models/g:embedContent", "/openai/deployments/d/completions"),
    )
)


@given(st.sampled_from(["h.example", _AZURE, _BEDROCK, _GOOGLE, "api.openai.com"]), _paths, _json)
def test_any_json_is_read_without_an_error_or_stays_what_it_was(host: str, path: str, body: JsonValue) -> None:
    request = recognise(llm_endpoint(host, path), _VERSION, body)
    if request is not None:
        assert parse_strict(canonical_bytes(request.facts)) == request.facts
        assert isinstance(body, dict) and isinstance(request.facts["model"], str)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/responses", {"input": [{"type": ["x"]}, {"type": {}}, {"role": []}]}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": ["tool_result"]}]}]}),
    ],
)
def test_a_mark_that_is_no_text_marks_nothing(path: str, body: JsonObject) -> None:
    assert _recognised("m.example", path, {"model": "m", **body}).facts["tool_results"] == []


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("api.openai.com", True), (_AZURE, True), (_BEDROCK, True), (_GOOGLE, True),
        ("api.openai.com.evil.example", False), ("evil.example", False),
    ],
)  # fmt: skip
def test_known_providers(host: str, *, expected: bool) -> None:
    assert is_provider(host) is expected
