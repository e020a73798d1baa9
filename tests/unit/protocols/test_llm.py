"""Requests to language models: recognised at documented addresses, in documented forms, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.protocols.llm import LlmRequest, recognise
from headgate.protocols.llm_endpoints import is_provider
from headgate.protocols.llm_tools import NAMES_MAX, RESULTS_MAX, TEXT_CHARACTERS_MAX

_VERSION: JsonObject = {"anthropic-version": "2023-06-01"}
_USER: JsonObject = {"role": "user", "content": "hi"}
_CHAT: JsonObject = {"model": "m", "messages": [_USER]}
_GEMINI: JsonObject = {"contents": [{"parts": [{"text": "hi"}]}]}
_AZURE = "x.openai.azure.com"
_BEDROCK = "bedrock-runtime.eu-central-1.amazonaws.com"
_GOOGLE = "generativelanguage.googleapis.com"
_VERTEX = "/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent"
_VERTEX_HOST = "us-aiplatform.googleapis.com"
_PLACE = "/v1/projects/p/locations/us"
_CLAUDE = f"{_PLACE}/publishers/anthropic/models/c@1"
_BY_BODY: JsonObject = {"anthropic_version": "b", "messages": [_USER]}


def _recognised(host: str, path: str, body: JsonObject) -> LlmRequest:
    request = recognise(host, path, _VERSION, body)
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
        (_BEDROCK, "/model/a/invoke", {}, {"messages": [_USER]}),
        (_VERTEX_HOST, f"{_CLAUDE}:rawPredict", _VERSION, {"messages": [_USER]}),
        (_VERTEX_HOST, f"{_PLACE}/publishers/acme/models/m:rawPredict", {}, _BY_BODY),
        (_VERTEX_HOST, f"{_PLACE}/endpoints/77:undeployModel", {}, _GEMINI),
        (_VERTEX_HOST, "/v1/chat/completions", {}, _CHAT),
    ],
)
def test_what_is_no_model_call_is_not_taken_for_one(host: str, path: str, headers: JsonObject, body: JsonValue) -> None:
    assert recognise(host, path, headers, body) is None


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
        ({"max_completion_tokens": 9, "max_tokens": 7}, (False, 7)),
        ({"max_tokens": "many", "system": ""}, (False, None)),
        ({"max_tokens": True}, (False, None)),
        ({"messages": [{"role": "developer", "content": "x"}]}, (True, None)),
    ],
)
def test_system_and_limit(members: JsonObject, expected: tuple[bool, int | None]) -> None:
    facts = _recognised("m.example", "/v1/chat/completions", {**_CHAT, **members}).facts
    assert (facts["system"], facts["max_tokens"]) == expected


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
    request = recognise(host, path, _VERSION, body)
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
